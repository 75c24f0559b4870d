"""Every address that an operand of a copy has."""

from __future__ import annotations

import numpy as np

from layoutcheck.copies.addresses import AUX_APART, addresses, recast_offsets, swizzled, thread_offsets
from layoutcheck.copies.atom import WarpAtom
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.descriptor import DescriptorView
from layoutcheck.copies.lanes import lane_offsets
from layoutcheck.copies.moves import Intent
from layoutcheck.copies.offsets import IntArray, offsets


def footprint(intent: Intent, copy: Copy, side: str, base: int, unit: int) -> IntArray:
    """Every address of the operand, unordered: of the whole tile if it is in memory, else of all views.

    With the destination comes a second one.
    """
    found = _footprint(intent, copy, side, base, unit)
    if copy.aux is None or side != "dst":
        return found
    threads = lane_offsets(copy, side).reshape(-1)
    more = addresses(copy.aux, base + AUX_APART, offsets(copy.aux.layout)[:, None] + threads, unit)
    return np.concatenate([found.reshape(-1), more.reshape(-1)])


def _footprint(intent: Intent, copy: Copy, side: str, base: int, unit: int) -> IntArray:
    memref = copy.side(side)
    if copy.needs_map and memref.space != "smem":
        return intent.src if side == "src" else intent.dst  # the tensor may be of any size
    if copy.tiling and memref.space != "rmem":
        memref = copy.whole(side)
        return addresses(memref, base, offsets(memref.layout), unit)
    if memref.space == "tmem" or isinstance(memref, DescriptorView):
        return _named(intent, copy, side, base, unit)
    if isinstance(copy.atom, WarpAtom):
        threads = lane_offsets(copy, side).reshape(-1)
    else:
        threads = thread_offsets(copy, side)
    original = recast_offsets(memref)
    if original is not None and unit == 8:
        return swizzled(memref, original + base, unit)
    return addresses(memref, base, offsets(memref.layout)[:, None] + threads, unit)


def _named(intent: Intent, copy: Copy, side: str, base: int, unit: int) -> IntArray:
    """What a view of tensor memory or a descriptor names: all threads together."""
    asked = intent.src if side == "src" else intent.dst
    memref = copy.side(side)
    if isinstance(memref, DescriptorView):
        return asked
    return np.append(asked, addresses(memref, base, offsets(memref.layout), unit))
