"""gather4 and scatter4: TMA copies of four rows an instruction, which a tensor of indices names.

The tensor map is an ordinary one of two dimensions whose box is a single row. `tma_partition` cuts shared
memory, the coordinates and the index tensor alike, in blocks of four boxes. Instruction k takes its column
from the coordinate at which block k begins, and its rows from the next four distinct indices of the whole
tile. The two need not agree: a tile whose rows are longer than the box, or are not a multiple of four, gets
other rows than its layouts say. Measured on the DSL and compared with it over random copies
(tests/conformance/test_tma_rows.py).

What the instruction does is the PTX ISA's word ("tile::scatter4 and tile::gather4 modes"): four boxes of one
row each, packed as a tile of four rows, all else as in tiled mode. No GPU that has it was at hand.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from layoutcheck.algebra.complement import complement
from layoutcheck.algebra.composition import composition
from layoutcheck.algebra.divide import logical_divide
from layoutcheck.algebra.inttuple import flatten, wrap
from layoutcheck.algebra.inverse import right_inverse
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.modes import make_layout
from layoutcheck.algebra.simplify import coalesce
from layoutcheck.atoms.tma import ROWS
from layoutcheck.atoms.tma.basis import Side
from layoutcheck.atoms.tma.descriptor import Descriptor
from layoutcheck.copies.copy import Copy, TmaTile
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.offsets import CompilerFails, IntArray, limit, offsets, offsets_at, size
from layoutcheck.errors import InputError


def one_row(map_: Descriptor) -> Descriptor:
    """The tensor map of a tile with its box cut to a row. Raises InputError for other than two dimensions."""
    if map_.rank != 2:
        raise InputError(f"gather4 and scatter4 need a tensor map of two dimensions, not {map_.rank}")
    return replace(map_, box=(map_.box[0], 1))


def row_sides(sides: tuple[Side, ...]) -> tuple[Side, ...]:
    """The dimensions of the tensor map, of which the box has one row."""
    return (sides[0], *(Side(1, side.modes, side.of) for side in sides[1:]))


def blocks(smem: Layout, count: int) -> Layout:
    """How `tma_partition` walks a tile: (an instruction's elements, instructions) to the tile's elements."""
    inverse = right_inverse(smem)
    whole, run = size(smem), size(inverse)
    limit(whole)
    if run != whole:
        rest = complement(inverse, whole)
        inverse = make_layout(inverse, rest)
    return logical_divide(inverse, Layout(count, 1), strict=False)


def starts_of(walk: Layout) -> IntArray:
    """Where every instruction's block begins, of a layout of `blocks` or one composed with it."""
    return offsets(Layout.trusted(walk.shape[1], walk.stride[1]))


def block_coords(tile: TmaTile, walk: Layout) -> list[IntArray]:
    """The tensor's coordinates, mode by mode, at which every instruction's block begins."""
    apart = 1 << 24  # the steps along the two modes, in one number
    steps = Layout(tile.tiler, (1, apart))
    at = starts_of(composition(steps, walk, strict=False))
    return [o + part for o, part in zip(tile.origin, (at % apart, at // apart), strict=True)]


def tile_index(index: Memref, tiler: tuple[int, ...], origin: tuple[int, ...]) -> tuple[Layout, int]:
    """The tile's part of an index tensor, and the offset of its first element.

    Raises InputError for index tensors of nested or run-time modes.
    """
    strides = wrap(index.layout.stride)
    if len(strides) != len(tiler) or not all(type(d) is int for d in strides):
        raise InputError(f"an index tensor {index.layout} is not modelled")
    part = Layout(tiler, tuple(0 if n == 1 else d for n, d in zip(tiler, strides, strict=True)))
    return part, sum(o * d for o, d in zip(origin, strides, strict=True))


def fours(index: Layout, first: int, instructions: int) -> IntArray:
    """The offsets in the index tensor of every instruction's four rows: [instruction, row].

    `index` is the index tensor as the copy walks it. Its distinct elements are taken in whole fours, from the
    beginning again when those run out; where they are fewer than four, what follows them in memory is taken.
    """
    leaves = [
        (n, d)
        for n, d in zip(flatten((index.shape,)), flatten((index.stride,)), strict=True)
        if d != 0 and n != 1
    ]
    if not leaves:
        return np.full((instructions, ROWS), first, dtype=np.int64)
    distinct = coalesce(Layout(tuple(n for n, _ in leaves), tuple(d for _, d in leaves)))
    groups = size(distinct) // ROWS or instructions
    at = (np.arange(instructions) % groups * ROWS)[:, None] + np.arange(ROWS)
    return first + offsets_at(distinct, at)


def index_rows(copy: Copy, index: Memref, walk: Layout) -> IntArray:
    """Of a copy between whole tensors: where in the index tensor every instruction's four rows stand."""
    tile = copy.tma
    assert tile is not None
    part, first = tile_index(index, tile.tiler, tile.origin)
    walked = composition(part, walk, strict=False)
    return fours(walked, first, math.prod(flatten((walk.shape[1],))))


def row_numbers(copy: Copy, index: IntArray) -> IntArray:
    """A row for every offset in the index tensor, all different, some beyond the tensor's last.

    Which rows the indices name is not known before run time: these stand for them. Raises InputError for
    index tensors of run-time layout.
    """
    assert copy.index is not None
    gmem = copy.src if copy.atom is not None and copy.src.space == "gmem" else copy.dst
    extents = flatten((copy.index.layout.shape, gmem.layout.shape))
    strides = flatten(wrap(copy.index.layout.stride))
    if not all(type(n) is int for n in (*extents, *strides)):
        raise InputError(f"an index tensor {copy.index.layout} is not modelled")
    reach = sum((n - 1) * abs(d) for n, d in zip(extents, strides, strict=False))
    most = max(*extents, reach + 1)
    step = next(n for n in range(max(1, most * 5 // 8), 2 * most + 2) if math.gcd(n, most) == 1)
    return (index * step + 1) % most


def refuse_unlowered(index: Memref) -> None:
    """Raises CompilerFails for an index tensor that the verifier takes and code generation does not."""
    if index.space not in ("gmem", "smem", "rmem"):
        raise CompilerFails(
            f"code generation expects the index tensor in gmem, smem or rmem, but got '{index.space}'"
        )
    if index.dtype.name.startswith("ui"):
        raise CompilerFails(f"code generation fails on indices of {index.dtype}: LLVM translation failed")


def indexed_mode(copy: Copy, gmem: Memref) -> int:
    """The mode of the tensor that the index replaces: where the index tensor is no broadcast.

    Where it is none along both, the one that is not contiguous in global memory.
    """
    assert copy.index is not None
    moving = [i for i, d in enumerate(wrap(copy.index.layout.stride)) if d != 0]
    across = [i for i, d in enumerate(wrap(gmem.layout.stride)) if d != 1]
    return moving[0] if len(moving) == 1 else (across or [0])[0]


def follow_index(copy: Copy, gmem: Memref, leaves: list[IntArray]) -> list[IntArray]:
    """Leaf coordinates of a tile's elements with the row that the index tensor names for each."""
    assert copy.index is not None
    strides = wrap(copy.index.layout.stride)
    at = sum((leaf * d for leaf, d in zip(leaves, strides, strict=True)), np.zeros_like(leaves[0]))
    mode = indexed_mode(copy, gmem)
    return [row_numbers(copy, at) if i == mode else leaf for i, leaf in enumerate(leaves)]
