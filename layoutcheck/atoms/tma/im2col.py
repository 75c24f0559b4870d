"""im2col: which activations a tile of a convolution's matrix is, and how the DSL cuts it into boxes.

The activations are a tensor ((W, H, D, N), C), or (C, (W, H, D, N)), of one to three spatial modes. The
matrix that a tile is cut from has a row for every place of the filter, (Q, P, Z, N), and a column for every
channel under every tap of it, (C, S, R, T). Row (q, p, z, n) and column (c, s, r, t) hold the activation c at
w = lower + q * stride + lower_srt + s * dilation, likewise h and d; zero outside the tensor.

One instruction takes `pixels` rows of `channels` columns: pixels one after the other within the corners of
the tensor map, all under one tap, which the instruction's offsets name (PTX ISA, tensor im2col mode). What
make_im2col_tma_atom makes of it was measured on the DSL (tests/conformance/test_im2col.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from layoutcheck.algebra.basis import Basis
from layoutcheck.algebra.composition import composition
from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.inttuple import flatten, wrap
from layoutcheck.algebra.inverse import right_inverse
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.modes import make_identity_layout
from layoutcheck.algebra.simplify import coalesce
from layoutcheck.atoms.tma.descriptor import CORNER_BITS, MOST_CHANNELS, MOST_PIXELS, Descriptor
from layoutcheck.copies.copy import Im2col, TmaTile
from layoutcheck.copies.offsets import IntArray
from layoutcheck.errors import InputError

_FAR = 1 << 40


class NoPixelBox(InputError):
    """The DSL finds no box: the shared layout has no run of channels followed by one of pixels."""


class NoMatrix(InputError):
    """Corners, padding and strides leave no place for the filter, or no tap, along some dimension."""


class NoDivision(InputError):
    """The tile's columns are no whole taps, and no part of one."""


class Matrix(NamedTuple):
    """The matrix of a tensor, as far as its extents are static.

    `channel` is the top-level mode of the tensor with the channels; `leaves` are its leaf modes in the order
    C, W, H, D, N. `rows` are (Q, P, Z, N), `columns` (C, S, R, T).
    """

    channel: int
    leaves: tuple[int, ...]
    rows: tuple[Any, ...]
    columns: tuple[Any, ...]

    @property
    def spatial(self) -> int:
        """Spatial dimensions, 1 to 3."""
        return len(self.rows) - 1


def channel_mode(gmem: Layout) -> int:
    """Which of the tensor's two modes has the channels: the one of a single leaf. Raises InputError."""
    counts = [len(flatten((mode,))) for mode in wrap(gmem.shape)]
    if len(counts) != 2 or min(counts) != 1 or not 3 <= sum(counts) <= 5:
        raise InputError(
            f"{gmem} is not a tensor of activations", expected="((w,h,d,n),c), with one to three of w, h, d"
        )
    return counts.index(1)


def matrix(gmem: Layout, im2col: Im2col, channel: int) -> Matrix:
    """The matrix, its channels those of mode `channel`. Raises NoMatrix, InputError for no activations."""
    shape = wrap(gmem.shape)
    counts = [len(flatten((mode,))) for mode in shape]
    first = sum(counts[:channel])
    own = list(range(first, first + counts[channel]))
    leaves = (*own, *(i for i in range(sum(counts)) if i not in own))
    extents = flatten(shape)
    dims = [extents[leaf] for leaf in leaves]
    spatial = len(dims) - 2
    if im2col.spatial != spatial:
        raise InputError(f"{im2col.spatial} corners for {spatial} spatial modes")
    rows, columns = [], [dims[0]]
    for i in range(spatial):
        lower, upper, step = im2col.lower_corner[i], im2col.upper_corner[i], im2col.stride[i]
        extent = dims[1 + i]
        rows.append(
            Dynamic() if isinstance(extent, Dynamic) else _quotient(extent + upper - lower - 1, step) + 1
        )
        away = im2col.dilation[i]
        room = im2col.upper_padding[i] - upper if away > 0 else lower - im2col.lower_padding[i]
        columns.append(1 + _quotient(room, away))
    rows.append(dims[-1])
    found = Matrix(channel, leaves, tuple(rows), tuple(columns))
    if any(isinstance(n, int) and n <= 0 for n in (*rows, *columns)):
        raise NoMatrix(
            f"the filter has {tuple(columns[1:])} taps at {tuple(rows[:-1])} places of the tensor",
            expected="at least one of either along each dimension",
        )
    return found


def _quotient(value: int, by: int) -> int:
    """Towards zero, as the compiler divides."""
    return abs(value) // abs(by) * (1 if (value < 0) == (by < 0) else -1)


def pixel_box(smem: Layout, tiler: tuple[int, ...]) -> tuple[int, int, int]:
    """(top-level mode of the channels, channels, pixels) of a box. Raises NoPixelBox."""
    tile = composition(make_identity_layout((_FAR,) * len(tiler)), tuple(Layout(n, 1) for n in tiler))
    run = coalesce(composition(tile, right_inverse(smem)))
    modes = []
    for extent, stride in zip(wrap(run.shape), wrap(run.stride), strict=True):
        if not isinstance(stride, Basis) or stride.value != 1:
            break
        modes.append((stride.path[0], extent))
    if len(modes) < 2 or modes[0][1] > MOST_CHANNELS or modes[1][1] > MOST_PIXELS:
        raise NoPixelBox(
            f"shared memory {smem} has no box: {' x '.join(str(extent) for _, extent in modes) or 'no run'}",
            expected=f"channels, at most {MOST_CHANNELS}, then pixels, at most {MOST_PIXELS}, without gaps",
        )
    return modes[0][0], modes[0][1], modes[1][1]


