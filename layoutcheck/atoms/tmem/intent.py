"""Intent of copies to and from tensor memory.

One side of tcgen05.ld and st is a rectangle that all 32 threads name together: its element i is the one that
the atom's thread-value layouts call i. Where the view of tensor memory has as many elements as the registers
of one thread, it is a row: thread t means its own lane's (32-lane shapes only).
"""

from __future__ import annotations

import numpy as np

from layoutcheck.atoms.tmem import WARP_LANES, TmemCopy
from layoutcheck.atoms.tmem.addresses import LANE_BYTES
from layoutcheck.copies.addresses import unit_bits
from layoutcheck.copies.atom import traits
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.lanes import atom_part, lane_offsets, matrix_iterations, offsets_of_lanes
from layoutcheck.copies.moves import NOTHING, Intent, Places
from layoutcheck.copies.offsets import limit, offsets_at, size


def intent(copy: Copy, atom: TmemCopy, src_base: int, dst_base: int) -> Intent:
    """Element v of a thread's registers and the element of the rectangle that has the same bits."""
    unit = unit_bits(copy)
    load = atom.loads
    bits = copy.src.dtype.bits
    view, registers = (copy.src, copy.dst) if load else (copy.dst, copy.src)
    view_base, register_base = (src_base, dst_base) if load else (dst_base, src_base)
    form = traits(atom)
    rectangle, fragment = (form.src, form.dst) if load else (form.dst, form.src)
    whole, own = atom_part(view.layout), atom_part(registers.layout)
    count = size(fragment[1]) // bits
    given = min(size(own), count)
    value = np.arange(given, dtype=np.int64)
    if is_row(copy, atom):
        step = LANE_BYTES * 8 // bits
        at = offsets_at(whole, value)[:, None] + np.arange(WARP_LANES, dtype=np.int64) * step
        known = np.ones(at.shape, dtype=np.bool_)
        unmatched = abs(size(own) - count)
    else:
        named = offsets_of_lanes(fragment, value * bits).T // bits  # value, lane -> element of the rectangle
        known = named < size(whole)
        at = offsets_at(whole, named)
        unmatched = abs(size(own) - count) + abs(size(whole) - size(rectangle[1]) // bits)
    iterations = matrix_iterations(copy)
    of_view, of_registers = iterations if load else iterations[::-1]
    side = ("src", "dst") if load else ("dst", "src")
    warps = lane_offsets(copy, side[0])[:, :1]  # the same for all lanes of a warp
    lanes = lane_offsets(copy, side[1])
    limit(of_view.size * given * lanes.size * max(1, bits // 8))
    # iteration, value, warp, lane
    in_view = of_view[:, None, None, None] + at[:, None, :] + warps
    offsets_of = offsets_at(own, value)[:, None, None] + lanes
    in_registers = of_registers[:, None, None, None] + offsets_of
    sides = []
    for elements, base in ((in_view, view_base), (in_registers, register_base)):
        flat = elements.reshape(-1, lanes.size)
        per = bits // unit
        sides.append(flat[:, :, None] * per + base * (8 // unit) + np.arange(per, dtype=np.int64))
    if not known.all():
        missing = np.broadcast_to(known[None, :, None, :], in_view.shape).reshape(-1, lanes.size)
        sides[0][~missing] = NOTHING
    if not load:
        sides = sides[::-1]
        sides[0] = np.where(sides[1] == NOTHING, NOTHING, sides[0])
    return Intent(Places.of(sides[0]), Places.of(sides[1]), unit, None, unmatched)


def is_row(copy: Copy, atom: TmemCopy) -> bool:
    """Whether the view of tensor memory names one lane's elements: a row instead of the rectangle."""
    view, registers = (copy.src, copy.dst) if atom.loads else (copy.dst, copy.src)
    return atom.lanes == WARP_LANES and size(atom_part(view.layout)) == size(atom_part(registers.layout))
