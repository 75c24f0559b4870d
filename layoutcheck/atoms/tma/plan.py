"""`TmaPlan`: the tensor map that a copy of known tensors implies, and the boxes that are moved with it."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from layoutcheck.algebra.complement import complement
from layoutcheck.algebra.composition import composition
from layoutcheck.algebra.integers import round_up
from layoutcheck.algebra.inttuple import flatten, wrap
from layoutcheck.algebra.inverse import right_inverse
from layoutcheck.algebra.layout import Layout
from layoutcheck.atoms.tma import ROWS, TmaCopy
from layoutcheck.atoms.tma.basis import Side, box_basis
from layoutcheck.atoms.tma.descriptor import (
    MOST_BOX,
    MOST_PIXELS,
    SPAN_BYTES,
    Corners,
    Descriptor,
    dsl_kind,
    is_large,
)
from layoutcheck.atoms.tma.im2col import channel_mode, matrix, pixel_box, place
from layoutcheck.atoms.tma.internal import as_moved, tensor_format
from layoutcheck.atoms.tma.rows import block_coords, blocks, index_rows, one_row, row_sides, starts_of
from layoutcheck.copies.copy import Copy, TmaTile
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.offsets import IntArray, limit, offsets, offsets_at, size
from layoutcheck.errors import InputError
from layoutcheck.machine.dtypes import DType

BoolArray: TypeAlias = "npt.NDArray[np.bool_]"


class TmaPlan(NamedTuple):
    """`implied` is the tensor map with every field as the tensors demand it, before anything is cut off.

    `written` is what the DSL writes, likewise, which of a store ignores its internal type. `sides` are its
    dimensions. `scales[i]` says what a step along leaf mode i of the global tensor is:
    (dimension, coordinate), dimension None where it moves nothing. Box k begins at coordinates `coords[k]`
    and, in bytes from the shared tensor's base, at `smem_at[k]`. Of im2col `filter_offsets[k]` are the box's.
    """

    implied: Descriptor
    written: Descriptor
    sides: tuple[Side, ...]
    scales: tuple[tuple[int | None, int], ...]
    coords: IntArray
    smem_at: IntArray
    filter_offsets: IntArray | None = None
    rows: IntArray | None = None  # of gather4 and scatter4: where in the index tensor box k's four rows stand

    @property
    def boxes(self) -> int:
        """How many instructions the copy is."""
        return int(self.smem_at.size)


class SplitsByte(InputError):
    """A box of 4-bit or 6-bit elements begins within a byte, which the DSL refuses."""


def gmem_side(copy: Copy) -> str:
    """Which operand lies in global memory: "src" of a load, "dst" of a store or reduction."""
    assert isinstance(copy.atom, TmaCopy)
    return "src" if copy.atom.kind == "load" else "dst"


def smem_side(copy: Copy) -> str:
    """The other one."""
    return "dst" if gmem_side(copy) == "src" else "src"


@lru_cache(maxsize=512)
def descriptor(
    gmem: Memref,
    described: Memref,
    tiler: tuple[int, ...],
    base: int = 0,
    typed: Layout | None = None,
    internal: DType | None = None,
    bytewise: bool = False,
) -> Descriptor:
    """The tensor map of tiles of `tiler` of a static tensor at `base`, for the shared tensor `described`.

    `typed` is the tensor's layout as it is compiled, where that has dynamic extents or strides. An `internal`
    type of another width has the tensors recast before (`as_moved`). `bytewise` is how the DSL counts:
    strides rounded up to whole bytes, too few elements where several modes of 4 or 6 bits are one dimension.
    """
    format_ = tensor_format(gmem.dtype, internal)
    sides = box_basis(typed or gmem.layout, described.layout, tiler, described.swizzle, gmem.dtype.bits)
    shape, stride = flatten(wrap(gmem.layout.shape)), flatten(wrap(gmem.layout.stride))
    bits = gmem.dtype.bits
    dims, steps = [], []
    for side in sides:
        extent, step = 1, 0
        for mode in side.modes:  # several modes of one dimension: their common step, and how far they reach
            n, d = shape[mode], round_up(stride[mode] * bits, 8) if bytewise else stride[mode] * bits
            common = math.gcd(step, d)
            several = common and len(side.modes) > 1
            extent = (extent - 1) * (step // common) + (n - 1) * (d // common) + 1 if several else n
            step = common if len(side.modes) > 1 else d
        dims.append(extent)
        steps.append(step)
    strides = tuple(-(-step // 8) for step in steps[1:])
    return Descriptor(
        format_,
        tuple(dims),
        strides,
        tuple(side.extent for side in sides),
        dsl_kind(described.swizzle),
        base,
        tf32=str(internal or gmem.dtype) == "tf32",
        large=is_large(dims, strides, bits),
    )


def scales(gmem: Memref, sides: tuple[Side, ...]) -> tuple[tuple[int | None, int], ...]:
    """(dimension, step) of every leaf mode; along dimension 0 a step is the mode's stride, in elements."""
    stride = flatten(wrap(gmem.layout.stride))
    out: list[tuple[int | None, int]] = [(None, 0)] * len(stride)
    for j, side in enumerate(sides):
        common = math.gcd(*(stride[mode] for mode in side.modes))
        for mode in side.modes:
            step = stride[mode] if j == 0 else 1
            if j and len(side.modes) > 1:
                step = stride[mode] // common if common else 0
            out[mode] = (j, step)
    return tuple(out)


