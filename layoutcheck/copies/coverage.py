"""What a tiled copy's threads and values cover: of its tile, and of the tensors it is used on.

A tile is numbered colexicographically, as layout_tv numbers it. Counted is what `partition` really hands
out, so values that a too wide atom adds to a slice count too. For ldmatrix and stmatrix it is the register
side that counts: the row addresses of idle lanes are not data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from layoutcheck.algebra import inttuple
from layoutcheck.algebra.divide import logical_divide
from layoutcheck.algebra.image import image
from layoutcheck.algebra.layout import Layout, idx2crd
from layoutcheck.algebra.simplify import coalesce
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.offsets import IntArray, TooLarge
from layoutcheck.copies.tiled import TiledCopy, tile_indices, tile_shape
from layoutcheck.errors import InputError

MAX_PAIRS = 1 << 22  # (thread, value) pairs or tile elements enumerated at once

Pair = tuple[int, int]  # (thread, value)
Coord = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Coverage:
    """Of a tile of `tile` elements: how often `threads` x `values` cover them.

    `uncovered` elements belong to no thread, `shared` ones to several threads, `repeated` ones to several
    values of one thread; `outside` (thread, value) pairs lie past the tile. Each comes with its first
    offender (None where there is none): a coordinate; a coordinate and its pairs; a pair and the index.
    """

    tile: int
    threads: int
    values: int
    uncovered: int
    first_uncovered: Coord | None
    shared: int
    first_shared: tuple[Coord, Pair, Pair] | None
    repeated: int
    first_repeated: tuple[Coord, Pair, Pair] | None
    outside: int
    first_outside: tuple[Pair, int] | None

    @property
    def bijective(self) -> bool:
        """Whether every element of the tile belongs to exactly one thread and value."""
        return self.uncovered == self.shared == self.repeated == self.outside == 0


@dataclass(frozen=True, slots=True)
class Outside:
    """Elements of a partitioned tensor that lie outside its shape, over all threads, values and tiles.

    `first` is (thread, value), the rest coordinate (which tile), and the offending coordinate by mode.
    """

    count: int
    total: int
    first: tuple[Pair, Coord, Coord] | None


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
    shape = tile_shape(tiled)
    tile = math.prod(shape)
    named = _named(tiled)
    threads, values = named.shape
    flat = named.reshape(-1)
    inside = (flat >= 0) & (flat < tile)
    counts = np.bincount(flat[inside], minlength=tile)

    order = np.flatnonzero(inside)
    order = order[np.argsort(flat[order], kind="stable")]  # by element, then by thread, then by value
    index, thread = flat[order], order // values
    again = index[1:] == index[:-1]
    other = again & (thread[1:] != thread[:-1])
    same = again & ~other

    def first(where: IntArray) -> tuple[Coord, Pair, Pair] | None:
        if not where.any():
            return None
        i = int(np.argmax(where))
        a, b = int(order[i]), int(order[i + 1])
        return idx2crd(int(index[i]), shape), (a // values, a % values), (b // values, b % values)

    missing = np.flatnonzero(counts == 0)
    past = np.flatnonzero(~inside)
    return Coverage(
        tile=tile,
        threads=threads,
        values=values,
        uncovered=int(missing.size),
        first_uncovered=idx2crd(int(missing[0]), shape) if missing.size else None,
        shared=int(np.count_nonzero(np.bincount(index[1:][other]))),  # np.unique would load numpy.ma
        first_shared=first(other),
        repeated=int(np.count_nonzero(np.bincount(index[1:][same]))),
        first_repeated=first(same),
        outside=int(past.size),
        first_outside=((int(past[0]) // values, int(past[0]) % values), int(flat[past[0]]))
        if past.size
        else None,
    )


def outside(tiled: TiledCopy, memref: Memref) -> Outside | None:
    """Which elements of `memref`'s partitions lie outside its shape; None where run-time extents decide.

    Raises TooLarge beyond `MAX_PAIRS`, InputError where `memref` cannot be partitioned.
    """
    modes = memref.layout.modes
    if not all(inttuple.is_static(m.shape) for m in modes):
        return None
    shape = tile_shape(tiled)
    if len(shape) > len(modes):
        raise InputError(f"{memref.layout} has fewer modes than the tiler")
    named = _named(tiled)
    by_mode = []  # [coordinate in the tile, tile]: whether inside
    at = named.reshape(-1)
    coords = []
    for i, extent in enumerate(shape):
        c = at if i == len(shape) - 1 else at % extent
        at = at // extent
        coords.append(c)
        by_mode.append(_inside(modes[i], tiled.tiler[i], int(c.max()) + 1))
    ok = [mode.sum(axis=1)[c] for mode, c in zip(by_mode, coords, strict=True)]
    steps = [mode.shape[1] for mode in by_mode]
    others = math.prod(int(np.prod(inttuple.flatten(m.shape))) for m in modes[len(shape) :])
    total = named.size * math.prod(steps) * others
    good = np.ones(named.size, dtype=np.int64)
    for k in ok:
        good *= k
    bad = np.flatnonzero(good < math.prod(steps))
    count = total - int(good.sum()) * others
    if not bad.size:
        return Outside(0, total, None)
    pair = int(bad[0])
    rest = [0] * len(steps)
    for i, mode in enumerate(by_mode):
        out = np.flatnonzero(~mode[coords[i][pair]])
        if out.size:
            rest[i] = int(out[0])
            break
    coord = tuple(int(c[pair]) + r * t for c, r, t in zip(coords, rest, shape, strict=True))
    return Outside(count, total, ((pair // named.shape[1], pair % named.shape[1]), tuple(rest), coord))


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


def _named(tiled: TiledCopy) -> IntArray:
    """The index into the tile of every [thread, value] that is data."""
    return tile_elements(tiled, tiled.atom.data_side)


def _inside(mode: Layout, step: Layout, reach: int) -> npt.NDArray[np.bool_]:
    """[coordinate in the tile, tile]: whether it is an element of the mode, for `reach` coordinates.

    The mode's leaves get strides far enough apart to read every leaf's own coordinate off the offset.
    """
    extents = inttuple.flatten(coalesce(mode).shape)
    extent = math.prod(extents)
    tile = int(np.prod(inttuple.flatten(step.shape)))
    if max(reach, 1) * -(-extent // tile) > MAX_PAIRS:
        raise TooLarge(f"a mode of {extent} elements in tiles of {tile}: too many to count ({MAX_PAIRS})")
    radix = 1 << (4 * (max(extents) + reach + tile)).bit_length()
    if radix ** len(extents) >= 1 << 62:
        raise TooLarge(f"{mode} has too many and too large modes to count what lies outside of them")
    apart = Layout.trusted(tuple(extents), tuple(radix**i for i in range(len(extents))))
    divided = logical_divide(apart, step, strict=False)
    offsets = _at(divided[0], np.arange(reach))[:, None] + image(divided[1])[None, :]
    inside: npt.NDArray[np.bool_] = np.ones(offsets.shape, dtype=np.bool_)
    for n in extents[:-1]:
        inside &= offsets % radix < n
        offsets = offsets // radix
    inside &= offsets < extents[-1]
    return inside


def _at(layout: Layout, index: IntArray) -> IntArray:
    """The layout's offsets at any indices; the last mode takes the excess."""
    extents, strides = inttuple.flatten(layout.shape), inttuple.flatten(layout.stride)
    out = np.zeros_like(index)
    for n, d in zip(extents[:-1], strides[:-1], strict=True):
        out = out + index % n * d
        index = index // n
    return out + index * int(strides[-1])
