"""`swizzle`: the pointer swizzle (or the padding) that suits the accesses of a shared-memory tile."""

from __future__ import annotations

from dataclasses import replace

from layoutcheck.algebra.notation import parse_swizzle
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.opaque import OtherOperand, run_time_swizzle
from layoutcheck.copies.tiling import of_tiles
from layoutcheck.fixes import code
from layoutcheck.fixes.draft import Analysis, Draft, Drafts
from layoutcheck.fixes.edit import edited
from layoutcheck.machine.best_swizzle import BANK_SPAN_BYTES
from layoutcheck.rules.conflicts import conflicted, suggestion, under
from layoutcheck.sources.types import parse_memref

STRATEGY = "swizzle"

MOST_ALIGN_BYTES = 1024
"""The most that `SmemAllocator` gives: the DSL asserts it. A longer pattern can begin at any multiple of it."""

_NOTE = "every access of the tile must use the same pointer swizzle"


def propose(analysis: Analysis) -> Drafts:
    """A swizzle that keeps vectors whole, for a copy that goes wrong; that ends conflicts, for one that works."""
    yield from _without_conflicts(analysis)
    yield from _above_the_vector(analysis)
    yield from _onto_the_pointer(analysis)


def _without_conflicts(analysis: Analysis) -> Drafts:
    """What `best_swizzle` finds for this access; where the tile has other accesses, ask it about all of them."""
    side = conflicted(analysis)
    best = None if side is None else suggestion(analysis, side)
    tiling = analysis.copy.tiling
    if side is None or best is None or tiling is None:
        return
    old = tiling.side(side.side)
    new = replace(old, layout=best.layout, swizzle=best.swizzle)
    count = best.wavefronts
    if best.swizzle is not None:
        new = replace(new, align_bytes=max(begin_bytes(best.swizzle), old.proved_align_bytes))
        bases = range(0, best.swizzle.period, MOST_ALIGN_BYTES)
        count = max(under(analysis, side, best.swizzle, base) or side.wavefronts for base in bases)
    if count >= side.wavefronts:
        return
    tiles = tiling.with_side(side.side, new)
    made = of_tiles(analysis.copy, tiles.src, tiles.dst)
    if best.swizzle:
        what, note = f"the pointer swizzle {best.swizzle}", _NOTE
    elif best.padding:
        what, note = f"rows padded by {best.padding} elements", "the tile's allocation grows with it"
    else:
        what, note = "no pointer swizzle", _NOTE
    ends = (
        "no bank conflict is left"
        if count == side.ideal_wavefronts
        else "the fewest that any swizzle or padding leaves"
    )
    title = f"{what}: {count} wavefronts instead of {side.wavefronts}, {ends}"
    yield edited(STRATEGY, title, analysis.copy, made, note)


def begin_bytes(swizzle: Swizzle) -> int:
    """Where a tile under that swizzle begins: at the begin of its pattern, as far as the allocator can."""
    return min(swizzle.period, MOST_ALIGN_BYTES)


def _above_the_vector(analysis: Analysis) -> Drafts:
    """The same number of XORed bits, above the bytes of one access."""
    copy = analysis.copy
    if copy.tiling is not None:
        return
    base = (analysis.width_bytes - 1).bit_length() if analysis.width_bytes else 4
    for side in ("src", "dst"):
        old = copy.side(side)
        if old.swizzle is None or old.swizzle.bits == 0 or old.swizzle.base >= base:
            continue
        bits = old.swizzle.bits
        swizzle = Swizzle(bits, base, max(old.swizzle.shift, bits))
        align = max(begin_bytes(swizzle), old.proved_align_bytes)
        yield _moved(copy, side, replace(old, swizzle=swizzle, align_bytes=align), 1 << base)


def _onto_the_pointer(analysis: Analysis) -> Drafts:
    """The swizzle that stayed in a layout at a run-time offset, given to the pointer, which needs no offset.

    A layout's swizzle counts elements, a pointer's bytes; whole vectors have to stay together.
    """
    copy = analysis.copy
    for side in ("src", "dst"):
        view = copy.side(side)
        found = run_time_swizzle(view)
        if found is None or not isinstance(view, OtherOperand):
            continue
        bare = parse_memref(view.text.replace(f"{found} o ? o ", ""))
        old = parse_swizzle(found)
        element = max(1, bare.dtype.bits // 8).bit_length() - 1
        base = max(old.base + element, (analysis.width_bytes - 1).bit_length() if analysis.width_bytes else 4)
        bits = min(old.bits, BANK_SPAN_BYTES.bit_length() - 1 - base)
        if bits < 1:
            continue
        swizzle = Swizzle(bits, base, max(old.base + old.shift + element - base, bits))
        new = replace(bare, swizzle=swizzle, align_bytes=max(begin_bytes(swizzle), bare.proved_align_bytes))
        yield _moved(copy, side, new, 1 << base)


def _moved(copy: Copy, side: str, new: Memref, vector_bytes: int) -> Draft:
    allocated = code.allocation_code(new, f"{side}_tile.layout")
    return Draft(
        STRATEGY,
        f"{new.swizzle} on the pointer: it moves whole vectors of {vector_bytes} bytes",
        f"# {side}_tile: the tensor that {side} is a part of\n{side}_tile = {allocated}",
        (copy.with_side(side, new),),
        _NOTE,
    )
