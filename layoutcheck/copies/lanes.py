"""The lanes of a warp in the layouts of a copy whose atom is a warp's: ldmatrix, stmatrix, tcgen05.

One instruction sees one part of V (`atom_part`) and iterates over the rest; the atom's thread-value layouts
say which bits of the matrices each lane's values are.
"""

from __future__ import annotations

import numpy as np

from layoutcheck.algebra.layout import Layout
from layoutcheck.copies.addresses import thread_offsets
from layoutcheck.copies.atom import traits
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.offsets import (
    IntArray,
    has_inner_rest,
    limit,
    offsets,
    offsets_at,
    rest_modes,
    size,
    v_mode,
)
from layoutcheck.errors import InputError

LANE_APART_BYTES = 1 << 24  # between the rows of two lanes, where only one lane's view is known


def atom_part(layout: Layout) -> Layout:
    """What one instruction of a warp sees of V: V[0] where V is ((n, m)), else all of V."""
    return v_mode(layout)[0] if has_inner_rest(layout) else v_mode(layout)


def atom_parts(copy: Copy) -> tuple[Layout, Layout]:
    """The same of both sides of a copy."""
    parts = (v_mode(memref.layout) for memref in (copy.src, copy.dst))
    src, dst = (part[0] if copy.splits_v else part for part in parts)
    return src, dst


def matrix_iterations(copy: Copy) -> tuple[IntArray, IntArray]:
    """The offset of each iteration (over V[1], then the rest modes) on each side, in elements."""
    counts = [iterations_of(memref, copy.splits_v) for memref in (copy.src, copy.dst)]
    n = min(counts[0].size, counts[1].size)
    return counts[0][:n], counts[1][:n]


def iterations_of(memref: Memref, split: bool = True) -> IntArray:
    """The same of one operand; all of V is the atom without `split`."""
    inner = v_mode(memref.layout)[1] if split and has_inner_rest(memref.layout) else Layout.trusted(1, 0)
    rest = rest_modes(memref.layout)
    limit(size(inner) * size(rest))
    return (offsets(rest)[:, None] + offsets(inner)).reshape(-1)


def lane_offsets(copy: Copy, side: str, count: int | None = None) -> IntArray:
    """What each lane adds to the base, in elements: [warp, lane].

    Without a tiling one warp whose lanes' shared-memory rows lie far apart; lanes that the atom gives the
    same row (lanes 16 to 31 of an x2 form) bring the same address, as the partition of any tile makes them.
    """
    memref = copy.side(side)
    if copy.tiling is None and memref.space != "rmem":
        form = traits(copy.atom)
        rows = offsets_at((form.src if side == "src" else form.dst)[0], np.arange(32, dtype=np.int64))
        first = np.unique(rows, return_index=True, return_inverse=True)
        return (first[1][first[2]] * (LANE_APART_BYTES * 8 // memref.dtype.bits))[None]
    threads = thread_offsets(copy, side, count or (None if copy.tiling else 32)).reshape(-1)
    if threads.size % 32:
        raise InputError(f"{threads.size} threads are not whole warps, but this atom is a whole warp's")
    return threads.reshape(-1, 32)


def offsets_of_lanes(tv: Layout, values: IntArray) -> IntArray:
    """A (thread, value) layout at 32 threads and the given values: [lane, value]."""
    lanes = offsets_at(tv[0], np.arange(32, dtype=np.int64))
    return lanes[:, None] + offsets_at(tv[1], values)


def where_bits(tv: Layout) -> tuple[IntArray, IntArray]:
    """The inverse of a (thread, value) -> bit layout: lane and value of each bit, of the lowest lane."""
    values = np.arange(size(tv[1]), dtype=np.int64)
    table = offsets_of_lanes(tv, values)
    lane = np.full(int(table.max()) + 1, 0, dtype=np.int64)
    value = np.zeros_like(lane)
    for t in range(31, -1, -1):
        lane[table[t]] = t
        value[table[t]] = values
    return lane, value
