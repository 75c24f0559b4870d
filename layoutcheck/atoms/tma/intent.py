"""What a TMA copy of whole tensors is asked to move, as addresses; of other operands see `views`."""

from __future__ import annotations

import numpy as np

from layoutcheck.algebra.inttuple import flatten, wrap
from layoutcheck.atoms.tma import TmaCopy
from layoutcheck.atoms.tma.execution import units_of
from layoutcheck.atoms.tma.landing import with_gaps
from layoutcheck.atoms.tma.plan import gmem_side, smem_side, tile_leaves, tile_of
from layoutcheck.atoms.tma.rows import follow_index
from layoutcheck.atoms.tma.views import view_intent
from layoutcheck.copies.addresses import addresses, swizzled
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.moves import NOTHING, Intent, Places
from layoutcheck.copies.offsets import offsets
from layoutcheck.errors import InputError


def intent(copy: Copy, _atom: TmaCopy, src_base: int, dst_base: int) -> Intent:
    """The intent of a static TMA copy. Raises InputError for operands that are not modelled."""
    if copy.tma is None:
        return view_intent(copy, src_base, dst_base)
    gmem, smem = copy.side(gmem_side(copy)), copy.side(smem_side(copy))
    unit, per = units_of(gmem)
    load = gmem_side(copy) == "src"
    gmem_base, smem_base = (src_base, dst_base) if load else (dst_base, src_base)
    leaves, inside = tile_leaves(gmem.layout, tile_of(copy))
    if copy.index is not None:
        leaves = follow_index(copy, gmem, leaves)
        extents = flatten(wrap(gmem.layout.shape))
        inside = np.all([leaf < n for leaf, n in zip(leaves, extents, strict=True)], axis=0)
    strides = flatten(wrap(gmem.layout.stride))
    at = sum((leaf * d for leaf, d in zip(leaves, strides, strict=True)), np.zeros(inside.size, np.int64))
    there = (gmem_base * (8 // unit) + at * per)[:, None] + np.arange(per, dtype=np.int64)
    if gmem.dtype.bits in (4, 6) and smem.dtype.bits in (6, 8):
        here = with_gaps(offsets(smem.layout), unit, per)[:, None] + np.arange(per, dtype=np.int64)
        here = swizzled(smem, here + smem_base * (8 // unit), unit)
    elif smem.dtype.bits == gmem.dtype.bits:
        here = addresses(smem, smem_base, offsets(smem.layout), unit)
    else:
        raise InputError(f"{gmem.dtype} and {smem.dtype} differ in width")
    if load:
        there[~inside] = NOTHING
        return Intent(Places.of(there[:, None, :]), Places.of(here[:, None, :]), unit, whole=True, zeros=True)
    return Intent(Places.of(here[inside][:, None, :]), Places.of(there[inside][:, None, :]), unit, whole=True)
