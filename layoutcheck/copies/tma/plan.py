"""`TmaPlan`: the tensor map that a copy of known tensors implies, and the boxes that are moved with it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from layoutcheck.algebra.complement import complement
from layoutcheck.algebra.inttuple import flatten, wrap
from layoutcheck.algebra.inverse import right_inverse
from layoutcheck.algebra.layout import Layout
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.offsets import IntArray, limit, offsets, offsets_at, size
from layoutcheck.copies.tma.basis import Side, box_basis
from layoutcheck.copies.tma.tile import TmaTile
from layoutcheck.errors import InputError
from layoutcheck.machine.atoms import TmaCopy
from layoutcheck.machine.dtypes import DType
from layoutcheck.machine.tma import MOST_BOX, SPAN_BYTES, Descriptor, dsl_kind, is_large

BoolArray: TypeAlias = "npt.NDArray[np.bool_]"


@dataclass(frozen=True, slots=True)
class TmaPlan:
    """`implied` is the tensor map with every field as the tensors demand it, before anything is cut off.

    `sides` are its dimensions. `scales[i]` says what a step along leaf mode i of the global tensor is:
    (dimension, coordinate), dimension None where it moves nothing. Box k begins at coordinates `coords[k]`
    and, in bytes from the shared tensor's base, at `smem_at[k]`.
    """

    implied: Descriptor
    sides: tuple[Side, ...]
    scales: tuple[tuple[int | None, int], ...]
    coords: IntArray
    smem_at: IntArray

    @property
    def boxes(self) -> int:
        """How many instructions the copy is."""
        return int(self.smem_at.size)


def gmem_side(copy: Copy) -> str:
    """Which operand lies in global memory: "src" of a load, "dst" of a store or reduction."""
    assert isinstance(copy.atom, TmaCopy)
    return "src" if copy.atom.kind == "load" else "dst"


def smem_side(copy: Copy) -> str:
    """The other one."""
    return "dst" if gmem_side(copy) == "src" else "src"


def tensor_format(dtype: DType) -> str:
    """The format that the DSL gives a tensor map of these elements. Raises InputError where there is none."""
    name = str(dtype)
    known = {"f16": "F16_RN", "bf16": "BF16_RN", "f32": "F32_RN", "tf32": "F32_RN", "f64": "F64_RN"}
    if name in known:
        return known[name]
    if dtype.bits == 4:
        return "U4"
    if dtype.bits in (8, 16, 32, 64) and name != "i1":
        return f"U{dtype.bits}"
    raise InputError(f"no tensor map holds {name}", expected="elements of 4, 8, 16, 32 or 64 bits")


@lru_cache(maxsize=512)
def descriptor(
    gmem: Memref, described: Memref, tiler: tuple[int, ...], base: int = 0, typed: Layout | None = None
) -> Descriptor:
    """The tensor map of tiles of `tiler` of a static tensor at `base`, for the shared tensor `described`.

    `typed` is the tensor's layout as it is compiled, where that has dynamic extents or strides.
    """
    sides = box_basis(typed or gmem.layout, described.layout, tiler, described.swizzle, gmem.dtype.bits)
    shape, stride = flatten(wrap(gmem.layout.shape)), flatten(wrap(gmem.layout.stride))
    bits = gmem.dtype.bits
    dims, steps = [], []
    for side in sides:
        extent, step = 1, 0
        for mode in side.modes:  # several modes of one dimension: their common step, and how far they reach
            n, d = shape[mode], stride[mode] * bits // 8
            common = math.gcd(step, d)
            several = common and len(side.modes) > 1
            extent = (extent - 1) * (step // common) + (n - 1) * (d // common) + 1 if several else n
            step = common if len(side.modes) > 1 else d
        dims.append(extent)
        steps.append(step)
    strides = tuple(steps[1:])
    return Descriptor(
        tensor_format(gmem.dtype),
        tuple(dims),
        strides,
        tuple(side.extent for side in sides),
        dsl_kind(described.swizzle),
        base,
        tf32=str(gmem.dtype) == "tf32",
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


def plan(copy: Copy, witness: Copy | None = None, gmem_base: int = 0) -> TmaPlan:
    """The plan of `copy` with its run-time values as in `witness` (the copy itself if static).

    Raises NoCommonRun where the DSL dies, InputError for what is not modelled.
    """
    tile = tile_of(copy)
    typed = copy.side(gmem_side(copy)).layout
    gmem, smem = ((witness or copy).side(side) for side in (gmem_side(copy), smem_side(copy)))
    described = tile.described or smem
    map_ = descriptor(gmem, described, tile.tiler, gmem_base, typed)
    sides = box_basis(typed, described.layout, tile.tiler, described.swizzle, gmem.dtype.bits)
    starts = _starts(smem.layout, map_.box_elements)
    leaves = _leaf_coords(gmem.layout, tile, starts)
    steps = scales(gmem, sides)
    coords = np.zeros((starts.size, map_.rank), dtype=np.int64)
    for leaf, (dimension, step) in zip(leaves, steps, strict=True):
        if dimension is not None:
            coords[:, dimension] += leaf * step
    at = offsets_at(smem.layout, starts) * smem.dtype.bits // 8
    return TmaPlan(map_, sides, steps, coords, at)


def _starts(smem: Layout, box_elements: int) -> IntArray:
    """The tile index at which each box begins: `tma_partition` walks the shared tensor in address order."""
    inverse = right_inverse(smem)
    count, run = size(smem), size(inverse)
    limit(count)
    order = offsets(inverse)
    if run != count:
        if count % run:
            raise InputError(f"a tile of {count} elements is no multiple of its contiguous run of {run}")
        order = (offsets(complement(inverse, count))[:, None] + order).reshape(-1)
    if count % box_elements:
        raise InputError(f"a tile of {count} elements is no multiple of a box of {box_elements}")
    return order[::box_elements]


def tile_leaves(gmem: Layout, tile: TmaTile) -> tuple[list[IntArray], BoolArray]:
    """Leaf coordinates in the global tensor of every element of the tile, and which elements are inside."""
    count = math.prod(tile.tiler)
    limit(count)
    index = np.arange(count, dtype=np.int64)
    inside: BoolArray = np.ones(count, dtype=np.bool_)
    shape = gmem.shape if type(gmem.shape) is tuple else (gmem.shape,)
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
    return [leaf[elements] for leaf in tile_leaves(gmem, tile)[0]]


def fewest_boxes(copy: Copy) -> int:
    """The least number of boxes that any shared layout with the same swizzle needs for the copy's tile.

    Along the contiguous mode a box reaches the swizzle's span or 256 elements, along others 256 elements.
    """
    tile = tile_of(copy)
    gmem, smem = copy.side(gmem_side(copy)), copy.side(smem_side(copy))
    kind = dsl_kind((tile.described or smem).swizzle)
    widest = MOST_BOX if kind == "none" else min(MOST_BOX, SPAN_BYTES[kind] * 8 // gmem.dtype.bits)
    strides = wrap(gmem.layout.stride)
    first = next((i for i, d in enumerate(strides) if 1 in flatten((d,))), 0)
    count = 1
    for i, extent in enumerate(tile.tiler):
        count *= -(-extent // (widest if i == first else MOST_BOX))
    return count
