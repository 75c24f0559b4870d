"""What a TMA copy is asked to move, and what its instructions move, as byte addresses.

Of whole tensors everything is known: intent follows the two layouts, execution the tensor map as it is stored
(its cut-off address and strides included). Of operands as `cute.copy` sees them, coordinates and a shared
tensor, only the box is known. Both are then compared in the space of coordinates, and what the tensor map
says of global memory stays open.

Measured on an H200 (docs/evidence/tma_probes.json): elements outside the tensor arrive as zeros; a store
writes whole 16-byte pieces, past the edge of dimension 0 where that is inside one; rows of a box under a
swizzle lie a span apart, also where the box is narrower. Addresses in shared memory are multiples of 128, a
box's first extent and its coordinate are whole 16 bytes, the box is no wider than the span, and no store
begins before the tensor, or the instruction faults.
"""

from __future__ import annotations

import math

import numpy as np

from layoutcheck.algebra.basis import Basis
from layoutcheck.algebra.inttuple import flatten, wrap
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.execution.moves import Access, Execution
from layoutcheck.copies.intent import NOTHING, Intent, addresses, swizzled
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.offsets import IntArray, limit, offsets, offsets_at, rest_modes, size, v_mode
from layoutcheck.copies.opaque import CoordTensor
from layoutcheck.copies.tma.plan import BoolArray, gmem_side, plan, smem_side, tile_leaves, tile_of
from layoutcheck.errors import InputError
from layoutcheck.machine.arch import parse_arch
from layoutcheck.machine.atoms import TmaCopy
from layoutcheck.machine.tma import (
    SPAN_BYTES,
    Descriptor,
    decode,
    dsl_kind,
    encode,
    machine_swizzle,
    row_pitch_bytes,
)

SMEM_ALIGN_BYTES = 128  # PTX ISA, cp.async.bulk.tensor; an H200 faults at less
PIECE_BYTES = 16  # what TMA moves at least
_OPS = {
    "load": "cp.async.bulk.tensor g2s",
    "store": "cp.async.bulk.tensor s2g",
    "reduce": "cp.reduce.async.bulk.tensor",
}


def tma_intent(copy: Copy, src_base: int, dst_base: int) -> Intent:
    """The intent of a static TMA copy. Raises InputError for elements that are not whole bytes."""
    if copy.tma is None:
        return _view_intent(copy, src_base, dst_base)
    gmem, smem = copy.side(gmem_side(copy)), copy.side(smem_side(copy))
    width = _bytes(gmem)
    if smem.dtype.bits != gmem.dtype.bits:
        raise InputError(f"{gmem.dtype} and {smem.dtype} differ in width")
    load = gmem_side(copy) == "src"
    gmem_base, smem_base = (src_base, dst_base) if load else (dst_base, src_base)
    leaves, inside = tile_leaves(gmem.layout, tile_of(copy))
    strides = flatten(wrap(gmem.layout.stride))
    at = sum((leaf * d for leaf, d in zip(leaves, strides, strict=True)), np.zeros(inside.size, np.int64))
    there = (gmem_base + at * width)[:, None] + np.arange(width, dtype=np.int64)
    here = addresses(smem, smem_base, offsets(smem.layout), 8)
    if load:
        there[~inside] = NOTHING
        return Intent(there[:, None, :], here[:, None, :], 8, whole=True, zeros=True)
    return Intent(here[inside][:, None, :], there[inside][:, None, :], 8, whole=True)


def execute_tma(copy: Copy, witness: Copy, src_base: int, dst_base: int) -> Execution:
    """What the instructions of `copy` do, with its run-time values as in `witness`."""
    if copy.tma is None:
        return _view_execution(copy, src_base, dst_base)
    assert isinstance(copy.atom, TmaCopy)
    load = gmem_side(copy) == "src"
    gmem_base, smem_base = (src_base, dst_base) if load else (dst_base, src_base)
    made = plan(copy, witness, gmem_base)
    map_ = decode(encode(made.implied))
    width = _bytes(copy.side(gmem_side(copy)))
    grid = _grid(map_.box)
    limit(made.boxes * map_.box_elements * width)
    coords: IntArray = made.coords[:, None, :] + grid
    dims = np.array(map_.dims, dtype=np.int64)
    steps = np.array([width, *map_.strides_bytes], dtype=np.int64)
    inside: BoolArray = np.all((coords >= 0) & (coords < dims), axis=2)
    there = map_.base + (coords * steps).sum(axis=2)
    here = _in_smem(copy, smem_base + made.smem_at, map_.box, map_.inner_bytes, map_.swizzle, width)
    byte = np.arange(width, dtype=np.int64)
    fault = _fault(copy, map_, made.coords)
    starts = (smem_base + made.smem_at)[:, None]
    access = (Access(_OPS[copy.atom.kind], "smem", map_.box_bytes, starts, SMEM_ALIGN_BYTES),)
    if load:
        src = np.where(inside[..., None], there[..., None] + byte, NOTHING).reshape(-1, 1, width)
        return Execution(src, here.reshape(-1, 1, width), 8, (), access, fault=fault)
    piece = coords[..., 0] * width // PIECE_BYTES * PIECE_BYTES
    others = np.all((coords[..., 1:] >= 0) & (coords[..., 1:] < dims[1:]), axis=2)
    written = others & (piece >= 0) & (piece < dims[0] * width)
    dst = (there[..., None] + byte)[written].reshape(-1, 1, width)
    return Execution(here[written].reshape(-1, 1, width), dst, 8, access, (), fault=fault)


