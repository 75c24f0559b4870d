"""`layoutcheck draw`: layouts, tiled copies and named cases as pictures."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from layoutcheck.cli.arguments import WHICH, Option
from layoutcheck.cli.asked import asked_mma, list_cases, outcomes_of_case
from layoutcheck.cli.options import MMA, format_of
from layoutcheck.cli.output import Sink, file_of, style_of
from layoutcheck.errors import InputError, refuse_beside
from layoutcheck.formats import check_format

_OTHERS = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf", ".html")


def draw(
    target: Annotated[str | None, Option("a layout, or a printed tiled copy", positional=True)] = None,
    thr: Annotated[str | None, Option("thread layout: colours a layout by thread")] = None,
    val: Annotated[str | None, Option("value layout")] = None,
    case: Annotated[str | None, Option("a named case; '--case' alone lists them")] = None,
    format_: Annotated[str | None, format_of("draw", "; default: text, and svg to a file")] = None,
    output: Annotated[Path | None, Option("write the pictures to this file; '-' is stdout")] = None,
    *,
    mma: Annotated[dict[str, str], MMA],
) -> int:
    """Draw a layout, a tiled copy, a named case or an MMA's fragments, as text or SVG (--output)."""
    from layoutcheck.reports.draw import blocks, drawn, drawn_outcomes, outcome_blocks
    from layoutcheck.reports.pictures.svg import document

    if case == WHICH:
        return list_cases()
    output = file_of(output)
    check_format("draw", "svg" if format_ is None else format_)
    found = asked_mma(mma)
    asked = (target is not None) + (case is not None) + (found is not None)
    if asked != 1:
        problem = "more than one thing to draw" if asked else "nothing to draw"
        raise InputError(problem, expected="one of a layout, a tiled copy, --case NAME and --mma MMA")
    if target is None:
        what = "a case" if found is None else "an MMA"
        refuse_beside(f"{what} has its own thread and value layouts", thr=thr, val=val)
    if output is not None and output.suffix.lower() in _OTHERS:
        raise InputError(f"--output {output}: pictures are SVG or text", expected="--output FILE.svg")
    as_text = format_ == "text" or (format_ is None and output is None)
    style = style_of(sys.stdout, plain=output is not None)
    if found is not None:
        from layoutcheck.reports.mma import pictures, text_pictures

        text = text_pictures(found, style) if as_text else document(pictures(found)) + "\n"
        Sink(output).put(text)
        return 0
    outcomes = outcomes_of_case(case) if case is not None else []
    if as_text:
        text = blocks(target, thr, val, style) if target is not None else outcome_blocks(outcomes, style)
    else:
        text = document(drawn(target, thr, val) if target is not None else drawn_outcomes(outcomes)) + "\n"
    Sink(output).put(text)
    return 0
