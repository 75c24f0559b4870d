"""What a TMA copy is asked to move, and what its instructions move, as addresses.

Of whole tensors everything is known: intent follows the two layouts, execution the tensor map as it is stored
(its cut-off address and strides included). Of operands as `cute.copy` sees them see `views`.

Measured on an H200 (docs/evidence/tma_probes.json): elements outside the tensor arrive as zeros; a store
writes whole 16-byte pieces, past the edge of dimension 0 where that is inside one; rows of a box under a
swizzle lie a span apart, also where the box is narrower. Addresses in shared memory are multiples of 128, a
box's first extent and its coordinate are whole 16 bytes, the box is no wider than the span, and no store
begins before the tensor, or the instruction faults.

Elements narrower than a byte are counted in units of 4 or 2 bits. The formats with gaps keep 16 elements
together at the beginning of 16 bytes of shared memory, 4 or 8 bytes of which stay unused (CUDA Driver API,
cuTensorMapEncodeTiled; no GPU that has them was at hand).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from layoutcheck.algebra.inttuple import flatten, wrap
from layoutcheck.atoms.tma import ROWS, TmaCopy
from layoutcheck.atoms.tma.descriptor import PIECE_BYTES, Descriptor, gapped
from layoutcheck.atoms.tma.im2col import begins_outside, pixel_box, static_place, traversed
from layoutcheck.atoms.tma.landing import execution_of, landed, with_gaps
from layoutcheck.atoms.tma.limits import ILLEGAL, box_fault
from layoutcheck.atoms.tma.plan import BoolArray, TmaPlan, gmem_side, plan, smem_side, tile_leaves, tile_of
from layoutcheck.atoms.tma.rows import follow_index, refuse_unlowered, row_numbers
from layoutcheck.atoms.tma.views import STATIC_PLACE, view_execution, view_intent
from layoutcheck.atoms.tma.words import decode, encode
from layoutcheck.copies.addresses import addresses, swizzled
from layoutcheck.copies.copy import Copy, Im2col
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.moves import NOTHING, Execution, Intent, Places
from layoutcheck.copies.offsets import CompilerFails, IntArray, limit, offsets
from layoutcheck.errors import InputError
from layoutcheck.machine.arch import parse_arch


def execute(copy: Copy, instance: Copy, _atom: TmaCopy, src_base: int, dst_base: int) -> Execution:
    """What the instructions of `copy` do, with its run-time values as in `instance`."""
    if copy.tma is None:
        return view_execution(copy, src_base, dst_base)
    unit, _ = units_of(copy.side(gmem_side(copy)))
    load = gmem_side(copy) == "src"
    gmem_base, smem_base = (src_base, dst_base) if load else (dst_base, src_base)
    im2col = tile_of(copy).im2col
    if im2col is not None:
        _refuse_static_place(copy, im2col)
    if copy.index is not None:
        refuse_unlowered(copy.index)
    made = plan(copy, instance, gmem_base)
    map_ = decode(encode(made.written))
    of_byte, per = 8 // unit, max(1, map_.data_bits // unit)
    landing = map_ if made.rows is None else replace(map_, box=(map_.box[0], ROWS))
    limit(made.boxes * landing.box_elements * max(per, map_.rank))
    coords = _coordinates(instance, made, landing)
    dims = np.array(map_.dims, dtype=np.int64)
    steps = np.array([per, *(stride * of_byte for stride in map_.strides_bytes)], dtype=np.int64)
    inside: BoolArray = np.all((coords >= 0) & (coords < dims), axis=2)
    there = map_.base * of_byte + (coords * steps).sum(axis=2)
    starts = smem_base + made.smem_at
    here = landed(
        copy, starts, (landing.box_elements, landing.box[0]), landing.inner_bytes, landing.swizzle, unit, per,
        gapped(landing.format),
    )  # fmt: skip
    units = np.arange(per, dtype=np.int64)
    fault = _fault(copy, map_, made.coords)
    if load:
        src = np.where(inside[..., None], there[..., None] + units, NOTHING)
        return execution_of(copy, src, here, starts, landing.box_bytes, unit, fault)
    piece = coords[..., 0] * per // (PIECE_BYTES * of_byte) * (PIECE_BYTES * of_byte)
    others = np.all((coords[..., 1:] >= 0) & (coords[..., 1:] < dims[1:]), axis=2)
    written = others & (piece >= 0) & (piece < dims[0] * per)
    dst = (there[..., None] + units)[written]
    return execution_of(copy, dst, here[written], starts, landing.box_bytes, unit, fault)


def units_of(gmem: Memref) -> tuple[int, int]:
    """Bits of an address unit, and units of an element of the tensor."""
    unit = {4: 4, 6: 2}.get(gmem.dtype.bits, 8)
    if gmem.dtype.bits % unit:
        raise InputError(f"TMA copies of {gmem.dtype.bits}-bit elements are not modelled")
    return unit, gmem.dtype.bits // unit


def _refuse_static_place(copy: Copy, im2col: Im2col) -> None:
    """Raises CompilerFails for a tensor of one tile: whatever its index, its place is known."""
    tile, smem = tile_of(copy), copy.side(smem_side(copy))
    channel, _, _ = pixel_box((tile.described or smem).layout, tile.tiler)
    if static_place(copy.side(gmem_side(copy)).layout, im2col, tile.tiler, channel):
        raise CompilerFails(STATIC_PLACE)


def _coordinates(copy: Copy, made: TmaPlan, map_: Descriptor) -> IntArray:
    """The coordinates that every box takes, as it lies in shared memory: [box, element, dimension]."""
    if map_.corners is not None:
        away = made.filter_offsets
        away = np.zeros((made.boxes, map_.rank - 2), dtype=np.int64) if away is None else away
        return traversed(map_, made.coords, away)
    grid = _grid(map_.box)
    coords: IntArray = made.coords[:, None, :] + grid
    if made.rows is not None:
        coords[..., 1] = row_numbers(copy, made.rows)[:, grid[:, 1]]
    return coords


def _grid(box: tuple[int, ...]) -> IntArray:
    """Coordinates of a box's elements in the order they lie in shared memory: [element, dimension]."""
    index = np.arange(math.prod(box), dtype=np.int64)
    out = np.empty((index.size, len(box)), dtype=np.int64)
    for i, extent in enumerate(box):
        out[:, i], index = index % extent, index // extent
    return out


