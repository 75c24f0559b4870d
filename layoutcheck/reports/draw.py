"""`layoutcheck draw`: pictures of a layout, a tiled copy or a named case."""

from __future__ import annotations

import re
from collections.abc import Sequence

from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.notation import parse_any_layout, parse_layout
from layoutcheck.algebra.swizzle import ComposedLayout
from layoutcheck.analysis import Analysis
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.brackets import split
from layoutcheck.check import Report
from layoutcheck.copies.opaque import OtherOperand
from layoutcheck.copies.tiled import TiledCopy, make_tiled_copy_tv
from layoutcheck.errors import InputError, said_of
from layoutcheck.machine.dtypes import dtype
from layoutcheck.reports.blocks import copy_blocks, layout_blocks, render, tile_blocks
from layoutcheck.reports.outcome import Outcome
from layoutcheck.reports.pictures import copy_pictures
from layoutcheck.reports.pictures.grid import grid_picture
from layoutcheck.reports.pictures.scene import SIDES
from layoutcheck.reports.pictures.svg import Picture
from layoutcheck.reports.pictures.tile import tile_picture
from layoutcheck.reports.pictures.tv import NAMES
from layoutcheck.reports.style import Style
from layoutcheck.sources.types import parse_tiled_copy

# A tiled copy as the DSL and C++ print it: its tiler, then its thread-value layout.
_TILED = re.compile(r"Tiler[ _]MN:\s*(\([^:]*?(?::[^:]*?)*\))\s+(?:TV Layout tiled|TiledLayout_TV):\s*(\S+)")


def drawn(target: str, thr: str | None = None, val: str | None = None) -> list[Picture]:
    """The pictures of a layout or a printed tiled copy; a layout coloured by thread with `thr` and `val`.

    Raises InputError for unusable text and for what cannot be drawn.
    """
    what, tiled = _target(target, thr, val)
    return [tile_picture(what)] if isinstance(what, TiledCopy) else [grid_picture(what, tiled)]


def blocks(target: str, thr: str | None, val: str | None, style: Style) -> str:
    """The same for a terminal."""
    what, tiled = _target(target, thr, val)
    made = tile_blocks(what) if isinstance(what, TiledCopy) else layout_blocks(what, tiled)
    return render(made, style)


def _target(
    target: str, thr: str | None, val: str | None
) -> tuple[Layout | ComposedLayout | TiledCopy, TiledCopy | None]:
    if (thr is None) != (val is None):
        raise InputError("thread and value layouts must be given together", expected="both --thr and --val")
    if target.lstrip().startswith("!cute.tiled_copy"):
        if thr is not None:
            raise InputError(
                "a tiled copy has thread and value layouts of its own", expected="one or the other"
            )
        return parse_tiled_copy(target), None
    printed = _TILED.search(target)
    if printed is not None and thr is None:
        tiler = [parse_layout(mode) for mode in split(printed[1][1:-1])]
        return TiledCopy(UniversalCopy(dtype("i8"), 8), parse_layout(printed[2]), tuple(tiler)), None
    return parse_any_layout(target), None if thr is None or val is None else by_threads(thr, val)


def by_threads(thr: str, val: str) -> TiledCopy:
    """The tiled copy of these layouts, one element an instruction."""
    with said_of("--thr"):
        threads = parse_layout(thr)
    with said_of("--val"):
        values = parse_layout(val)
    return make_tiled_copy_tv(UniversalCopy(dtype("i8"), 8), threads, values)


def outcome_blocks(outcomes: Sequence[Outcome], style: Style) -> str:
    """The pictures of all copies, for a terminal. Raises InputError where none of them can be drawn."""
    made = [block for analysis in _analyses(outcomes) for block in copy_blocks(analysis)]
    if not made:
        drawn_outcomes(outcomes)  # says why
    return render(made, style)


def _analyses(outcomes: Sequence[Outcome]) -> list[Analysis]:
    return [outcome.analysis for outcome in outcomes if isinstance(outcome, Report)]


def drawn_outcomes(outcomes: Sequence[Outcome]) -> list[Picture]:
    """The pictures of all copies. Raises InputError where none of them can be drawn."""
    found: list[Picture] = []
    why = "nothing here can be drawn"
    for analysis in _analyses(outcomes):
        pictures = copy_pictures(analysis)
        if not pictures and analysis.obstacle is not None:
            why = f"nothing here can be drawn: {analysis.obstacle.message}"
        opaque = [side for side in SIDES if isinstance(analysis.copy.side(side), OtherOperand)]
        if opaque:
            why = (
                f"nothing here can be drawn: the addresses of the {NAMES[opaque[0]]}'s elements are not known"
            )
        found += pictures
    if not found:
        raise InputError(why, expected="a copy between tensors whose layouts are known")
    return found
