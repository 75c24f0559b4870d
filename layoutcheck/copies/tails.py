"""Elements past a tile's edge, and which of them a predicate can switch off.

Where the tiler does not divide the tile, partitions reach past it, and the kernel predicates the excess. What
the predicate will hold is the kernel's business; what it *can* guard is ours: one entry decides over all the
elements of an instruction, of one thread. So an instruction counts as switched off where every element that
its entry guards lies outside of the tile. Where only some do, neither value of the entry is right, and the
instruction is taken to run.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from layoutcheck.algebra.inttuple import flatten, unflatten
from layoutcheck.algebra.layout import Layout
from layoutcheck.copies.addresses import thread_offsets
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.moves import NOTHING, Access, Execution, Intent, Places
from layoutcheck.copies.offsets import IntArray, offsets, size
from layoutcheck.copies.plan import pred_of_elements
from layoutcheck.copies.tiled import partition

BoolArray = npt.NDArray[np.bool_]


def guarded(asked: Intent, done: Execution, copy: Copy) -> tuple[Intent, Execution]:
    """Intent and execution of the static `copy`, whose predicate keeps it off the excess as far as it can.

    Nobody asks for elements outside of the tile. Moves that are switched off go from NOTHING to NOTHING; a
    `cp.async` writes its zeros all the same.
    """
    if done.pred is None or copy.pred is None:
        return asked, done
    beyond = excess(copy, done.source.shape[1])
    entries = pred_of_elements(copy)
    if beyond is None or entries is None or entries.size != beyond.shape[0]:
        return asked, done
    return _within(asked, beyond), _switched(done, beyond, entries)


def _within(asked: Intent, beyond: BoolArray) -> Intent:
    if asked.whole or beyond.shape[1] < asked.source.shape[1]:
        return asked
    src = asked.src.copy()
    src[beyond[:, : src.shape[1]]] = NOTHING
    return replace(asked, source=Places.of(src))


def _switched(done: Execution, beyond: BoolArray, entries: IntArray) -> Execution:
    assert done.pred is not None
    off = np.zeros(done.source.shape[:2], dtype=np.bool_)
    for entry in np.unique(done.pred):
        guards = beyond[entries == entry]
        if guards.size:
            off[done.pred == entry] = guards.all(axis=0)
    src, dst = done.src.copy(), done.dst.copy()
    src[off] = NOTHING
    if not done.zero_fills:
        dst[off] = NOTHING
    return replace(
        done,
        source=Places.of(src),
        target=Places.of(dst),
        src_accesses=_without(done.src_accesses, off),
        dst_accesses=done.dst_accesses if done.zero_fills else _without(done.dst_accesses, off),
    )


def excess(copy: Copy, threads: int) -> BoolArray | None:
    """Which element of which thread, [element, thread], is outside of a whole tile; None where none is."""
    tiling = copy.tiling
    if tiling is None:
        return None
    found: BoolArray | None = None
    for side in ("src", "dst"):
        whole = tiling.side(side)
        modes = whole.layout.modes
        if not tiling.reaches_past(side):
            continue
        for i, mode in enumerate(modes):
            counted = whole.with_layout(_index_of(whole.layout, i))
            view = partition(tiling.tiled, side, counted).view.layout
            if size(view) != size(copy.side(side).layout):
                return None
            named = replace(copy, tiling=tiling.with_side(side, counted))
            index = offsets(view)[:, None] + thread_offsets(named, side, threads)
            past = index >= size(mode)
            found = past if found is None else found | past
    return None if found is None or not found.any() else found


def _index_of(layout: Layout, mode: int) -> Layout:
    """A layout of that shape whose value is the coordinate in one mode, counted column by column.

    Extents of 1 have a stride too: it is the step over the edge that counts.
    """
    if type(layout.shape) is not tuple:
        return Layout(layout.shape, 1)
    step, strides = 1, []
    for i, m in enumerate(layout.modes):
        leaves = []
        for extent in flatten(m.shape):
            leaves.append(step if i == mode else 0)
            step *= extent if i == mode else 1
        strides.append(unflatten(iter(leaves), m.shape))
    return Layout(layout.shape, tuple(strides))


def _without(accesses: tuple[Access, ...], off: BoolArray) -> tuple[Access, ...]:
    """The accesses, those switched off at address 0, which is a multiple of everything."""
    out = []
    for access in accesses:
        per = max(1, off.shape[0] // max(1, access.addresses.shape[0]))
        mask = off[::per][: access.addresses.shape[0]]
        out.append(access._replace(addresses=np.where(mask, 0, access.addresses)))
    return tuple(out)
