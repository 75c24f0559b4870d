"""`trace --advise`: the copies that cost a multiple of their optimum, each with what to put in its place."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import NamedTuple

from layoutcheck.reports.style import Style
from layoutcheck.reports.trace import subject
from layoutcheck.sources.traced import Distinct
from layoutcheck.synthesis.optimum import ENOUGH, Optimum


class Advised(NamedTuple):
    """A copy of a trace, and the best way from its source to its destination."""

    one: Distinct
    best: Optimum


def render(found: Sequence[Advised], style: Style) -> str:
    """A paragraph for each, dearest first."""
    if not found:
        return (
            f"\nadvice: no copy of threads from global into shared memory costs {ENOUGH:g} times its\n"
            "optimum or more, among those whose tiles are known\n"
        )
    lines = [""]
    for one, best in found:
        said = (
            f"advice: {subject(one)}: {best.cycles:,.0f} predicted cycles a tile, {best.ratio:.1f} times the "
            f"optimum, {best.least:,.0f}: {best.title}"
        )
        lines += textwrap.wrap(said, style.width, subsequent_indent="  ", break_on_hyphens=False)
        if best.allocation:
            said = "  in place of the shared tile's allocation; its other copies must take the new layout:"
            lines += textwrap.wrap(said, style.width, subsequent_indent="  ", drop_whitespace=True)
            lines += [f"    {line}" for line in best.allocation.splitlines()]
        said = "  in place of the copy (src and dst are its tiles, tidx is the thread):"
        lines += textwrap.wrap(said, style.width, subsequent_indent="  ")
        lines += [f"    {line}" for line in best.code.splitlines()]
        lines.append("")
    return "\n".join(lines)
