"""`layoutcheck draw`: layouts, tiled copies and named cases as pictures."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from layoutcheck.cli.arguments import Option
from layoutcheck.cli.cases import list_cases, outcomes_of_case
from layoutcheck.cli.output import Sink, style_of
from layoutcheck.errors import InputError


def draw(
    target: Annotated[str | None, Option("a layout, or a printed tiled copy", positional=True)] = None,
    thr: Annotated[str | None, Option("thread layout: colours a layout by thread")] = None,
    val: Annotated[str | None, Option("value layout")] = None,
    case: Annotated[str | None, Option("a named case; '--case' alone lists them")] = None,
    format_: Annotated[str | None, Option("svg, or text for a terminal", "--format")] = None,
    output: Annotated[Path | None, Option("write the pictures to this file")] = None,
) -> int:
    """Draw a layout, a tiled copy, or the copies of a named case: in the terminal, or as SVG (--output)."""
    from layoutcheck.reports.draw import blocks, drawn, drawn_outcomes, outcome_blocks
    from layoutcheck.reports.pictures.svg import document

    if case == "":
        return list_cases()
    if format_ not in (None, "svg", "text"):
        raise InputError(f"draw has no format '{format_[:40]}'", expected="svg or text")
    if (target is None) == (case is None):
        raise InputError("nothing to draw", expected="a layout, a tiled copy, or --case NAME")
    if case is not None and (thr or val):
        raise InputError("a case has its own thread and value layouts", expected="--case NAME alone")
    as_text = format_ == "text" or (format_ is None and output is None and sys.stdout.isatty())
    outcomes = outcomes_of_case(case) if case is not None else []
    style = style_of(sys.stdout, plain=output is not None)
    if as_text:
        text = blocks(target, thr, val, style) if target is not None else outcome_blocks(outcomes, style)
    else:
        text = document(drawn(target, thr, val) if target is not None else drawn_outcomes(outcomes)) + "\n"
    Sink(output).put(text)
    return 0