def tile_of(copy: Copy) -> TmaTile:
    """The tile, which a copy of whole tensors has."""
    if copy.tma is None:
        raise InputError("this TMA copy's tile is not known")
    return copy.tma


def plan(copy: Copy, instance: Copy | None = None, gmem_base: int = 0) -> TmaPlan:
    """The plan of `copy` with its run-time values as in `instance` (the copy itself if static).

    Raises NoCommonRun where the DSL dies, InputError for what is not modelled.
    """
    if tile_of(copy).im2col is not None:
        return _im2col_plan(copy, instance or copy, gmem_base)
    plain, before = copy, instance or copy
    copy, instance = as_moved(copy), as_moved(before)
    tile = tile_of(copy)
    typed = copy.side(gmem_side(copy)).layout
    gmem, smem = (instance.side(side) for side in (gmem_side(copy), smem_side(copy)))
    described = tile.described or smem
    if tile is not plain.tma:
        _whole_internal(plain, gmem.dtype.bits)
    map_ = descriptor(gmem, described, tile.tiler, gmem_base, typed, tile.internal)
    stored = gmem_side(copy) == "dst" and tile_of(plain).internal is not None
    bits = gmem.dtype.bits
    sides = box_basis(typed, described.layout, tile.tiler, described.swizzle, bits)
    if copy.index is not None:
        if tile is not plain.tma:
            raise InputError("gather4 and scatter4 by an internal type of another width are not modelled")
        sides, map_ = row_sides(sides), one_row(map_)
    endless = box_basis(typed, described.layout, tile.tiler, None, bits) if tile is not plain.tma else ()
    if any(len(side.modes) > 1 for side in endless):
        raise InputError("merged modes are not modelled under an internal type")
    rows = walk = None
    if copy.index is None:
        starts = _starts(smem.layout, math.prod(side.extent for side in sides))
        first = offsets_at(smem.layout, starts)
    else:
        walk = blocks(smem.layout, ROWS * sides[0].extent)
        first = starts_of(composition(smem.layout, walk, strict=False))
        rows = index_rows(copy, copy.index, walk)
    leaves = _leaf_coords(gmem.layout, tile, starts) if walk is None else block_coords(tile, walk)
    steps = scales(gmem, sides)
    coords = np.zeros((first.size, len(sides)), dtype=np.int64)
    for leaf, (dimension, step) in zip(leaves, steps, strict=True):
        if dimension is not None:
            coords[:, dimension] += leaf * step
    if (first * smem.dtype.bits % 8).any():
        raise SplitsByte("a box begins within a byte of shared memory")
    bits = 8 if smem.dtype.bits == 6 else smem.dtype.bits  # the DSL gives an element of 6 bits a byte
    at = first * bits // 8
    made = (plain, before) if stored else (copy, instance)
    gmem, smem = (made[1].side(side) for side in (gmem_side(copy), smem_side(copy)))
    cut, typed = tile_of(made[0]), made[0].side(gmem_side(copy)).layout
    internal = None if stored else cut.internal
    written = descriptor(gmem, cut.described or smem, cut.tiler, gmem_base, typed, internal, bytewise=True)
    if rows is not None:
        written = one_row(written)
    return TmaPlan(map_, written, sides, steps, coords, at, rows=rows)


def _whole_internal(plain: Copy, bits: int) -> None:
    """The DSL cuts boxes of the tensor's own elements, and then counts them as internal ones, rounded up."""
    gmem, smem, tile = plain.side(gmem_side(plain)), plain.side(smem_side(plain)), tile_of(plain)
    described = tile.described or smem
    first = box_basis(gmem.layout, described.layout, tile.tiler, described.swizzle, gmem.dtype.bits)[0]
    if first.extent * gmem.dtype.bits % bits:
        raise InputError(
            f"a box of {first.extent} {gmem.dtype} is no whole number of {bits} bits: not modelled"
        )


