"""`match-layout`: give the destination tile the source's mode order, so that one vector is one run on both sides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from layoutcheck.analysis.vector import NAMES
from layoutcheck.copies.atom import ThreadAtom
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.vectors import contiguous_mode
from layoutcheck.fixes.draft import ALLOCATED, Analysis, Drafts, compact_like
from layoutcheck.fixes.edit import OTHER, Woven, edited, rewoven, with_tensors

STRATEGY = "match-layout"


def propose(analysis: Analysis) -> Drafts:
    """Relayout the side that the kernel itself allocates: shared memory or registers."""
    copy = analysis.copy
    side = own_side(copy)
    if side is None:
        return
    own, other = analysis.copy.whole(side), analysis.copy.whole(OTHER[side])
    layout = compact_like(other.layout, own.layout.shape)
    if layout is None or layout == own.layout:
        return
    note = (
        "the tile's reader then sees the other major order"
        if turns(own, own.with_layout(layout))
        else ALLOCATED
    )
    title = f"lay the {NAMES[side]} out as the {NAMES[OTHER[side]]} is, {layout}"
    for made in _relaid(copy, side, own.with_layout(layout)):
        yield edited(STRATEGY, title, copy, made, note)


def own_side(copy: Copy) -> str | None:
    """The side that the kernel allocates; None where both are somebody else's, or the atom chooses its width."""
    if not isinstance(copy.atom, ThreadAtom) or not copy.atom.width_bits:
        return None
    spaces = [copy.dst.space, copy.src.space]
    if copy.tiling is not None and "rmem" in spaces:  # registers follow their threads
        return None
    side = "dst" if spaces[0] in ("smem", "rmem") else "src"
    return side if copy.side(side).space in ("smem", "rmem") else None


def turns(old: Memref, new: Memref) -> bool:
    """Whether another mode is the contiguous one."""
    return contiguous_mode(old.layout) != contiguous_mode(new.layout)


def _relaid(copy: Copy, side: str, new: Memref) -> Iterator[Copy | Woven]:
    """The copy of the tile laid out anew: by threads along it, then by those that there are."""
    if copy.tiling is None:
        bare = replace(new, swizzle=None) if new.space == "rmem" else new
        yield copy.with_side(side, bare)
        return
    assert isinstance(copy.atom, ThreadAtom)
    src, dst = (new if one == side else copy.whole(one) for one in ("src", "dst"))
    woven = rewoven(copy, copy.atom, along=OTHER[side], **{side: new})  # type: ignore[arg-type]
    if woven is not None:
        yield woven
    yield with_tensors(copy, src, dst)
