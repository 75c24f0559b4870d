"""What a tiled copy's threads and values cover: of its tile, and of the tensors it is used on.

A tile is numbered colexicographically, as layout_tv numbers it. Counted is what `partition` really hands
out, so values that a too wide atom adds to a slice count too. For ldmatrix and stmatrix it is the register
side that counts: the row addresses of idle lanes are not data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from layoutcheck.algebra import inttuple
from layoutcheck.algebra.image import image
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.offsets import IntArray, TooLarge
from layoutcheck.copies.tiled import TiledCopy, tile_indices, tile_shape

MAX_PAIRS = 1 << 22  # (thread, value) pairs or tile elements enumerated at once


@dataclass(frozen=True, slots=True)
class Coverage:
    """How often the threads and values of a tiled copy cover the elements of its tile.

    `uncovered` elements belong to no thread, `shared` ones to several threads, `repeated` ones to several
    values of one thread; `outside` (thread, value) pairs lie past the tile.
    """

    uncovered: int
    shared: int
    repeated: int
    outside: int

    @property
    def bijective(self) -> bool:
        """Whether every element of the tile belongs to exactly one thread and value."""
        return self.uncovered == self.shared == self.repeated == self.outside == 0


def ragged(tiled: TiledCopy, memref: Memref) -> tuple[tuple[int, int, int], ...]:
    """(mode, extent, tile extent) of every mode of static extent that the tile does not divide."""
    out = []
    for i, (mode, step) in enumerate(zip(memref.layout.modes, tile_shape(tiled), strict=False)):
        extent = inttuple.product(mode.shape)
        if isinstance(extent, int) and extent % step:
            out.append((i, extent, step))
    return tuple(out)


def coverage(tiled: TiledCopy) -> Coverage:
    """How the threads and values of `tiled` cover its tile. Raises TooLarge beyond `MAX_PAIRS`."""
    tile = math.prod(tile_shape(tiled))
    named = tile_elements(tiled, tiled.atom.data_side)  # that are data
    values = named.shape[1]
    flat = named.reshape(-1)
    inside = (flat >= 0) & (flat < tile)
    counts = np.bincount(flat[inside], minlength=tile)

    order = np.flatnonzero(inside)
    order = order[np.argsort(flat[order], kind="stable")]  # by element, then by thread, then by value
    index, thread = flat[order], order // values
    again = index[1:] == index[:-1]
    other = again & (thread[1:] != thread[:-1])
    return Coverage(
        uncovered=int(np.count_nonzero(counts == 0)),
        shared=int(np.count_nonzero(np.bincount(index[1:][other]))),  # np.unique would load numpy.ma
        repeated=int(np.count_nonzero(np.bincount(index[1:][again & ~other]))),
        outside=int(np.count_nonzero(~inside)),
    )


def tile_elements(tiled: TiledCopy, side: str) -> IntArray:
    """The index into the tile of every [thread, value] of a side, as `partition` deals them out.

    Raises TooLarge beyond `MAX_PAIRS`.
    """
    tile = math.prod(tile_shape(tiled))
    thread, values = tile_indices(tiled, side)
    pairs = math.prod(inttuple.flatten((thread.shape, *(v.shape for v in values))))
    if max(pairs, tile) > MAX_PAIRS:
        raise TooLarge(
            f"a tile of {tile} elements and {pairs} thread values: too many to count ({MAX_PAIRS})"
        )
    one, more = image(values[0]), image(values[1])
    value: IntArray = (more[:, None] + one[None, :]).reshape(-1)
    return image(thread)[:, None] + value[None, :]