def taken(columns: Sequence[Any], count: int) -> tuple[int, ...]:
    """How many channels and taps along each dimension `count` columns are. Raises NoDivision."""
    out, left = [], count
    for i, extent in enumerate(columns):
        if left == 1 or i == len(columns) - 1:
            out.append(left)
            left = 1
        elif isinstance(extent, Dynamic):
            raise NoDivision(f"a tile of {count} columns over a run-time number of channels")
        elif left <= extent:
            out.append(left)
            left = 1
        elif left % extent:
            raise NoDivision(f"{count} columns are not a whole number of taps of {columns[0]} channels")
        else:
            out.append(extent)
            left //= extent
    return tuple(out)


def divides(take: tuple[int, ...], channels: int) -> bool:
    """Whether a tile's columns fall into boxes of that many, each mode whole or evenly cut."""
    left = channels
    for extent in take:
        if left <= extent:
            return extent % left == 0
        if left % extent:
            return False
        left //= extent
    return left == 1


def static_place(gmem: Layout, im2col: Im2col, tiler: tuple[int, ...], channel: int) -> bool:
    """Whether the tensor has one tile alone, so that its coordinate is static even in a run-time index."""
    found = matrix(gmem, im2col, channel)
    if any(isinstance(n, Dynamic) for n in (*found.rows, *found.columns)):
        return False
    take = taken(found.columns, tiler[channel])
    return math.prod(found.rows) <= tiler[1 - channel] and all(
        n <= t for n, t in zip(found.columns, take, strict=True)
    )


def place(found: Matrix, im2col: Im2col, tile: TmaTile, index: IntArray) -> tuple[IntArray, IntArray]:
    """(coordinates C, W, H, D, N without the filter's offsets, offsets W, H, D) of elements of the tile."""
    row_mode = 1 - found.channel
    local = (index % tile.tiler[0], index // tile.tiler[0])
    coord = tile.coord or (0, 0)
    row = coord[row_mode] * tile.tiler[row_mode] + local[row_mode]
    take = taken(found.columns, tile.tiler[found.channel])
    rest = [-(-extent // n) for extent, n in zip(found.columns, take, strict=True)]
    if coord[found.channel] >= math.prod(rest):
        raise InputError(f"tile {coord} of a matrix that is {math.prod(rest)} tiles wide")
    column, number = local[found.channel], np.full(index.size, coord[found.channel], dtype=np.int64)
    at: list[IntArray] = []
    for i, (n, tiles) in enumerate(zip(take, rest, strict=True)):
        last = i == len(take) - 1
        at.append((number if last else number % tiles) * n + (column if last else column % n))
        number, column = number // tiles, column // n
    coords = [at[0]]
    for i in range(found.spatial):
        coords.append(im2col.lower_corner[i] + row % found.rows[i] * im2col.stride[i])
        row = row // found.rows[i]
    coords.append(row)
    offsets = [im2col.lower_srt[i] + at[1 + i] * im2col.dilation[i] for i in range(found.spatial)]
    return np.stack(coords, axis=1), np.stack(offsets, axis=1)


def reached(offsets: IntArray) -> IntArray:
    """The offsets that the machine sees: one number, so that what has no room is added to the next one."""
    spatial = offsets.shape[1]
    bits = CORNER_BITS[spatial]
    packed = (offsets << (bits * np.arange(spatial, dtype=np.int64))).sum(axis=1)
    return np.stack([(packed >> (bits * i)) & ((1 << bits) - 1) for i in range(spatial)], axis=1)


def pixel_range(map_: Descriptor) -> list[tuple[int, int]]:
    """(first, last) coordinate of pixels along each spatial dimension, the filter's offsets aside."""
    assert map_.corners is not None
    return [
        (lower, map_.dims[1 + i] - 1 + upper)
        for i, (lower, upper) in enumerate(zip(map_.corners.lower, map_.corners.upper, strict=True))
    ]


def begins_outside(map_: Descriptor, start: IntArray) -> bool:
    """Whether an instruction begins outside the corners, as any does where they enclose nothing."""
    ranges = pixel_range(map_)
    return any(((start[:, 1 + i] < a) | (start[:, 1 + i] > b)).any() for i, (a, b) in enumerate(ranges))


def traversed(map_: Descriptor, start: IntArray, offsets: IntArray) -> IntArray:
    """Coordinates [box, element, dimension] that instructions of a map take, which begin at `start`.

    W goes on by its element stride up to the upper corner, then begins again at the lower one as H goes on,
    and so on to N; the filter's offsets, as far as there is room for them, are added to each. Measured on an
    H200 (docs/evidence/tma_im2col.json).
    """
    channels, pixels = map_.box
    spatial = map_.rank - 2
    ranges = pixel_range(map_)
    at = start[:, 1:].copy()
    rows = np.empty((start.shape[0], pixels, spatial + 1), dtype=np.int64)
    for pixel in range(pixels):
        rows[:, pixel] = at
        more = np.ones(start.shape[0], dtype=np.bool_)
        for i in range(spatial):
            at[:, i] += more * map_.element_strides[1 + i]
            more = more & (at[:, i] > ranges[i][1])
            at[:, i] = np.where(more, ranges[i][0], at[:, i])
        at[:, spatial] += more * map_.element_strides[1 + spatial]
    rows[:, :, :spatial] += reached(offsets)[:, None, :]
    out = np.empty((start.shape[0], pixels, channels, map_.rank), dtype=np.int64)
    out[..., 0] = start[:, None, None, 0] + np.arange(channels, dtype=np.int64)
    out[..., 1:] = rows[:, :, None, :]
    return out.reshape(start.shape[0], math.prod(map_.box), map_.rank)
