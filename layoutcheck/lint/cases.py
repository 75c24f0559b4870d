"""Registered cases: found in the text, and their traces held against what they expect.

`@layoutcheck.case(...)` is read from the source; `runs.py` calls the functions. A whole program that
`layoutcheck ci` runs (`programs.py`) is a case too, with a `command` instead of a function.
"""

from __future__ import annotations

import ast
import contextlib
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from layoutcheck.digits import is_number
from layoutcheck.errors import InputError
from layoutcheck.findings import VERDICTS
from layoutcheck.lint.finding import LintFinding
from layoutcheck.lint.source import Source
from layoutcheck.lint.text import Unreadable, decode
from layoutcheck.machine.arch import parse_arch
from layoutcheck.places import SOURCES
from layoutcheck.regular import read_regular
from layoutcheck.sources.pasted import cut
from layoutcheck.versions import installed

if TYPE_CHECKING:
    from layoutcheck.settings import Settings
    from layoutcheck.sources.traced import Trace

_ENDS = {
    "timeout": "ran too long",
    "killed": "died",
    "uncompiled": "does not compile",
    "unjudged": "was not judged",
}
_PACKAGE = re.compile(rb"^\s*\[(project|build-system|tool\.poetry)\]", re.MULTILINE)
_NO_MODULE = re.compile(r"[Nn]o module (?:named )?'([\w.]+)'")
_MOST_TITLE = 200  # characters of what kept kernels from being seen
_MOST_NAME = 60  # of the kernel that it begins with, whose name the DSL makes of its arguments

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class RegisteredCase:
    """A function or a program, for one architecture; `problem` says why it cannot be called, if it cannot."""

    path: str
    function: str
    line: int
    name: str
    arch: str
    expect: tuple[str, ...] = ()
    problem: str = ""
    command: tuple[str, ...] = ()  # what Python is given, of a program: a script, or -m pytest and a file
    named: bool = False  # a program that the settings name, and that must build a kernel
    free: bool = False  # a program whose architecture was not asked for: the one that it wants will do
    more: bool = False  # one that ran before, for an architecture that sites left name: it need not succeed

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class CaseRun:
    """A case and the trace of what it built."""

    case: RegisteredCase
    trace: Trace
    cached: bool = False
    seconds: float = 0.0


def all_of(paths: Iterable[str], arch: str) -> list[RegisteredCase]:
    """The cases that these files register; a file that cannot be read is reported where it is linted."""
    found: list[RegisteredCase] = []
    for path in paths:
        with contextlib.suppress(OSError):
            found += find(read_regular(path), path, arch)
    return found


def find(raw: bytes, path: str, arch: str) -> list[RegisteredCase]:
    """The cases that a file registers, by its text; `arch` is that of cases which name none."""
    if b"layoutcheck" not in raw or b"case" not in raw:
        return []
    try:
        source = Source(path, decode(raw))
    except Unreadable:
        return []  # reported where the file is linted
    found: list[RegisteredCase] = []
    for node in source.tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for decorator in node.decorator_list:
                target = decorator.func if isinstance(decorator, ast.Call) else decorator
                if source.dotted(target) in ("layoutcheck.case", "layoutcheck.registry.case"):
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
        try:
            unit = str(parse_arch(unit))
        except InputError as error:
            problem = f"{error.message}; expected {error.expected}"
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
    return tuple(map(str, value)) if isinstance(value, (list, tuple)) else (str(value),)


def registered(path: str, settings: Settings) -> bool:
    """Whether a file is under [tool.layoutcheck] paths: only there cases are run."""
    inside = settings.inside(path)
    wanted = [each.removeprefix("./").rstrip("/") for each in settings.paths]
    return any(each in ("", ".") or inside == each or inside.startswith(each + "/") for each in wanted)


def shown(path: str) -> str:
    """A path as findings show it: relative to where the run started, where it lies below."""
    try:
        return Path(os.path.realpath(path)).relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path


def _is_own(path: str) -> bool:
    """Whether a path as shown is the project's, where a comment or an annotation can be put."""
    return not Path(path).is_absolute() and "site-packages" not in path