def _bytes(memref: Memref) -> int:
    if memref.dtype.bits % 8:
        raise InputError(f"TMA copies of whole tensors of {memref.dtype.bits}-bit elements are not modelled")
    return memref.dtype.bits // 8


def _grid(box: tuple[int, ...]) -> IntArray:
    """Coordinates of a box's elements in the order they lie in shared memory: [element, dimension]."""
    index = np.arange(math.prod(box), dtype=np.int64)
    out = np.empty((index.size, len(box)), dtype=np.int64)
    for i, extent in enumerate(box):
        out[:, i], index = index % extent, index // extent
    return out


def _in_smem(
    copy: Copy, starts: IntArray, box: tuple[int, ...], inner_bytes: int, kind: str, width: int
) -> IntArray:
    """The byte addresses of every box's elements: [box, element, byte]."""
    index = np.arange(math.prod(box), dtype=np.int64)
    local = index // box[0] * row_pitch_bytes(inner_bytes, kind) + index % box[0] * width
    at: IntArray = starts[:, None, None] + local[:, None] + np.arange(width, dtype=np.int64)
    swizzle = machine_swizzle(kind, parse_arch(copy.arch).number)
    return at if swizzle is None else swizzle(at)


def _fault(copy: Copy, map_: Descriptor, coords: IntArray) -> str:
    """The fault that the instruction raises for what it is asked (measured on an H200), or ""."""
    span = SPAN_BYTES[map_.swizzle]
    refused = map_.inner_bytes % PIECE_BYTES or (span and map_.inner_bytes > span)
    if refused or (coords[:, 0] * map_.element_bits // 8 % PIECE_BYTES).any():
        return "illegal instruction"
    return ""


def _view(copy: Copy) -> tuple[CoordTensor, Memref, int]:
    """The two operands of a copy of coordinates, and the elements of a box."""
    atom = copy.atom
    there, here = copy.side(gmem_side(copy)), copy.side(smem_side(copy))
    assert isinstance(atom, TmaCopy)
    if not isinstance(there, CoordTensor) or atom.gbasis is None:
        raise InputError(
            "a TMA copy is between coordinates and shared memory, or of whole tensors with a tiler"
        )
    if atom.copy_bits % here.dtype.bits:
        raise InputError(f"boxes of {atom.copy_bits} bits hold no whole number of {here.dtype}")
    return there, here, atom.copy_bits // here.dtype.bits


def _boxes(copy: Copy) -> tuple[int, ...]:
    """The extents of a box in elements of the shared tensor; all in one where those are not the map's."""
    _, _, count = _view(copy)
    assert isinstance(copy.atom, TmaCopy)
    assert copy.atom.gbasis is not None
    box = tuple(math.prod(flatten((mode,))) for mode in wrap(copy.atom.gbasis.shape))
    return box if math.prod(box) == count else (count,)


def _positions(copy: Copy) -> tuple[IntArray, tuple[int, ...]]:
    """A number for the coordinate of every element of the view, and what a step along each dimension adds.

    Where the coordinates are not plain (fractions, run-time steps) the elements are numbered as they come,
    which is to say that their order is taken to be the box's.
    """
    there, _, count = _view(copy)
    box = _boxes(copy)
    strides = flatten(there.layout.stride)
    total = size(there.layout)
    plain = (
        there.exact
        and math.prod(box) == count
        and all(
            not isinstance(d, Basis) or (type(d.value) is int and len(d.path) == 1 and d.path[0] < len(box))
            for d in strides
        )
    )
    if not plain or not all(isinstance(d, Basis) or d == 0 for d in strides):
        steps, step = [], 1
        for extent in box:
            steps.append(step)
            step *= extent
        return np.arange(total, dtype=np.int64), tuple(steps)
    shape = flatten(there.layout.shape)
    at = np.zeros(total, dtype=np.int64)
    steps, step = [], 1
    for dimension, extent in enumerate(box):
        along = there.layout.trusted(
            shape, tuple(d.value if isinstance(d, Basis) and d.path == (dimension,) else 0 for d in strides)
        )
        coordinate = offsets(along)
        at += coordinate * step
        steps.append(step)
        step *= int(coordinate.max()) + extent
    return at, tuple(steps)


def _view_units(here: Memref) -> tuple[int, int]:
    """Bits of an address unit, and units of an element."""
    unit = 4 if here.dtype.bits == 4 else 8
    if here.dtype.bits % unit:
        raise InputError(f"copies of {here.dtype.bits}-bit elements are not modelled")
    return unit, here.dtype.bits // unit


def _view_intent(copy: Copy, src_base: int, dst_base: int) -> Intent:
    _, here, _ = _view(copy)
    unit, per = _view_units(here)
    load = gmem_side(copy) == "src"
    gmem_base, smem_base = (src_base, dst_base) if load else (dst_base, src_base)
    limit(size(here.layout) * per)
    at, _ = _positions(copy)
    n = min(at.size, size(here.layout))
    coordinates = (gmem_base * (8 // unit) + at[:n] * per)[:, None, None] + np.arange(per, dtype=np.int64)
    shared = addresses(here, smem_base, offsets(here.layout)[:n], unit)[:, None, :]
    src, dst = (coordinates, shared) if load else (shared, coordinates)
    return Intent(src, dst, unit, unmatched=abs(at.size - size(here.layout)), whole=True)


def _view_execution(copy: Copy, src_base: int, dst_base: int) -> Execution:
    there, here, count = _view(copy)
    assert isinstance(copy.atom, TmaCopy)
    unit, per = _view_units(here)
    load = gmem_side(copy) == "src"
    gmem_base, smem_base = (src_base, dst_base) if load else (dst_base, src_base)
    at, steps = _positions(copy)
    box = _boxes(copy)
    v, rest = size(v_mode(there.layout)), size(rest_modes(there.layout))
    first = (np.arange(0, v, count, dtype=np.int64) + np.arange(rest, dtype=np.int64)[:, None] * v).reshape(
        -1
    )
    limit(first.size * count * per)
    # cute.copy walks the views by one linear index: V, then the rest.
    smem_v, smem_rest = v_mode(here.layout), rest_modes(here.layout)
    shared_at = offsets_at(smem_v, first % v) + offsets_at(smem_rest, first // v)
    index = np.arange(count, dtype=np.int64)
    moved = np.zeros(count, dtype=np.int64)
    for extent, step in zip(box, steps, strict=True):
        moved += index % extent * step
        index = index // extent
    units = np.arange(per, dtype=np.int64)
    coordinates = gmem_base * (8 // unit) + ((at[first][:, None] + moved) * per)[..., None] + units
    kind = dsl_kind(here.swizzle)
    inner = box[0] * here.dtype.bits // 8
    starts = smem_base + shared_at * here.dtype.bits // 8
    flat = np.arange(count, dtype=np.int64)
    pitch = inner if len(box) == 1 else row_pitch_bytes(inner, kind)
    local = flat // box[0] * (pitch * 8 // unit) + flat % box[0] * per
    shared = (starts * (8 // unit))[:, None, None] + local[:, None] + units
    swizzle = machine_swizzle(kind, parse_arch(copy.arch).number)
    if swizzle is not None:
        shared = swizzled(Memref(here.dtype, "smem", here.layout, None, swizzle), shared, unit)
    access = (
        Access(_OPS[copy.atom.kind], "smem", copy.atom.copy_bits // 8, starts[:, None], SMEM_ALIGN_BYTES),
    )
    span = SPAN_BYTES[kind]
    refused = len(box) > 1 and (inner % 16 or (span and inner > span))
    too_new = copy.atom.dtype.bits in (4, 6) and parse_arch(copy.arch).number < 100
    fault = "illegal instruction" if refused or too_new else ""
    sides = (coordinates, shared) if load else (shared, coordinates)
    src, dst = (side.reshape(-1, 1, per) for side in sides)
    return Execution(src, dst, unit, () if load else access, access if load else (), fault=fault)
