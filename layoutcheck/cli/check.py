"""`layoutcheck check`: many copies, a JSON object a line."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Annotated

from layoutcheck.cli.arguments import Option
from layoutcheck.cli.compiler import asked
from layoutcheck.cli.input import open_bytes
from layoutcheck.cli.options import Compiler, Output, Strict
from layoutcheck.cli.output import Sink
from layoutcheck.errors import InputError

if TYPE_CHECKING:
    from layoutcheck.reports.outcome import Outcome


def check(
    jsonl: Annotated[str, Option("a file of JSON objects, one a line; '-' is stdin", "--jsonl")],
    format_: Annotated[str, Option("json or text", "--format")] = "json",
    output: Output = None,
    strict: Strict = False,
    compiler: Compiler = False,
) -> int:
    """Check many copies: one JSON object a line in, one JSON report a line out.

    Keys are the options of `explain` (`src`, `dst`, `atom`, `bits`, `thr`, ...). A line that cannot be used
    gives an object with an `error`, the other lines are still checked, and the exit status is 2.
    """
    from layoutcheck.reports import renderer
    from layoutcheck.reports.outcome import exit_status
    from layoutcheck.sources.records import read_lines

    if format_ in ("html", "svg"):
        raise InputError(
            f"check writes one report on each line, which {format_} cannot do", expected="json or text"
        )
    render = renderer(format_)
    sink = Sink(output)
    status = 0
    with open_bytes(jsonl) as file:
        lines = read_lines(file)
        while batch := [_record(number, line) for number, line in islice(lines, 64 if compiler else 1)]:
            outcomes = asked(batch) if compiler else batch
            sink.put(render(outcomes, sink.style))
            status = max(status, exit_status(outcomes, strict))
    return status


def _record(number: int, line: str) -> Outcome:
    """The outcome of one JSONL line."""
    from layoutcheck.api import check_copy
    from layoutcheck.reports.outcome import Failure
    from layoutcheck.sources.records import read_record

    try:
        record = read_record(line)
        return check_copy(
            record.copy, assumptions=record.assumptions, subject=record.subject or f"line {number}"
        )
    except InputError as error:
        return Failure(f"line {number}", error)