def _named_short(message: str) -> str:
    """The message without the end of a long name that it begins with: its reason must stand in the title."""
    name, colon, reason = message.partition(": ")
    return f"{name[:_MOST_NAME]}...{colon}{reason}" if colon and len(name) > _MOST_NAME else message


def failures(run: CaseRun) -> Iterator[LintFinding]:
    """LC911 for everything that kept the case's kernels from being seen."""
    from layoutcheck.sources.callers import told_of_callers  # load the model, which reading does not need
    from layoutcheck.sources.traced import UNCOMPILED

    case = run.case
    if case.more:
        return
    told = partial(LintFinding, "LC911", column=1, origin=case.name)
    what = "" if case.command else f"case '{case}' "
    advice = "Copies that it would have built after that were not seen."
    for one in run.trace.failures:
        where = one.where
        message = " ".join(one.message.split())
        kind = _ENDS.get(one.kind, one.kind)
        path, line, at = case.path, case.line, ""
        if where is not None and case.command and _is_own(shown(where.file)):
            path, line = shown(where.file), where.line
        elif where is not None:
            at = f" at {shown(where.file)}:{where.line}"
        if case.command:
            advice = f"{missing(message, case.path)}Seen in {case}."
        severity = "rejected" if one.kind in UNCOMPILED else "unknown"
        title = f"{what}{kind}{at}: {cut(_named_short(message), _MOST_TITLE)}"
        through = told_of_callers(one.stack, where)
        yield told(severity, path, max(1, line), title=title, message=f"{advice} {through}".strip())
    if not run.trace.failures and not run.trace.kernels and (case.named or not case.command):
        advice = "Return (kernel, arguments), the arguments in one tuple, or compile in the function."
        if case.command:
            what, advice = f"{case} ", f"It ran for {case.arch}; {_skips(run)}"
        yield told("unknown", case.path, case.line, title=f"{what}built no kernel", message=advice)


def _skips(run: CaseRun) -> str:
    """Why a program that ended well may have built nothing."""
    reasons = dict.fromkeys(reason for _, reason in run.trace.skipped)
    return f"its tests are skipped: {next(iter(reasons))}." if reasons else "are its tests skipped?"


def missing(message: str, path: str) -> str:
    """What to do about a module that a program did not find; "" for other messages."""
    found = _NO_MODULE.search(message)
    if found is None:
        return ""
    top = found[1].partition(".")[0]
    for folder in Path(path).resolve().parents:
        for source in (folder, *(folder / each for each in SOURCES)):
            if (source / top).is_dir() or (source / f"{top}.py").is_file():
                if is_package(folder):
                    return f"`pip install --editable {os.path.relpath(folder)}` installs '{top}'. "
                return f"'{top}' is in {os.path.relpath(source)}: put that folder into PYTHONPATH. "
        if (folder / ".git").exists():
            break
    return f"Install '{top}' in the environment that layoutcheck runs in. "


def is_package(root: Path) -> bool:
    """Whether pip can install a folder: a pyproject.toml may hold settings of tools alone."""
    with contextlib.suppress(OSError):
        if _PACKAGE.search(read_regular(root / "pyproject.toml")):
            return True
    return (root / "setup.py").is_file()


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
        "LC913", "wrong", case.path, case.line, 1, f"case '{case}' is expected to be {asked} and {got}",
        "Either the kernel changed, or the expectation is wrong.",
        evidence={"expect": list(case.expect), "verdict": verdict, "codes": sorted(codes)},
        origin=case.name,
    )  # fmt: skip


def meant(case: RegisteredCase, finding: LintFinding) -> bool:
    """Whether a finding is one that the case expects, or milder than the verdict it expects."""
    if finding.code in case.expect:
        return True
    worst = max((VERDICTS.index(text) for text in case.expect if text in VERDICTS), default=-1)
    return finding.severity in VERDICTS and VERDICTS.index(finding.severity) <= worst


def require_dsl() -> str | None:
    """Why cases cannot be traced here; None where they can."""
    if not installed():
        return "nvidia-cutlass-dsl is not installed (pip install 'layoutcheck[dsl]')"
    if not hasattr(os, "fork"):
        return "kernels are traced on Linux only"
    return None
