"""Registered cases: found in the text, traced in child processes, and held against what they expect.

`@layoutcheck.case(...)` is read from the source; the functions run only in `trace`, one child process each,
without network and for a limited time. A case that raises, hangs or kills its process costs itself.
"""

from __future__ import annotations

import ast
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from layoutcheck.digits import is_number
from layoutcheck.findings import VERDICTS
from layoutcheck.lint.cache import Cache, digest, dsl_version, tool_version
from layoutcheck.lint.finding import LintFinding
from layoutcheck.lint.settings import Settings
from layoutcheck.lint.source import Module
from layoutcheck.lint.text import Unreadable, decode
from layoutcheck.regular import read_regular

if TYPE_CHECKING:
    from layoutcheck.sources.traced import Trace

_ENDS = {"timeout": "ran too long", "killed": "died", "uncompiled": "does not compile"}
_SKIP = (".", "__pycache__", "venv", "node_modules")

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class RegisteredCase:
    """A registered function, for one architecture; `problem` says why it cannot be called, if it cannot."""

    path: str
    function: str
    line: int
    name: str
    arch: str
    expect: tuple[str, ...] = ()
    problem: str = ""

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class CaseRun:
    """A case and the trace of what it built."""

    case: RegisteredCase
    trace: Trace
    cached: bool = False


def find(raw: bytes, path: str, arch: str) -> list[RegisteredCase]:
    """The cases that a file registers, by its text; `arch` is that of cases which name none."""
    if b"layoutcheck" not in raw or b"case" not in raw:
        return []
    try:
        module = Module(decode(raw))
    except Unreadable:
        return []  # reported where the file is linted
    found: list[RegisteredCase] = []
    for node in module.tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for decorator in node.decorator_list:
                target = decorator.func if isinstance(decorator, ast.Call) else decorator
                if module.dotted(target) in ("layoutcheck.case", "layoutcheck.registry.case"):
                    found += _cases(node, decorator, path, arch)
    return found


def _cases(
    node: ast.FunctionDef | ast.AsyncFunctionDef, decorator: ast.expr, path: str, arch: str
) -> Iterator[RegisteredCase]:
    given: dict[str, Any] = {}
    problem = ""
    for keyword in decorator.keywords if isinstance(decorator, ast.Call) else ():
        value = _literal(keyword.value)
        if value is None:
            problem = f"'{keyword.arg}' is not a literal; it is read from the text"
        given[keyword.arg or "**"] = value
    arguments = node.args
    needed = len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults)
    if needed or isinstance(node, ast.AsyncFunctionDef):
        problem = "a case is a plain function without parameters"
    expect, archs, name = (_texts(given.get(key)) for key in ("expect", "arch", "name"))
    for text in expect:
        if text not in VERDICTS and not (text.startswith("LC") and is_number(text[2:])):
            problem = f"'{text[:40]}' is neither a verdict nor a code"
    for unit in archs or (arch,):
        title = (name or (node.name,))[0]
        shown = f"{title}[{unit}]" if len(archs) > 1 else title
        yield RegisteredCase(path, node.name, node.lineno, shown, unit, expect, problem)


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def _texts(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    return tuple(map(str, value)) if isinstance(value, list | tuple) else (str(value),)


def trace(
    cases: Sequence[RegisteredCase],
    settings: Settings,
    cache: Cache,
    *,
    workers: int = 0,
    progress: Progress | None = None,
) -> list[CaseRun]:
    """Call every case in a child process, several at a time, and trace what it builds.

    Raises InputError where kernels cannot be traced at all. An interrupt ends the children first.
    """
    from layoutcheck.dsl.lowered.resolve import Lowering
    from layoutcheck.dsl.trace import trace_callable
    from layoutcheck.order import check_module
    from layoutcheck.sources.trace_lines import from_lines, to_lines

    project = _project(settings.root)
    stop = threading.Event()

    def halt(*_: object) -> None:
        if stop.is_set():
            raise InterruptedError  # leaves trace_callable by the way that ends its children

    def one(case: RegisteredCase) -> CaseRun:
        tiers = ("lowered" if settings.lowered else "types") + (
            f" order {settings.order_seconds}" if settings.order else ""
        )
        key = digest(tool_version(), dsl_version() or "", project, case.path, case.function, case.arch, tiers)
        stored = cache.get(key)
        if stored is not None and unchanged(stored, cache):
            return CaseRun(case, from_lines(stored["lines"]), cached=True)
        traced = trace_callable(
            str(Path(case.path).resolve()),
            case.function,
            arch=case.arch,
            timeout_s=settings.timeout,
            progress=halt,
            cwd=str(settings.root.resolve()),
            lowering=lowering if settings.lowered or settings.order else None,
        )
        if not traced.failures:  # a failure may be the machine's, and is asked again
            cache.put(key, {"lines": list(to_lines(traced)), **imports_of(traced.imported, cache)})
        return CaseRun(case, traced)

    callable_ = [case for case in cases if not case.problem]
    runs: dict[RegisteredCase, CaseRun] = {}
    threads = max(1, workers or min(len(callable_) or 1, os.cpu_count() or 1))
    check = partial(check_module, seconds=settings.order_seconds)
    lowers = Lowering(copies=settings.lowered, order=check if settings.order else None)
    with lowers as lowering, ThreadPoolExecutor(threads) as pool:
        waiting = {pool.submit(one, case): case for case in callable_}
        try:
            for number, future in enumerate(as_completed(waiting), 1):
                run = future.result()
                runs[run.case] = run
                if progress:
                    progress("trace", number, len(callable_))
        except BaseException:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return [runs[case] for case in cases if case in runs]


def imports_of(files: Sequence[str], cache: Cache) -> dict[str, str]:
    """What a stored trace holds of the modules that it imported: where their names are, and their state."""
    names = digest("imported", *files)
    cache.put(names, list(files))
    return {"imported": names, "state": _state(files)}


def unchanged(stored: Any, cache: Cache) -> bool:
    """Whether every module that a stored trace imported is as it was: a dependency may be upgraded."""
    files = cache.get(stored["imported"]) if isinstance(stored, dict) else None
    return files is not None and _state(files) == stored["state"]


def _state(files: Sequence[str]) -> str:
    return digest(*map(_stamp, files))


def _stamp(file: str) -> str:
    try:
        found = Path(file).stat()
    except OSError:
        return "gone"
    return f"{found.st_size} {found.st_mtime_ns}"


def _project(root: Path) -> str:
    """A digest of all Python source below the root: what a case builds may depend on any of it."""
    parts: list[str | bytes] = []
    for at, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith(_SKIP))
        for name in sorted(names):
            if name.endswith(".py"):
                path = Path(at, name)
                try:
                    parts += [str(path.relative_to(root)), read_regular(path)]
                except OSError:
                    continue
    return digest(*parts)


