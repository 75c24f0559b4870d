"""Blocks of an operand's tile whose rows and k are exchanged, as ldmatrix does with the wrong `transpose`."""

from __future__ import annotations

import numpy as np

from layoutcheck.provenance.refs import Array


def exchanged(coordinates: Array, modes: Array, own: Array, every: Array) -> tuple[int, int, int] | None:
    """(group, row, k) of the first element beyond a block, where the blocks of a tile are exchanged.

    Along one mode k runs within blocks that rows step over, along the other rows run within blocks that k
    steps over: a transpose of all elements in place of that within each block, or the other way round.
    Where all rows are in one block, the first mode is that of the rows of other sums, the other that of k:
    `own` (by group and mode) and `every` (by mode) are the extents of this sum along k, and of all. Patches
    of an image, which k steps through along both of its modes, are another thing, as are windows.
    """
    for g, tile in enumerate(coordinates[..., modes]):
        depth, rows = tile[0] - tile[0, 0], tile[:, 0] - tile[0, 0]
        for one in (0, 1):
            within, beyond = depth[:, one], depth[:, 1 - one]
            if not _steps_over(rows[:, 1 - one], beyond):
                continue
            block, next_ = int(within.max()) + 1, int(rows[:, 1 - one].max()) + 1
            restarts = (within == np.arange(len(within)) % block).all()
            adjacent = set(np.unique(beyond).tolist()) == {0, next_} and len(rows) == next_
            across = own[g, modes[one]] == block < every[modes[one]]
            more = not rows[:, one].any() and across and own[g, modes[1 - one]] >= 2 * next_
            if _steps_over(within, rows[:, one]) or (restarts and block > 1 and adjacent and more):
                return g, 0, int(np.argmax(beyond > 0))
    return None


def _steps_over(inner: Array, outer: Array) -> bool:
    """Whether both vary, and the steps of `outer` go beyond all of `inner`."""
    both = np.concatenate([inner, outer])
    return bool((both >= 0).all() and inner.any() and outer.any() and inner.max() < outer[outer > 0].min())


def distinct(labels: Array) -> bool:
    """Whether no element of an operand comes twice in one instruction."""
    for group in labels:
        kept = group[group != 0]
        if np.unique(kept).size != kept.size:
            return False
    return True
