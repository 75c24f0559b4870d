"""`layoutcheck check`: many copies, a JSON object a line."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from layoutcheck.cli.arguments import Option
from layoutcheck.cli.asked import asked_dsl
from layoutcheck.cli.input import open_bytes
from layoutcheck.cli.options import Compiler, Output, Strict, format_of
from layoutcheck.cli.output import Sink, complain, file_of, must_be_others
from layoutcheck.errors import InputError, refuse_beside
from layoutcheck.progress import Progress, bar

if TYPE_CHECKING:
    from layoutcheck.reports.outcome import Outcome


def check(
    jsonl: Annotated[str, Option("a file of JSON objects, one a line; '-' is stdin", "--jsonl")],
    format_: Annotated[str, format_of("check")] = "json",
    output: Output = None,
    strict: Strict = False,
    compiler: Compiler = False,
    everything: Annotated[bool, Option("of text: every fix's code, all findings in full", "--all")] = False,
    no_fixes: Annotated[
        bool, Option("of json: look for no fixes, which is ten times quicker", "--no-fixes")
    ] = False,
    compare: Annotated[
        Path | None, Option("an earlier run's JSON: print what became better or worse instead")
    ] = None,
) -> int:
    """Check many copies: one JSON object a line in, one JSON report a line out.

    Keys are the options of `explain` (`src`, `dst`, `atom`, `bits`, `thr`, ...). A line that cannot be used
    gives an object with an `error`. The other lines are still checked, and the exit status is 2, as for input
    without copies. With --compare copies are matched by `id`; the exit status is 1 if a verdict or a cost
    became worse.
    """
    from layoutcheck.reports import renderer
    from layoutcheck.reports.outcome import exit_status

    render = renderer(format_, "check")
    must_be_others((jsonl, compare), output)
    if compare is not None:
        refuse_beside(
            "--compare tells and fails on what is worse", strict=strict, all=everything, no_fixes=no_fixes
        )
    if format_ != "json":
        refuse_beside("only JSON leaves fixes out", no_fixes=no_fixes)
    before = None if compare is None else _earlier(compare)
    sink = Sink(output, everything)
    apart = before is not None or file_of(output) is not None or not sys.stdout.isatty()
    with bar(("check",)) if apart and Path(jsonl).is_file() else nullcontext() as progress:
        checked = _checked(jsonl, not no_fixes and compare is None, compiler, progress)
        if before is not None:
            return _compared(before, [one for batch in checked for one in batch], format_, sink)
        status = 0

        def rendered() -> Iterator[str]:
            nonlocal status
            for outcomes in checked:
                status = max(status, exit_status(outcomes, strict))
                yield render(outcomes, sink.style)

        sink.put_each(rendered())
    return status


def _checked(jsonl: str, fixes: bool, compiler: bool, progress: Progress | None) -> Iterator[list[Outcome]]:
    """The outcomes of all lines, some at a time. Raises InputError where there are none."""
    from layoutcheck.sources.records import read_lines

    seen = 0
    with open_bytes(jsonl, "Copies as JSON, one a line") as file:
        lines = read_lines(file)
        most = 64 if compiler else 1
        while batch := [_record(number, line, fixes) for number, line in islice(lines, most)]:
            seen += len(batch)
            if progress:
                size = os.fstat(file.fileno()).st_size
                progress("check", seen, max(seen, seen * size // file.tell()))  # as if lines were alike
            yield asked_dsl(batch) if compiler else batch
    if not seen:
        raise InputError("no copies to check", expected='JSON objects, one a line: {"src": ..., "dst": ...}')


def _earlier(path: Path) -> list[dict[str, Any]]:
    """The reports of an earlier run."""
    from layoutcheck.cli.input import read_text
    from layoutcheck.reports.compare import read

    return read(read_text(str(path), "The earlier reports").splitlines())


def _compared(before: list[dict[str, Any]], now: list[Outcome], format_: str, sink: Sink) -> int:
    """Print what differs; 1 where anything is worse, 2 where a line could not be used."""
    from layoutcheck.check import Report
    from layoutcheck.reports import compare
    from layoutcheck.reports.outcome import Failure

    reports = [{**one.to_dict(), "subject": one.subject} for one in now if isinstance(one, Report)]
    found = compare.differences(before, reports)
    sink.put(compare.render(found, format_))
    failures = [one for one in now if isinstance(one, Failure)]
    for one in failures:
        complain(f"{one.subject}: {one.error}")
    return 2 if failures else int(any(one.worse for one in found))


def _record(number: int, line: str, fixes: bool) -> Outcome:
    """The outcome of one JSONL line; without `fixes` none is looked for, and the report says so."""
    from layoutcheck.api import check_copy
    from layoutcheck.check import repairs
    from layoutcheck.judge import NEEDY
    from layoutcheck.reports.outcome import Failure
    from layoutcheck.sources.records import read_record

    try:
        record = read_record(line)
        report = check_copy(
            record.copy, assumptions=record.assumptions, subject=record.subject or f"line {number}"
        )
        if not fixes and report.verdict in NEEDY:
            return replace(report, repairs=repairs((), "not looked for: --no-fixes"))
        return report
    except InputError as error:
        return Failure(f"line {number}", error)