def _im2col_plan(copy: Copy, instance: Copy, gmem_base: int) -> TmaPlan:
    tile = tile_of(copy)
    assert tile.im2col is not None
    gmem, smem = (instance.side(side) for side in (gmem_side(copy), smem_side(copy)))
    if gmem.dtype.bits < 8 or tile.internal is not None:
        raise InputError("im2col of elements narrower than a byte, or of an internal type, is not modelled")
    described = tile.described or smem
    channel, channels, pixels = pixel_box(described.layout, tile.tiler)
    found = matrix(gmem.layout, tile.im2col, channel)
    starts = _starts(smem.layout, channels * pixels)
    coords, offsets_ = place(found, tile.im2col, tile, starts)
    shape, stride = flatten(wrap(gmem.layout.shape)), flatten(wrap(gmem.layout.stride))
    dims = tuple(shape[leaf] for leaf in found.leaves)
    strides = tuple(stride[leaf] * gmem.dtype.bits // 8 for leaf in found.leaves[1:])
    load = gmem_side(copy) == "src"
    written = Descriptor(
        tensor_format(gmem.dtype),
        dims,
        strides,
        (channels, pixels),
        dsl_kind(described.swizzle),
        gmem_base,
        (1, *tile.im2col.stride, 1),
        tf32=str(gmem.dtype) == "tf32",
        large=is_large(dims, strides, gmem.dtype.bits),
        corners=Corners(tile.im2col.lower_corner, tile.im2col.upper_corner),
    )
    sides = tuple(Side(channels if i == 0 else 1, (leaf,), dims[i]) for i, leaf in enumerate(found.leaves))
    steps: list[tuple[int | None, int]] = [(None, 0)] * len(dims)
    for i, leaf in enumerate(found.leaves):
        steps[leaf] = (i, stride[leaf] if i == 0 else 1)
    at = offsets_at(smem.layout, starts) * smem.dtype.bits // 8
    return TmaPlan(written, written, sides, tuple(steps), coords, at, offsets_ if load else None)


def im2col_leaves(gmem: Layout, tile: TmaTile) -> tuple[list[IntArray], BoolArray]:
    """Leaf coordinates in the tensor of every element of a tile of its matrix, and which are inside."""
    assert tile.im2col is not None
    count = math.prod(tile.tiler)
    limit(count)
    found = matrix(gmem, tile.im2col, channel_mode(gmem))
    coords, away = place(found, tile.im2col, tile, np.arange(count, dtype=np.int64))
    coords[:, 1:-1] += away
    shape = flatten(wrap(gmem.shape))
    dims = np.array([shape[leaf] for leaf in found.leaves], dtype=np.int64)
    inside: BoolArray = np.all((coords >= 0) & (coords < dims), axis=1)
    out = [coords[:, found.leaves.index(leaf)] for leaf in range(len(shape))]
    return out, inside


def _starts(smem: Layout, box_elements: int) -> IntArray:
    """The tile index at which each box begins: `tma_partition` walks the shared tensor in address order."""
    inverse = right_inverse(smem)
    count, run = size(smem), size(inverse)
    limit(count)
    order = offsets(inverse)
    if run != count:
        if count % run:
            raise InputError(f"a tile of {count} elements is not a multiple of its contiguous run of {run}")
        order = (offsets(complement(inverse, count))[:, None] + order).reshape(-1)
    if count % box_elements:
        raise InputError(f"a tile of {count} elements is not a multiple of a box of {box_elements}")
    return order[::box_elements]


def tile_leaves(gmem: Layout, tile: TmaTile) -> tuple[list[IntArray], BoolArray]:
    """Leaf coordinates in the global tensor of every element of the tile, and which elements are inside."""
    if tile.im2col is not None:
        return im2col_leaves(gmem, tile)
    count = math.prod(tile.tiler)
    limit(count)
    index = np.arange(count, dtype=np.int64)
    inside: BoolArray = np.ones(count, dtype=np.bool_)
    shape = wrap(gmem.shape)
    if len(shape) != len(tile.tiler):
        raise InputError(f"a tiler of {len(tile.tiler)} modes for a tensor of {len(shape)}")
    out: list[IntArray] = []
    for mode, extent, origin in zip(shape, tile.tiler, tile.origin, strict=True):
        at = origin + index % extent
        index = index // extent
        inside = inside & (at < math.prod(flatten((mode,))))
        leaves = flatten((mode,))
        for n in leaves[:-1]:
            out.append(at % n)
            at = at // n
        out.append(at)
    return out, inside


def _leaf_coords(gmem: Layout, tile: TmaTile, elements: IntArray) -> list[IntArray]:
    count = math.prod(tile.tiler)
    if elements.max() >= count:
        raise InputError(f"a shared tensor of more elements than the tile's {count}")
    return [leaf[elements] for leaf in tile_leaves(gmem, tile)[0]]


def fewest_boxes(copy: Copy) -> int:
    """The least number of boxes that any shared layout with the same swizzle needs for the copy's tile.

    Along the contiguous mode a box reaches the swizzle's span or 256 elements, along others 256 elements; of
    im2col no further than the channels of a tap, and 1024 pixels.
    """
    copy = as_moved(copy)
    tile = tile_of(copy)
    most = MOST_BOX if copy.index is None else ROWS
    gmem, smem = copy.side(gmem_side(copy)), copy.side(smem_side(copy))
    kind = dsl_kind((tile.described or smem).swizzle)
    bits = gmem.dtype.bits
    widest = MOST_BOX if kind == "none" else min(MOST_BOX, SPAN_BYTES[kind] * 8 // bits)
    strides = wrap(gmem.layout.stride)
    first = next((i for i, d in enumerate(strides) if 1 in flatten((d,))), 0)
    if tile.im2col is not None:
        channels = wrap(gmem.layout.shape)[first]
        widest, most = min(widest, channels) if isinstance(channels, int) else widest, MOST_PIXELS
    return math.prod(-(-extent // (widest if i == first else most)) for i, extent in enumerate(tile.tiler))
