"""`layoutcheck trace`: every copy of every kernel that a script compiles."""

from __future__ import annotations

import sys
from typing import Annotated

from layoutcheck.cli.arguments import Option, misplaced
from layoutcheck.cli.options import Coverage, FailOn, Format, NoLowered, NoOrder, Output, Strict
from layoutcheck.cli.output import Sink
from layoutcheck.errors import InputError
from layoutcheck.gate import gate
from layoutcheck.machine.arch import parse_arch

_MAPS, _LINES = ("text", "json", "svg"), ("text", "json")  # formats: of --memory, of --lines and --banks
_OWN = ("--fix", "--diff", "--by", "--no-launch", "--no-order", "--advise")  # no script's, most likely


def trace(
    script: Annotated[str, Option("a Python script; with -m, a module", positional=True)],
    args: Annotated[list[str] | None, Option("the script's own", positional=True, rest=True)] = None,
    module: Annotated[bool, Option("SCRIPT is a module, as in python -m", "-m")] = False,
    no_launch: Annotated[bool, Option("trace only: no compile, no launch, no GPU", "--no-launch")] = False,
    arch: Annotated[str | None, Option("compile for sm_80, sm_90a, ...")] = None,
    timeout: Annotated[int | None, Option("end the script after this many seconds")] = None,
    format_: Format = "text",
    output: Output = None,
    strict: Strict = False,
    fail_on: FailOn = None,
    require_coverage: Coverage = None,
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
) -> int:
    """Run a Python script and check every copy of every kernel that it compiles, at the script's own lines.

    The script's output goes to standard error. Exit status: 1, a copy is wrong or a kernel does not compile;
    2, neither, but not everything was seen (--fail-on, --require-coverage).
    """
    from layoutcheck import tracing
    from layoutcheck.reports import github, line_totals, memory_map, sarif
    from layoutcheck.reports.lowered_banks import bank_table
    from layoutcheck.reports.repaired import render as render_repaired
    from layoutcheck.reports.trace import located, render, render_json

    behind = [word for word in args or () if word in _OWN and not module]
    if behind:
        sys.stderr.write(
            f"{behind[0]} stands after the script and is given to it; before it, trace takes it\n"
        )
    gated = strict or fail_on is not None or require_coverage is not None
    words = args or []
    for option in misplaced(trace, words):
        sys.stderr.write(f"{option} stands after {script}, which gets it; options of trace stand before\n")
    arch = None if arch is None else str(parse_arch(arch))  # as the DSL has it
    path, given = ("-m", [script, *words]) if module else (script, words)
    what = tracing.Script(path, given, launch=not no_launch, arch=arch, timeout_s=timeout)
    if extent is not None and (not lines or extent < 1):
        raise InputError("--extent is a positive number for --lines", expected="--lines --extent 4096")
    if memory or lines:
        name, formats = ("--memory", _MAPS) if memory else ("--lines", _LINES)
        others = (banks, memory and lines, fix, diff, confirm, by is not None, no_lowered, no_order, advise)
        if gated or everything or any(others):
            raise InputError(f"{name} judges nothing", expected=f"trace {name} by itself")
        if format_ not in formats:
            expected = f"{', '.join(formats[:-1])} or {formats[-1]}"
            raise InputError(f"{name} has no format '{format_[:40]}'", expected=expected)
        sink = Sink(output)
        problems: list[str] = []
        if memory:
            seen, maps = tracing.memory(what)
            problems = [one.problem for one in maps if one.problem]
            sink.put(memory_map.render(maps, format_, sink.style))
        else:
            seen, kernels = tracing.lines(what, extent)
            problems = [one.problem for one in kernels if one.problem]
            sink.put(line_totals.render(kernels, format_))
        return 2 if seen.failures or problems or not seen.kernels else 0
    if format_ not in ("text", "json", "github", "sarif", "html"):
        raise InputError(
            f"trace has no format '{format_[:40]}'", expected="text, json, github, sarif or html"
        )
    if advise and (fix or banks or format_ != "text"):
        raise InputError("--advise adds to the report of a trace, which is text", expected="trace --advise")
    asked = gate(fail_on, require_coverage)
    if diff and not fix:
        raise InputError("--diff needs --fix", expected="--fix --diff")
    if by is not None and not fix:
        raise InputError("--by needs --fix", expected="--fix --by NAME")
    if confirm and not fix:
        raise InputError("--confirm needs --fix", expected="--fix --confirm")
    if fix and (module or banks or format_ != "text" or gated):
        raise InputError(
            "--fix needs a script, and its report is text",
            expected="--fix FILE.py",
        )
    sink = Sink(output, everything)
    if fix:
        repaired = tracing.repaired(what, lowered=not no_lowered, order=not no_order, by=by, confirm=confirm)
        written: list[str] = []
        try:
            written = [] if diff else repaired.write()
        finally:  # what was found is told in any case
            sink.put(render_repaired(repaired, written, sink.style))
        return 1 if repaired.sketches or repaired.uncompiled else 2 if repaired.unseen else 0
    if banks:
        if gated:
            raise InputError("--banks gives no verdict", expected="trace without --banks for an exit status")
        if format_ not in _LINES:
            raise InputError(f"--banks has no format '{format_}'", expected="text or json")
        seen, costs, problems = tracing.banks(what)
        sink.put(bank_table(costs, format_, everything))
        sys.stderr.writelines(f"{problem}\n" for problem in problems)
        return 2 if seen.failures or not seen.kernels else 0
    found = tracing.traced(what, lowered=not no_lowered, order=not no_order)
    if format_ == "html":
        from layoutcheck.reports import run_page

        sink.put(run_page.render(found, sink.style, asked))
    elif format_ in ("github", "sarif"):
        annotate = github if format_ == "github" else sarif
        sink.put(annotate.render_located(located(found), sink.style))
    else:
        sink.put((render_json if format_ == "json" else render)(found, sink.style, asked))
        if advise:
            from layoutcheck.reports.advice import render as render_advice

            sink.put(render_advice(tracing.advised(found), sink.style))
    return tracing.status(found, strict, asked)
