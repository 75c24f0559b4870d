"""`layoutcheck trace`: a script run with every compile observed, and every copy of it judged."""

from __future__ import annotations

import contextlib
import math
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from layoutcheck.cells import SUFFIX
from layoutcheck.check import Report
from layoutcheck.copies.copy import Copy
from layoutcheck.digits import many
from layoutcheck.dsl.fake_cuda import has_gpu
from layoutcheck.dsl.judges import Judges
from layoutcheck.dsl.lowered import Lowered, read
from layoutcheck.dsl.lowered.costs import LineCost, line_costs, merged
from layoutcheck.dsl.lowered.resolve import Lowering
from layoutcheck.dsl.lowered.totals import KernelLines, kernel_lines
from layoutcheck.dsl.session import DslUnavailable
from layoutcheck.dsl.terminated import Terminated, sigterm_raises, unseen
from layoutcheck.dsl.trace import Script, check_script, run_traced
from layoutcheck.errors import InputError, check_workers
from layoutcheck.fixes import STRATEGIES
from layoutcheck.gate import Gate
from layoutcheck.judge import judge_traced
from layoutcheck.lint.shadowed import with_shadowed
from layoutcheck.order import check_module
from layoutcheck.order.memory_map import MemoryMap, memory_maps
from layoutcheck.order.uses import check_with_uses
from layoutcheck.patching.advice import GUARDED, alone_of, written
from layoutcheck.patching.causes import causes
from layoutcheck.patching.located import located
from layoutcheck.patching.ordering import STRATEGY as SYNCHRONISE
from layoutcheck.patching.predicates import STRATEGY as GUARD
from layoutcheck.patching.repair import repair, searched
from layoutcheck.patching.repaired import Repaired
from layoutcheck.patching.sketches import labelled
from layoutcheck.patching.state import State
from layoutcheck.processors import processors
from layoutcheck.provenance import check_products
from layoutcheck.reports.advice import Advice, Advised
from layoutcheck.reports.trace import SHOWN, JudgedTrace
from layoutcheck.settings import find as find_settings
from layoutcheck.settings import order_seconds, wants_lowered, wants_order
from layoutcheck.sources.traced import Distinct, OrderReport, Trace, distinct
from layoutcheck.sources.traced_module import TracedModule
from layoutcheck.sources.wanted_arch import FOR_ANOTHER, other_arch
from layoutcheck.synthesis.optimum import Optimum, examined, fills_shared

if TYPE_CHECKING:
    from layoutcheck.gpu.outcome import Confirmation

_EDITED_SECONDS, _EDITED_TIMES = 60.0, 10  # a trace with an edit: so long, or as many times the first one's
MOST_ADVISED = 5  # copies whose best way is written into the program: each is a trace
_LEAST_SHARED = 4  # kernels that are judged in several processes: starting one takes about as long as two
_ORDER_SECONDS = 5.0  # processor seconds for the order of a kernel, at every edit that is tried


def traced(script: Script, *, lowered: bool = True, order: bool = True, workers: int = 1) -> JudgedTrace:
    """Run the script and judge what it compiled. Raises InputError.

    `lowered` False leaves copies whose layouts cannot be followed to their types, `order` False the order of
    accesses unchecked, as do the settings. Kernels are judged in so many processes, 0: one a processor. After
    SIGTERM the trace holds what was seen until then, and a failure "ended".
    """
    check_workers(workers)
    looked = _looked(script, lowered, order)
    with contextlib.ExitStack() as stack:
        script, lowering = stack.enter_context(_shown(script)), stack.enter_context(looked.lowering())
        judges = None
        if lowering is not None and (workers := workers or processors()) > 1:
            judges = stack.enter_context(Judges(lowering, workers, least=_LEAST_SHARED))
        try:
            with sigterm_raises():
                found = _supported(run_traced(replace(script, lowering=lowering, judges=judges)))
        except Terminated:
            found = unseen()
    found = with_shadowed(found, [Path(script.cwd or "."), *map(Path, script.below())])
    if script.launch and not has_gpu() and not found.kernels:
        note = "there is no GPU here: --no-launch traces programs that need one"
        found = replace(found, notes=(*found.notes, note))
    other = "" if script.launch or found.kernels else other_arch(found, script.target)
    if other:
        found = replace(found, notes=tuple(dict.fromkeys((*found.notes, f"{FOR_ANOTHER}: --arch {other}"))))
    return judge(found)


def fix_names() -> list[str]:
    """The names that `by` of `repaired` may be."""
    return sorted({GUARD, SYNCHRONISE, *(strategy.STRATEGY for strategy in STRATEGIES)})


