"""`layoutcheck ci`: a repository's own tests and scripts traced, beside what its source says."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from layoutcheck.cli.arguments import Option
from layoutcheck.cli.lint import SUCCEEDS, check_selected, told
from layoutcheck.cli.options import Coverage, FailOn, NoLowered, NoOrder, Output, Strict, format_of
from layoutcheck.cli.output import Sink, complain, must_be_files, must_be_writable, writable
from layoutcheck.digits import is_number
from layoutcheck.errors import InputError, option_of, refuse_beside
from layoutcheck.gate import Part, gate

if TYPE_CHECKING:
    from layoutcheck.lint.cases import RegisteredCase
    from layoutcheck.lint.result import Result
    from layoutcheck.reports.style import Style
    from layoutcheck.settings import Settings

_MOST_ASKED = 12  # programs that the question names
_MOST_PARTS = 1000


def ci(
    paths: Annotated[list[str] | None, Option("files or folders; default: here", positional=True)] = None,
    yes: Annotated[bool, Option("run the programs without asking", "--yes")] = False,
    list_: Annotated[bool, Option("print the programs that would be run, and end", "--list")] = False,
    arch: Annotated[str | None, Option("architectures to build for: sm_90a,sm_100a")] = None,
    timeout: Annotated[int | None, Option("seconds for each program (default 600)")] = None,
    strict: Strict = False,
    fail_on: FailOn = None,
    require_coverage: Coverage = None,
    format_: Annotated[str, format_of("ci")] = "text",
    output: Output = None,
    html: Annotated[Path | None, Option("write a page with everything to this file")] = None,
    sarif: Annotated[Path | None, Option("write a SARIF log to this file")] = None,
    junit: Annotated[Path | None, Option("write JUnit XML to this file")] = None,
    select: Annotated[str | None, Option("codes to report, such as LC1,LC301; ALL")] = None,
    ignore: Annotated[str | None, Option("codes not to report")] = None,
    baseline: Annotated[Path | None, Option("findings in this file are old, and not reported")] = None,
    write_baseline: Annotated[Path | None, Option("write all findings as a baseline, and succeed")] = None,
    config: Annotated[Path | None, Option("a file with [tool.layoutcheck]; default: the nearest")] = None,
    no_cache: Annotated[bool, Option("run and read everything again", "--no-cache")] = False,
    no_lowered: NoLowered = False,
    no_order: NoOrder = False,
    workers: Annotated[int, Option("processes; 0 is one a processor")] = 0,
    shard: Annotated[
        str | None, Option("run a part of the programs: 2/4 is every fourth from the second")
    ] = None,
) -> int:
    """Run the repository's tests and scripts that compile kernels, and check every copy of every kernel.

    This executes the repository's code: in child processes, without network, launching nothing, each for a
    limited time. It asks first; --yes, or `run` in [tool.layoutcheck], answers. The source is linted, too.
    After SIGTERM the report says what was seen until then. Exit status: 0 all was seen and nothing is wrong,
    1 something is wrong, 2 something was not seen.
    """
    from layoutcheck.lint.baseline import is_baseline
    from layoutcheck.lint.cases import require_dsl
    from layoutcheck.linting import NO_PROGRAM, linted
    from layoutcheck.reports import ci_page, junit_xml
    from layoutcheck.reports import lint as reports
    from layoutcheck.reports.style import one_line

    if write_baseline is not None:
        refuse_beside(SUCCEEDS, strict=strict, fail_on=fail_on, require_coverage=require_coverage)
    asked = gate(fail_on, require_coverage)
    part = _part(shard)
    if part is not None:
        refuse_beside(
            "--shard runs a part of the programs",
            require_coverage=require_coverage, write_baseline=write_baseline,
        )  # fmt: skip
    check_selected(select)
    must_be_files(html=html, sarif=sarif, junit=junit, write_baseline=write_baseline)
    must_be_writable(output, html, sarif, junit)
    must_be_writable(write_baseline, ours=is_baseline)
    _refuse_twice(output=output, html=html, sarif=sarif, junit=junit, write_baseline=write_baseline)
    render = reports.renderer(format_, "ci")
    if list_:
        refuse_beside(
            "--list runs nothing and reports no findings",
            yes=yes, timeout=timeout, strict=strict, fail_on=fail_on, require_coverage=require_coverage,
            format=format_ != "text", output=output, html=html, sarif=sarif, junit=junit, select=select,
            ignore=ignore, baseline=baseline, write_baseline=write_baseline, no_cache=no_cache,
            no_lowered=no_lowered, no_order=no_order, workers=workers or None,
        )  # fmt: skip
        listed = _listed(paths or ["."], config, arch, part)
        sys.stdout.writelines(writable(f"{one_line(line)}\n") for line in listed)
        if not listed:
            sys.stderr.write(f"{NO_PROGRAM}\n")
        return 0
    reason = require_dsl()
    if reason is not None:
        raise InputError(f"nothing can be traced: {reason}", expected="it in the project's own environment")
    result, _ = linted(
        paths or ["."], config=config, select=select, ignore=ignore, baseline=baseline,
        write_baseline=write_baseline, cache=not no_cache, lowered=not no_lowered, order=not no_order,
        workers=workers, arch=arch, timeout_s=timeout, part=part,
        approve=lambda programs, settings: _approve(programs, settings, yes),
    )  # fmt: skip
    more = ((html, ci_page.render), (sarif, reports.sarif), (junit, junit_xml.render))
    unwritten = [why for file, made in more if file is not None and (why := _unwritten(file, made, result))]
    status = told(result, render, output, strict, asked)
    for line in unwritten:
        complain(line)
    if unwritten:
        return 2
    return 0 if write_baseline is not None else status


def _unwritten(file: Path, made: Callable[[Result, Style], str], result: Result) -> str:
    """Write one more report; why that failed, "" where it did not: the others are written in any case."""
    try:
        sink = Sink(file)
        sink.put(made(result, sink.style))
    except (InputError, OSError) as error:
        return f"cannot write {file}: {getattr(error, 'strerror', None) or error}"
    return ""


def _refuse_twice(**files: Path | None) -> None:
    """Raises InputError where two options name one file, of which the last would be left."""
    named: dict[Path, str] = {}
    for name, file in files.items():
        this = option_of(name)
        other = this if file is None else named.setdefault(file.absolute(), this)
        if other != this and str(file) != os.devnull:
            raise InputError(f"{other} and {this} write one file, '{str(file)[:200]}'", expected="two files")


def _part(given: str | None) -> Part | None:
    """`--shard I/N`. Raises InputError."""
    if given is None:
        return None
    index, _, count = given.partition("/")
    if not (is_number(index) and is_number(count)) or not 1 <= int(index) <= int(count) <= _MOST_PARTS:
        what = f"'{given[:40]}' is not a part of the programs"
        raise InputError(what, expected=f"--shard I/N with 1 <= I <= N <= {_MOST_PARTS}, such as 2/4")
    return Part(int(index), int(count))


def _listed(paths: Sequence[str], config: Path | None, arch: str | None, part: Part | None) -> list[str]:
    """The programs, one a line, as they would be called."""
    from dataclasses import replace

    from layoutcheck.lint.cache import Cache
    from layoutcheck.lint.programs import discover
    from layoutcheck.linting import settings_for
    from layoutcheck.settings import architectures

    settings = settings_for(paths, config, None, None)
    if arch is not None:
        settings = replace(settings, run_arch=architectures(arch))

    def tell(note: str) -> None:
        sys.stderr.write(writable(f"note: {note}\n"))

    found = discover(paths, settings, Cache(None, "outlines"), tell)
    return [f"{' '.join(case.command)}  ({case.arch})" for case in (part.of(found) if part else found)]


def _approve(programs: Sequence[RegisteredCase], settings: Settings, yes: bool) -> None:
    """Return where the programs may be run. Raises InputError where nobody says so."""
    from layoutcheck.reports.style import one_line

    if yes or settings.run is not None or not programs:
        return
    count = f"{len(programs)} program{'s' * (len(programs) > 1)} of this repository"
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InputError(
            f"this would run {count} (--list names them)",
            expected="--yes, or run = [...] in [tool.layoutcheck]",
        )
    for case in programs[:_MOST_ASKED]:
        sys.stderr.write(writable(f"  python {one_line(' '.join(case.command))}  ({case.arch})\n"))
    if len(programs) > _MOST_ASKED:
        sys.stderr.write(f"  ... and {len(programs) - _MOST_ASKED} more (--list names all)\n")
    sys.stderr.write(f"Run {count}, without network, launching nothing? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise InputError("nothing was run")
