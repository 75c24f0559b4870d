"""`layoutcheck lint`: copies in Python source."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from layoutcheck.cli.arguments import Option
from layoutcheck.cli.options import Coverage, FailOn, NoLowered, NoOrder, Output, Strict, format_of
from layoutcheck.cli.output import Sink, must_be_files, must_be_writable
from layoutcheck.errors import InputError, refuse_beside
from layoutcheck.formats import check_format
from layoutcheck.gate import gate

if TYPE_CHECKING:
    from layoutcheck.gate import Gate
    from layoutcheck.lint.result import Result
    from layoutcheck.reports.style import Style

SUCCEEDS = "--write-baseline always exits with 0"


def lint(
    paths: Annotated[list[str] | None, Option("files or folders; default: here", positional=True)] = None,
    select: Annotated[str | None, Option("codes to report, such as LC1,LC301; ALL")] = None,
    ignore: Annotated[str | None, Option("codes not to report")] = None,
    fix: Annotated[bool, Option("repair what can be repaired safely, in the files", "--fix")] = False,
    static: Annotated[bool, Option("do not run registered cases", "--static")] = False,
    strict: Strict = False,
    fail_on: FailOn = None,
    require_coverage: Coverage = None,
    format_: Annotated[str, format_of("lint")] = "text",
    output: Output = None,
    statistics: Annotated[bool, Option("count the codes instead", "--statistics")] = False,
    baseline: Annotated[Path | None, Option("findings in this file are old, and not reported")] = None,
    write_baseline: Annotated[Path | None, Option("write all findings as a baseline, and succeed")] = None,
    config: Annotated[Path | None, Option("a file with [tool.layoutcheck]; default: the nearest")] = None,
    force_exclude: Annotated[
        bool, Option("apply the excludes to paths named here too (pre-commit names all)", "--force-exclude")
    ] = False,
    no_cache: Annotated[bool, Option("analyse every file again", "--no-cache")] = False,
    no_lowered: NoLowered = False,
    no_order: NoOrder = False,
    workers: Annotated[int, Option("processes; 0 is one a processor")] = 0,
) -> int:
    """Find copies that are rejected, wrong or slow in Python source, which is read and never imported.

    Cases that the project registers (`@layoutcheck.case`, under [tool.layoutcheck] paths) are run in child
    processes, without network, to see their copies; --static leaves that out.
    """
    from layoutcheck.lint.baseline import is_baseline
    from layoutcheck.linting import linted
    from layoutcheck.reports.lint import renderer
    from layoutcheck.reports.lint import statistics as counted

    if write_baseline is not None:
        refuse_beside(SUCCEEDS, strict=strict, fail_on=fail_on, require_coverage=require_coverage)
    must_be_files(write_baseline=write_baseline)
    must_be_writable(output)
    must_be_writable(write_baseline, ours=is_baseline)
    if static:
        refuse_beside("--static traces nothing", no_lowered=no_lowered, no_order=no_order)
    asked = gate(fail_on, require_coverage)
    check_selected(select)
    render = renderer(format_)
    if statistics:
        check_format("lint --statistics", format_)
        render = counted
    result, repaired = linted(
        paths or ["."], config=config, select=select, ignore=ignore, static=static, fix=fix,
        baseline=baseline, write_baseline=write_baseline, force_exclude=force_exclude, cache=not no_cache,
        lowered=not no_lowered, order=not no_order, workers=workers,
    )  # fmt: skip
    for line in repaired:
        sys.stderr.write(f"fixed {line}\n")
    status = told(result, render, output, strict, asked)
    return 0 if write_baseline is not None else status


def check_selected(select: str | None) -> None:
    """Raise InputError for a code that no rule's begins with: every file would pass."""
    if select is None:
        return
    from layoutcheck.errors import meant
    from layoutcheck.rulebook import rules

    known = [*rules(), "ALL"]
    for word in filter(None, (each.strip().upper() for each in select.split(","))):
        if word.startswith("LC") and not any(code.startswith(word) for code in known):
            raise InputError(
                f"--select: no rule '{word[:40]}'{meant(word, known)}",
                expected="a code of `layoutcheck rule`",
            )


def told(
    result: Result, render: Callable[[Result, Style], str], output: Path | None, strict: bool, asked: Gate
) -> int:
    """Write a result, complain of what was not seen, and return the exit status."""
    sink = Sink(output)
    sink.put(render(result, sink.style))
    sys.stderr.writelines(f"not seen: {reason}\n" for reason in result.unseen(asked))
    return result.status(strict, asked)