def repaired(
    script: Script, *, lowered: bool = True, order: bool = True, by: str | None = None, confirm: bool = False
) -> Repaired:
    """Run the script and find edits of it for what is `rejected` or `wrong`; each is traced before it counts.

    `by` is the one strategy to try, such as "pad-pitch". `confirm` runs the copies that an edit repairs, on
    the GPU or, without one, in the simulator: their bits must be right. A trace with an edit that takes
    ten times as long as the first, and more than 60 s, is ended, and the edit refused. Nothing is written.
    Raises InputError.
    """
    if by is not None and by not in fix_names():
        raise InputError(f"no fix is called '{by[:40]}'", expected=", ".join(fix_names()))
    check_script(script.path)
    looked = _looked(script, lowered, order, _ORDER_SECONDS)
    with looked.runs(script) as trace:
        began = time.time()
        found = _supported(trace(script.path, None, output=sys.stderr))
        if script.timeout_s is None:  # an edit may make a program that never ends
            trace = partial(trace, timeout_s=max(_EDITED_SECONDS, _EDITED_TIMES * (time.time() - began)))
        told = _say if sys.stderr.isatty() else None
        return repair(script.path, found, trace, told, by, _confirmed if confirm else None, began)


class _Looked(NamedTuple):
    """What is looked at beside the types of copies: lowered addresses, and the order for so many seconds."""

    lowered: bool
    order_seconds: float | None

    @contextlib.contextmanager
    def lowering(self) -> Iterator[Lowering | None]:
        """Who gives the addresses, for one run."""
        seconds = self.order_seconds
        order = None if seconds is None else partial(check_module, seconds=seconds)
        with Lowering(copies=self.lowered, order=order, products=check_products) as lowering:
            yield lowering if self.lowered or order else None

    @contextlib.contextmanager
    def runs(self, script: Script) -> Iterator[Callable[..., Trace]]:
        """Who runs the script, or another file in its place, in a folder: one process of the DSL for all."""
        with contextlib.ExitStack() as stack:
            lowering = stack.enter_context(self.lowering())

            def trace(path: str, cwd: str | None, *, uses: bool = False, **options: Any) -> Trace:
                nonlocal lowering
                if lowering is not None and lowering.problem:  # an edit ended it: the next has another
                    lowering = stack.enter_context(self.lowering())
                if lowering is not None and self.order_seconds is not None:
                    check = check_with_uses if uses else check_module
                    lowering.order = partial(check, seconds=self.order_seconds)
                return run_traced(replace(script, path=path, cwd=cwd, lowering=lowering, **options))

            yield trace


def _looked(script: Script, lowered: bool, order: bool, most_s: float = math.inf) -> _Looked:
    """As asked for and as the settings have it. Raises InputError for a notebook."""
    if script.path.endswith(SUFFIX):
        what = "a Python script; in the notebook itself: import layoutcheck.auto"
        raise InputError(f"'{script.path[:200]}' is a notebook", expected=what)
    settings = find_settings(Path())
    seconds = min(most_s, order_seconds(settings)) if order and wants_order(settings) else None
    return _Looked(lowered and wants_lowered(settings), seconds)


def _supported(found: Trace) -> Trace:
    """The trace. Raises InputError where this DSL cannot be traced."""
    for failure in found.failures:
        if failure.kind == "unsupported":
            raise InputError(failure.message)
    return found


def _confirmed(named: Sequence[tuple[str, Copy]]) -> Sequence[Confirmation]:
    """The copies, run. Raises InputError where the DSL cannot be asked."""
    from layoutcheck.gpu.confirm import confirm

    try:
        return confirm(named)[0]
    except DslUnavailable as error:
        raise InputError(f"nothing can be confirmed: {error}") from None


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def banks(script: Script) -> tuple[Trace, list[LineCost], list[str]]:
    """Run the script; what each line costs, by the addresses that the compiler's own passes give.

    The last are sentences on modules that they do not. Raises InputError, and DslUnavailable without a DSL.
    """
    costs: list[LineCost] = []
    problems: list[str] = []

    def count(module: TracedModule, text: str, problem: str) -> None:
        lowered = Lowered(problem=problem) if problem else read(text, module.text)
        if lowered.problem:
            problems.append(f"{module.kernel}: not counted: {lowered.problem}")
        else:
            costs.extend(line_costs(lowered, module.arch, module.frames))

    found = _each_module(script, count)
    return found, merged(costs), problems


def lines(script: Script, extent: int | None = None) -> tuple[Trace, list[KernelLines]]:
    """Run the script; what each line of its kernels costs over a launch, by the lowered addresses.

    `extent` is the number for all dynamic extents. Raises InputError, and DslUnavailable without a DSL.
    """
    kernels: list[KernelLines] = []

    def count(module: TracedModule, text: str, problem: str) -> None:
        kernels.extend(kernel_lines(module, text, problem, extent))

    return _each_module(script, count), kernels