def _fault(copy: Copy, map_: Descriptor, coords: IntArray) -> str:
    """The fault that the instruction raises for what it is asked (measured on an H200), or ""."""
    refused = box_fault(map_.inner_bytes, map_.swizzle, map_.data_bits, parse_arch(copy.arch).number)
    odd = (coords[:, 0] * map_.element_bits // 8 % PIECE_BYTES).any()
    outside = map_.corners is not None and begins_outside(map_, coords)
    return refused or (ILLEGAL if odd or outside else "")


def intent(copy: Copy, _atom: TmaCopy, src_base: int, dst_base: int) -> Intent:
    """The intent of a static TMA copy. Raises InputError for operands that are not modelled."""
    if copy.tma is None:
        return view_intent(copy, src_base, dst_base)
    gmem, smem = copy.side(gmem_side(copy)), copy.side(smem_side(copy))
    unit, per = units_of(gmem)
    load = gmem_side(copy) == "src"
    gmem_base, smem_base = (src_base, dst_base) if load else (dst_base, src_base)
    leaves, inside = tile_leaves(gmem.layout, tile_of(copy))
    if copy.index is not None:
        leaves = follow_index(copy, gmem, leaves)
        extents = flatten(wrap(gmem.layout.shape))
        inside = np.all([leaf < n for leaf, n in zip(leaves, extents, strict=True)], axis=0)
    strides = flatten(wrap(gmem.layout.stride))
    at = sum((leaf * d for leaf, d in zip(leaves, strides, strict=True)), np.zeros(inside.size, np.int64))
    there = (gmem_base * (8 // unit) + at * per)[:, None] + np.arange(per, dtype=np.int64)
    if gmem.dtype.bits in (4, 6) and smem.dtype.bits in (6, 8):
        here = with_gaps(offsets(smem.layout), unit, per)[:, None] + np.arange(per, dtype=np.int64)
        here = swizzled(smem, here + smem_base * (8 // unit), unit)
    elif smem.dtype.bits == gmem.dtype.bits:
        here = addresses(smem, smem_base, offsets(smem.layout), unit)
    else:
        raise InputError(f"{gmem.dtype} and {smem.dtype} differ in width")
    if load:
        there[~inside] = NOTHING
        return Intent(Places.of(there[:, None, :]), Places.of(here[:, None, :]), unit, whole=True, zeros=True)
    return Intent(Places.of(here[inside][:, None, :]), Places.of(there[inside][:, None, :]), unit, whole=True)