def shown(path: str) -> str:
    """A path as findings show it: relative to where the run started, where it lies below."""
    try:
        return Path(path).resolve().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path


def failures(run: CaseRun) -> Iterator[LintFinding]:
    """LC911 for everything that kept the case's kernels from being seen."""
    from layoutcheck.sources.traced import UNCOMPILED  # loads the model, which reading does not need

    for one in run.trace.failures:
        where = one.where
        message = " ".join(one.message.split())
        kind = _ENDS.get(one.kind, one.kind)
        at = f" at {shown(where.file)}:{where.line}" if where is not None else ""
        yield LintFinding(
            "LC911",
            "rejected" if one.kind in UNCOMPILED else "unknown",
            run.case.path,
            run.case.line,
            1,
            f"case '{run.case}' {kind}{at}: {message[:200]}",
            "Copies that it would have built after that were not seen.",
            origin=run.case.name,
        )
    if not run.trace.failures and not run.trace.kernels:
        yield LintFinding(
            "LC911",
            "unknown",
            run.case.path,
            run.case.line,
            1,
            f"case '{run.case}' built no kernel",
            "Return (kernel, arguments), the arguments in one tuple, or compile in the function.",
            origin=run.case.name,
        )


def unusable(case: RegisteredCase) -> LintFinding:
    """LC915 for a case that cannot be called."""
    return LintFinding(
        "LC915", "unknown", case.path, case.line, 1, f"case '{case}' cannot be called: {case.problem}",
        origin=case.name,
    )  # fmt: skip


def undecided(run: CaseRun, verdict: str) -> bool:
    """Whether the trace cannot show what is expected: `slow` of no copies, or of their types alone."""
    types = not run.trace.copies or any(copy.address_source == "types" for copy in run.trace.copies)
    return types and verdict == "legal" and "slow" in run.case.expect


def unexpected(run: CaseRun, verdict: str, codes: frozenset[str]) -> LintFinding | None:
    """LC913 where the trace contradicts what the case expects."""
    case = run.case
    if undecided(run, verdict):
        return None
    wanted = {text for text in case.expect if text in VERDICTS}
    missing = sorted(text for text in case.expect if text not in VERDICTS and text not in codes)
    if (not wanted or verdict in wanted) and not missing:
        return None
    got = f"is {verdict}" + (f" ({', '.join(sorted(codes))})" if codes else "")
    asked = " or ".join(sorted(wanted) or missing)
    return LintFinding(
        "LC913",
        "wrong",
        case.path,
        case.line,
        1,
        f"case '{case}' is expected to be {asked} and {got}",
        "Either the kernel changed, or the expectation is wrong.",
        evidence={"expect": list(case.expect), "verdict": verdict, "codes": sorted(codes)},
        origin=case.name,
    )


def meant(case: RegisteredCase, finding: LintFinding) -> bool:
    """Whether a finding is one that the case expects, or milder than the verdict it expects."""
    if finding.code in case.expect:
        return True
    worst = max((VERDICTS.index(text) for text in case.expect if text in VERDICTS), default=-1)
    return finding.severity in VERDICTS and VERDICTS.index(finding.severity) <= worst


def require_dsl() -> str | None:
    """Why cases cannot be traced here; None where they can."""
    if dsl_version() is None:
        return "nvidia-cutlass-dsl is not installed (pip install 'layoutcheck[dsl]')"
    if not hasattr(os, "fork"):
        return "kernels are traced on Linux only"
    return None
