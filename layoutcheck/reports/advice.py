"""`trace --advise`: the copies that cost a multiple of their optimum, each with the edit that is proven."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from layoutcheck.patching.advice import Written
from layoutcheck.reports.groups import subject
from layoutcheck.reports.style import Style
from layoutcheck.sources.traced import Distinct
from layoutcheck.synthesis.optimum import ENOUGH, Optimum


class Advised(NamedTuple):
    """A copy of a trace, the best way from its source to its destination, and the way that the program took.

    `why` none was written into it, where `written` is None.
    """

    one: Distinct
    best: Optimum
    written: Written | None = None
    why: str = ""


class Advice(NamedTuple):
    """What is told, of `looked` copies from global into shared memory, and why nothing is known of others."""

    told: Sequence[Advised]
    looked: int
    unknown: Mapping[str, int]


def render(found: Advice, style: Style) -> str:
    """How many copies were looked at, and a paragraph for each that is told, dearest first."""
    known = found.looked - sum(found.unknown.values())
    said = (
        f"advice: {known} of {found.looked} copies of threads from global into shared memory compared with "
    )
    said += f"their optimum, {len(found.told)} cost{'s' * (len(found.told) == 1)} {ENOUGH:g} times it or more"
    said += "".join(f"; {count} not compared: {why}" for why, count in found.unknown.items())
    lines = ["", *style.wrap(said, "  ", "")] + [""] * bool(found.told)
    for advised in found.told:
        one, best, written = advised.one, advised.best, advised.written
        alone = f"one thread of {best.wanted.threads} fills the tile: " if best.alone else ""
        said = (
            f"advice: {subject(one)}: {alone}{best.cycles:,.0f} predicted cycles a tile, "
            f"{best.ratio:.1f} times the optimum, {best.least:,.0f}: {best.title}"
        )
        lines += style.wrap(said, "  ", "")
        if written is None:
            said = f"  not written: {advised.why}"
            lines += [*style.wrap(said, "  ", ""), ""]
            continue
        said = "  proven: traced with this edit, "
        if written.best is not best:
            said += f"{written.best.title}, "
        said += f"the program has these copies, {written.cycles:,.0f} cycles by their "
        said += "partitions, and nothing in it is worse"
        lines += style.wrap(said, "  ", "")
        lines += [*written.files.diff().splitlines(), ""]
    return "\n".join(lines) + "\n" * (not found.told)
