"""`layoutcheck trace`: every copy of every kernel that a script compiles."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from layoutcheck.cli.arguments import Option, misplaced
from layoutcheck.cli.options import FailOn, Known, NoLowered, NoOrder, Output, Strict, format_of
from layoutcheck.cli.output import Sink
from layoutcheck.errors import InputError, refuse_beside
from layoutcheck.formats import check_format
from layoutcheck.gate import Gate, gate
from layoutcheck.machine.arch import parse_arch

if TYPE_CHECKING:
    from layoutcheck.reports.style import Style
    from layoutcheck.reports.trace import JudgedTrace
    from layoutcheck.sources.traced import Trace
    from layoutcheck.tracing import Script


def trace(
    script: Annotated[str, Option("a Python script; with -m, a module", positional=True)],
    args: Annotated[list[str] | None, Option("the script's own", positional=True, rest=True)] = None,
    module: Annotated[bool, Option("SCRIPT is a module, as in python -m", "-m")] = False,
    no_launch: Annotated[bool, Option("trace only: no compile, no launch, no GPU", "--no-launch")] = False,
    arch: Annotated[str | None, Option("compile for sm_80, sm_90a, ...")] = None,
    timeout: Annotated[int | None, Option("end the script after this many seconds")] = None,
    format_: Annotated[str, format_of("trace", "; svg with --memory")] = "text",
    output: Output = None,
    strict: Strict = False,
    fail_on: FailOn = None,
    require_coverage: Known = None,
    everything: Annotated[bool, Option("show legal copies too, and findings in full", "--all")] = False,
    banks: Annotated[bool, Option("report what each line costs in shared memory instead", "--banks")] = False,
    lines: Annotated[
        bool, Option("report what each line costs in all blocks of a launch instead", "--lines")
    ] = False,
    extent: Annotated[int | None, Option("with --lines: the number for every dynamic extent")] = None,
    memory: Annotated[bool, Option("report the map of shared and tensor memory instead", "--memory")] = False,
    no_lowered: NoLowered = False,
    fix: Annotated[bool, Option("repair the script's files; every edit is traced before it stays")] = False,
    diff: Annotated[bool, Option("with --fix: show the diff and write nothing")] = False,
    by: Annotated[str | None, Option("with --fix: only the fix of this name, such as pad-pitch")] = None,
    confirm: Annotated[
        bool, Option("with --fix: run the repaired copies on the GPU (without one, in the simulator)")
    ] = False,
    no_order: NoOrder = False,
    advise: Annotated[
        bool, Option("name copies into shared memory that cost twice their optimum, and the replacement")
    ] = False,
    workers: Annotated[int, Option("processes that judge kernels; 0 is one a processor")] = 0,
) -> int:
    """Run a Python script and check every copy of every kernel that it compiles, at the script's own lines.

    The script's output goes to standard error. After SIGTERM the report says what was seen until then. Exit
    status: 0 all was seen and nothing is wrong, 1 a copy is wrong or a kernel does not compile, 2 something
    was not seen (--fail-on, --require-coverage).
    """
    what = _script(script, args or [], module, not no_launch, arch, timeout)
    gates = {"strict": strict, "fail_on": fail_on, "require_coverage": require_coverage}
    unchecked = {"no_lowered": no_lowered, "no_order": no_order}
    if extent is not None and (not lines or extent < 1):
        raise InputError("--extent is a positive number for --lines", expected="--lines --extent 4096")
    if memory or lines:
        refuse_beside(
            f"--{'memory' if memory else 'lines'} judges nothing", **gates, **unchecked, all=everything,
            banks=banks, lines=memory and lines, fix=fix, diff=diff, by=by, confirm=confirm, advise=advise,
            workers=workers or None,
        )  # fmt: skip
        return _memory(what, format_, output) if memory else _lines(what, extent, format_, output)
    check_format("trace", format_)
    if advise:
        refuse_beside("--advise adds to the text of a trace", fix=fix, banks=banks, format=format_ != "text")
    asked = gate(fail_on, require_coverage)
    if not fix:
        refuse_beside("without --fix", diff=diff, by=by, confirm=confirm)
    else:
        if module:
            raise InputError("--fix needs a script: -m is not used", expected="--fix FILE.py")
        refuse_beside(
            "--fix has a report of its own", **gates, all=everything, banks=banks, workers=workers or None
        )
        check_format("trace --fix", format_)
        return _fix(what, not no_lowered, not no_order, by, confirm, Sink(output), write=not diff)
    if banks:
        refuse_beside("--banks gives no verdict", **gates, workers=workers or None)
        refuse_beside("--banks counts lowered accesses", **unchecked)
        check_format("trace --banks", format_)
        return _banks(what, format_, Sink(output, everything))
    from layoutcheck import tracing

    sink = Sink(output, everything)
    found = tracing.traced(what, lowered=not no_lowered, order=not no_order, workers=workers)
    advice = ""
    if advise:
        from layoutcheck.reports.advice import render as render_advice

        advice = render_advice(tracing.advised(found, None if module else what), sink.style)
    sink.put(_rendered(found, format_, sink.style, asked), advice)
    return tracing.status(found, strict, asked)


def _script(
    script: str, words: list[str], module: bool, launch: bool, arch: str | None, timeout: int | None
) -> Script:
    """What is run, its architecture as the DSL spells it. Raises InputError."""
    from layoutcheck.tracing import Script

    _tell_passed_on(misplaced(trace, words), script)
    path, given = ("-m", [script, *words]) if module else (script, words)
    name = None if arch is None else str(parse_arch(arch))
    if timeout is not None and timeout < 1:
        raise InputError(f"--timeout is {timeout}", expected="1 or more seconds")
    return Script(path, given, launch=launch, arch=name, timeout_s=timeout)


def _tell_passed_on(options: Sequence[str], script: str) -> None:
    """Say on standard error which options of trace the script gets, because they stand behind its name."""
    if options:
        verb = "stands" if len(options) == 1 else "stand"
        what = "it is" if len(options) == 1 else "they are"
        sys.stderr.write(
            f"note: {' and '.join(options)} {verb} after {script}, so {what} passed to the script;"
            " put options of trace before it\n"
        )


def _told(seen: Trace, sink: Sink, text: str, problems: Iterable[str]) -> int:
    """Write a report of kernels alone, and on standard error what kept some from it; the exit status."""
    from layoutcheck.reports.trace import failed

    sys.stderr.writelines(f"not seen: {failed(one)}\n" for one in seen.failures)
    sink.put(text)
    return 2 if seen.failures or any(problems) or not seen.kernels else 0


def _memory(what: Script, format_: str, output: Path | None) -> int:
    """The maps of shared and tensor memory; the exit status, 2 if one is missing."""
    from layoutcheck import tracing
    from layoutcheck.reports import memory_map

    check_format("trace --memory", format_)
    sink = Sink(output)
    seen, maps = tracing.memory(what)
    return _told(seen, sink, memory_map.render(maps, format_, sink.style), (one.problem for one in maps))


def _lines(what: Script, extent: int | None, format_: str, output: Path | None) -> int:
    """What each line costs in all blocks of a launch; the exit status, 2 if a kernel could not be counted."""
    from layoutcheck import tracing
    from layoutcheck.reports.lowered_banks import totals_table

    check_format("trace --lines", format_)
    sink = Sink(output)
    seen, kernels = tracing.lines(what, extent)
    return _told(seen, sink, totals_table(kernels, format_), (one.problem for one in kernels))


def _banks(what: Script, format_: str, sink: Sink) -> int:
    """What each line costs in shared memory; the exit status, 2 if a kernel could not be counted."""
    from layoutcheck import tracing
    from layoutcheck.reports.lowered_banks import bank_table

    seen, costs, problems = tracing.banks(what)
    status = _told(seen, sink, bank_table(costs, format_, sink.style.everything), problems)
    sys.stderr.writelines(f"{problem}\n" for problem in problems)
    return status


def _fix(
    what: Script, lowered: bool, order: bool, by: str | None, confirm: bool, sink: Sink, *, write: bool
) -> int:
    """Find repairs, report and write them; the exit status, 1 if something is left."""
    from layoutcheck import tracing
    from layoutcheck.reports.repaired import render

    repaired = tracing.repaired(what, lowered=lowered, order=order, by=by, confirm=confirm)
    written: list[str] = []
    try:
        written = repaired.write() if write else []
    finally:  # what was found is told in any case
        sink.put(render(repaired, written, sink.style))
    return 1 if repaired.sketches or repaired.uncompiled else 2 if repaired.unseen else 0


def _rendered(found: JudgedTrace, format_: str, style: Style, asked: Gate) -> str:
    """The report of a trace, in any of its formats."""
    from layoutcheck.reports import github, sarif
    from layoutcheck.reports.trace import located, render, render_json

    if format_ == "html":
        from layoutcheck.reports import run_page

        return run_page.render(found, style, asked)
    if format_ in ("github", "sarif"):
        annotate = github if format_ == "github" else sarif
        return str(annotate.render_located(located(found), style))
    return (render_json if format_ == "json" else render)(found, style, asked)