def memory(script: Script) -> tuple[Trace, list[MemoryMap]]:
    """Run the script; the map of shared and tensor memory of each of its kernels. Raises InputError."""
    maps: list[MemoryMap] = []

    def draw(module: TracedModule, text: str, problem: str) -> None:
        maps.extend(memory_maps(module, text, problem))

    return _each_module(script, draw), maps


def _each_module(script: Script, look: Callable[[TracedModule, str, str], None]) -> Trace:
    """Run the script; `look` gets each module, its lowered text and why there is none ("" where there is)."""

    def order(module: TracedModule, text: str, problem: str) -> OrderReport:
        look(module, text, problem)
        return OrderReport(module.kernel, module.arch)

    with _shown(script) as shown, Lowering(copies=False, order=order) as lowering:
        return run_traced(replace(shown, lowering=lowering))


def judge(trace: Trace) -> JudgedTrace:
    """The report on each different copy; fixes for those that need one."""
    known: dict[Any, Report | None] = {}
    reports = []
    for one in distinct(trace):
        key = one.first.judged_by
        if key not in known:
            known[key] = judge_traced(one.first, fixes_for=SHOWN)
        found = known[key]
        reports.append((one, None if found is None else replace(found, subject=str(one.first.where))))
    reports = labelled(reports)
    return JudgedTrace(trace, reports, causes(reports))


def advised(judged: JudgedTrace, script: Script | None = None) -> Advice:
    """The copies that cost `ENOUGH` times their optimum or more, dearest first, of a line the dearest.

    The best way is written into the `script` and traced with it, for the first `MOST_ADVISED`.
    """
    found: list[tuple[Distinct, list[Optimum]]] = []
    looked, unknown = 0, Counter[str]()
    for one, report in judged.reports:
        copy = None if report is None or report.verdict not in ("legal", "slow") else report.copy
        if copy is None or not fills_shared(copy):
            continue
        ways, why = examined(copy, one.first.addresses, alone_of(one.first))
        looked, unknown[why] = looked + 1, unknown[why] + 1
        if ways:
            found.append((one, ways))
    found.sort(key=lambda pair: -pair[1][0].ratio)
    lines: dict[Any, tuple[Distinct, list[Optimum]]] = {}
    for pair in found:  # an edit of a line is one of all its copies
        where = pair[0].first.where
        lines.setdefault((where.file, where.line, where.column), pair)
    found = list(lines.values())
    untried = "only the file of a script is edited" if script is None else "others come first"
    told = [Advised(one, ways[0], why=untried) for one, ways in found]
    if script is not None and found:
        told[:MOST_ADVISED] = _written(judged.trace, script, found[:MOST_ADVISED])
    del unknown[""]
    return Advice(told, looked, unknown)


def _written(
    trace: Trace, script: Script, found: Sequence[tuple[Distinct, Sequence[Optimum]]]
) -> Iterator[Advised]:
    """Each with the way that the script was traced with."""
    looked = _looked(script, True, True, _ORDER_SECONDS)
    with looked.runs(script) as again:
        trace = located(trace)
        search, texts = searched(script.path, trace, again)
        state = State(trace)
        for one, ways in found:
            where = one.first.where
            if one.first.copy is not None and one.first.copy.pred is not None:
                yield Advised(one, ways[0], why=GUARDED)
                continue
            made, why = written(search, state, texts, (os.path.realpath(where.file), where.line), ways)
            yield Advised(one, ways[0], made, why)


def status(judged: JudgedTrace, strict: bool, gate: Gate) -> int:
    """The exit status, as `gate.py` has it."""
    found = {verdict for verdict, count in judged.verdicts().items() if count}
    found |= {finding.severity for told in judged.trace.told for finding in told.findings}
    failing = {"rejected", "wrong"} | ({"slow", "unknown"} if strict else set())
    if found & failing or judged.uncompiled:
        return 1
    return 2 if judged.unseen(gate) else 0


@contextlib.contextmanager
def _shown(script: Script) -> Iterator[Script]:
    """The script with its output on stderr, and counts there while it runs, where that is a terminal."""
    script = replace(script, output=sys.stderr)
    if script.progress is not None or not sys.stderr.isatty():
        yield script
        return
    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    console = Console(stderr=True)
    with Bar(*columns, console=console, transient=True, redirect_stdout=False) as bar:
        task = bar.add_task("tracing", total=None)

        def progress(kernels: int, copies: int) -> None:
            bar.update(
                task, description=f"tracing: {many(kernels, 'kernel')}, {many(copies, 'copy', 'copies')}"
            )

        yield replace(script, progress=progress)
