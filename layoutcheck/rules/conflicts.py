"""Bank conflicts of a copy that works: which side has them, and which swizzle or pitch would not."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from layoutcheck.algebra.image import image
from layoutcheck.algebra.inttuple import flatten
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.analysis import Analysis
from layoutcheck.analysis.cost import SideCost, copy_cost
from layoutcheck.copies.tiling import of_tiles
from layoutcheck.errors import InputError
from layoutcheck.machine.banks import CP_ASYNC_CG, OFF, wavefronts
from layoutcheck.machine.best_swizzle import SwizzleResult, best_swizzle
from layoutcheck.machine.tiles import TileAccess

MAX_SEARCH = 1 << 16  # elements of a tile for which a better swizzle is looked for


def conflicted(analysis: Analysis) -> SideCost | None:
    """The side in shared memory that takes more wavefronts than it has phases."""
    found = analysis.cost
    for side in found.sides if found else ():
        if side.space == "smem" and side.rule != CP_ASYNC_CG and side.wavefronts > side.ideal_wavefronts:
            return side
    return None


def swizzled(analysis: Analysis) -> tuple[SideCost, Swizzle] | None:
    """The side that conflicts, and its pointer's swizzle; None where none does, or its swizzle does nothing."""
    side = conflicted(analysis)
    swizzle = None if side is None else analysis.copy.whole(side.side).swizzle
    return None if side is None or swizzle is None or not swizzle.bits else (side, swizzle)


def under(analysis: Analysis, side: SideCost, swizzle: Swizzle | None, base: int = 0) -> int | None:
    """The wavefronts of that side with another pointer swizzle; None where it tears its accesses apart.

    `base`, in bytes, is where the tile begins in the swizzle's pattern.
    """
    if swizzle is not None and swizzle.granule * 8 < side.width_bits:
        return None
    plain = analysis.derive(_plain, side.side)
    if plain is None:
        return None
    at = plain if swizzle is None else np.where(plain < 0, OFF, swizzle(plain + base))
    return int(wavefronts(at, side.width_bits, side.rule).wavefronts.sum())


def suggestion(analysis: Analysis, side: SideCost) -> SwizzleResult | None:
    """The swizzle or padding with which this side of the copy conflicts least, if that helps.

    None for a tile that is too large to follow: no shared memory holds it.
    """
    if analysis.runs[-1].times > 1:
        return None
    return analysis.derive(_suggestion, side.side)


def _suggestion(analysis: Analysis, name: str) -> SwizzleResult | None:
    """The search, which the finding, the fix and the picture of one copy all ask for."""
    copy = analysis.copy
    found, plain = copy_cost(copy), analysis.derive(_plain, name)
    assert found is not None and copy.tiling is not None  # there is no side without them
    side = next(one for one in found.sides if one.side == name)
    whole = copy.tiling.side(name)
    if plain is None or whole.dtype.bits % 8 or not _compact_enough(whole.layout):
        return None
    try:
        offsets = image(whole.layout) * (whole.dtype.bits // 8)
        order = np.argsort(offsets, kind="stable")
        base = int(plain[plain >= 0].min()) // (1 << 20) * (1 << 20)
        place = np.searchsorted(offsets[order], plain - base)
        if (place >= offsets.size).any():
            return None
        index = np.where(plain < 0, OFF, order[place])
        access = TileAccess(side.op, side.rule, side.width_bits, index)
        best = best_swizzle(whole.layout, whole.dtype.bits, [access], copy.arch)
    except InputError:
        return None
    return best if best.wavefronts < side.wavefronts else None


def bank_side(analysis: Analysis) -> SideCost | None:
    """The side whose banks are worth looking at: the one that conflicts, else the first that has any."""
    found = analysis.cost
    shared = [
        side for side in (found.sides if found else ()) if side.space == "smem" and side.rule != CP_ASYNC_CG
    ]
    return conflicted(analysis) or (shared[0] if shared else None)


def repaired_side(analysis: Analysis, side: SideCost) -> tuple[str, SideCost] | None:
    """What `suggestion` proposes for a side, in words, and that side of the copy with it."""
    better = suggestion(analysis, side)
    tiling = analysis.copy.tiling
    if better is None or tiling is None:
        return None
    new = replace(tiling.side(side.side), swizzle=better.swizzle, layout=better.layout)
    tiles = tiling.with_side(side.side, new)
    found = copy_cost(of_tiles(analysis.copy, tiles.src, tiles.dst))
    after = next((s for s in found.sides if s.side == side.side), None) if found else None
    if after is None:
        return None
    what = str(better.swizzle) if better.swizzle else f"a pitch padded by {better.padding} elements"
    return what if better.swizzle or better.padding else "no swizzle", after


def _plain(analysis: Analysis, side: str) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]] | None:
    """The addresses of a side, warp by warp, as if its pointer had no swizzle."""
    found = copy_cost(analysis.copy.on_side(side, partial(replace, swizzle=None)))
    return next((s.addresses for s in found.sides if s.side == side), None) if found else None


def _compact_enough(layout: Layout) -> bool:
    """Whether enumerating the tile is cheap and every element has an address of its own."""
    size = 1
    for extent in flatten(layout.shape):
        size *= extent
    return size <= MAX_SEARCH and 0 not in flatten(layout.stride)
