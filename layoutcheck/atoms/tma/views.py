"""The same of operands as `cute.copy` sees them: coordinates and a shared tensor.

Only the box is known. What is asked and what is moved are compared in the space of coordinates, and what the
tensor map says of global memory stays open. Of gather4 and scatter4 (`row_intent`, `row_execution`) a row is
known by where its number stands in the index tensor, and both are compared in a space of (that place,
column). Which indices an instruction takes is `rows.fours`, for each of the rest modes (measured).
"""

from __future__ import annotations

import math

import numpy as np

from layoutcheck.algebra.basis import Basis
from layoutcheck.algebra.integers import Dynamic, Int, divisor, round_up
from layoutcheck.algebra.inttuple import flatten, unflatten, wrap
from layoutcheck.algebra.layout import Layout
from layoutcheck.atoms.tma import ROWS, TmaCopy
from layoutcheck.atoms.tma.descriptor import dsl_kind
from layoutcheck.atoms.tma.landing import execution_of, landed
from layoutcheck.atoms.tma.limits import box_fault
from layoutcheck.atoms.tma.plan import gmem_side, smem_side
from layoutcheck.atoms.tma.rows import fours, refuse_unlowered
from layoutcheck.copies.addresses import addresses
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.moves import Execution, Intent, Places
from layoutcheck.copies.offsets import (
    CompilerFails,
    IntArray,
    limit,
    offsets,
    offsets_at,
    rest_modes,
    size,
    v_mode,
)
from layoutcheck.copies.opaque import CoordTensor
from layoutcheck.errors import InputError
from layoutcheck.machine.arch import parse_arch

# The DSL lowers no im2col copy whose place is known when it compiles, as that of a lone tile is.
STATIC_PLACE = (
    "the tile's place is known when it is compiled, and the lowering dies of it: "
    '"Failed to infer result type(s)" of cute.crd2idx (SIGABRT)'
)


def _view(copy: Copy) -> tuple[CoordTensor, Memref, int]:
    """The two operands of a copy of coordinates, and the elements of a box."""
    atom = copy.atom
    there, here = copy.side(gmem_side(copy)), copy.side(smem_side(copy))
    assert isinstance(atom, TmaCopy)
    if not isinstance(there, CoordTensor) or atom.gbasis is None:
        raise InputError(
            "a TMA copy is between coordinates and shared memory, or of whole tensors with a tiler"
        )
    bits = here.dtype.bits
    if bits == 8 and atom.dtype.bits in (4, 6):  # each has a byte; `copy_bits` counts its own bits (measured)
        bits = atom.dtype.bits
    if atom.copy_bits % bits:
        raise InputError(f"boxes of {atom.copy_bits} bits hold no whole number of elements of {bits} bits")
    return there, here, atom.copy_bits // bits


def _boxes(copy: Copy) -> tuple[int, ...]:
    """The extents of a box in elements of the shared tensor; all in one where those are not the map's."""
    _, _, count = _view(copy)
    assert isinstance(copy.atom, TmaCopy)
    assert copy.atom.gbasis is not None
    box = tuple(math.prod(flatten((mode,))) for mode in wrap(copy.atom.gbasis.shape))
    return box if math.prod(box) == count else (count,)


def _elements(copy: Copy) -> tuple[int, int]:
    """How many elements of the shared tensor the coordinates' V mode stands for, and how often there is one.

    Beside fractions of coordinates (`internal_type` wider than the tensor's elements) an element of the
    coordinates' tensor is none of the shared tensor's: 512 steps of `1/2@0` are 256 coordinates, and with
    `internal_type=Uint64` 2048 elements of one byte (measured: boxes and `copy_bits` of the DSL). A box's
    bits over its coordinates are the bits of one. Raises InputError where a coordinate is shared in part.
    """
    there, here, _ = _view(copy)
    v, rest = size(v_mode(there.layout)), size(rest_modes(there.layout))
    if there.exact or there.composed:
        return v, rest
    assert isinstance(copy.atom, TmaCopy)
    assert copy.atom.gbasis is not None
    leaves = list(zip(flatten(there.layout.shape), there.denominators, strict=True))
    first = len(flatten(v_mode(there.layout).shape))
    shared = math.prod(of for _, of in leaves[:first])
    bits, odd = divmod(copy.atom.copy_bits, math.prod(flatten(copy.atom.gbasis.shape)))
    if odd or any(n % of for n, of in leaves[:first]) or any(of > 1 for _, of in leaves[first:]):
        raise InputError(f"coordinates {there.text} are not modelled")
    elements, odd = divmod(v // shared * bits, here.dtype.bits)
    if odd:
        raise InputError(f"coordinates of {bits} bits hold no whole number of {here.dtype}")
    return elements, rest


def _positions(copy: Copy) -> tuple[IntArray, tuple[int, ...]]:
    """A number for the coordinate of every element of the view, and what a step along each dimension adds.

    Where the coordinates are not plain (fractions, joined dimensions) the elements are numbered as they come,
    which is to say that their order is taken to be the box's.
    """
    there, _, count = _view(copy)
    box = _boxes(copy)
    v, rest = _elements(copy)
    strides = _steps_along(there, len(box), count) if math.prod(box) == count else None
    if strides is None:
        steps, step = [], 1
        for extent in box:
            steps.append(step)
            step *= extent
        return np.arange(v * rest, dtype=np.int64), tuple(steps)
    shape = flatten(there.layout.shape)
    at = np.zeros(v * rest, dtype=np.int64)
    steps, step = [], 1
    for dimension, extent in enumerate(box):
        along = there.layout.trusted(shape, tuple(n if of == dimension else 0 for of, n in strides))
        coordinate = offsets(along)
        at += coordinate * step
        steps.append(step)
        step *= int(coordinate.max()) + extent
    return at, tuple(steps)


def _steps_along(there: CoordTensor, rank: int, count: int) -> list[tuple[int, int]] | None:
    """(dimension, step) of every leaf of the coordinates, `count` of which are a box; None for other ones.

    A run-time step gets a number that it may have: within a box the least, beyond it one that leads past all
    that other leaves reach.
    """
    if not there.exact:
        return None
    shape = flatten(there.layout.shape)
    found: list[tuple[int, int]] = []
    reached, beyond, elements = [1] * rank, [], 1
    for leaf, (extent, stride) in enumerate(zip(shape, flatten(there.layout.stride), strict=True)):
        of, step = (stride.path[0], stride.value) if isinstance(stride, Basis) else (0, stride)
        if (len(stride.path) > 1 or of >= rank) if isinstance(stride, Basis) else stride != 0:
            return None
        if isinstance(step, Dynamic) and elements < count and (of or reached[0] > 1):
            return None  # modes that are one dimension
        if isinstance(step, Dynamic) and elements >= count:
            beyond.append(leaf)
        else:
            reached[of] += divisor(step) * (extent - 1)
        found.append((of, divisor(step)))
        elements *= extent
    for leaf in beyond:
        of, least = found[leaf]
        step = round_up(reached[of], least)
        found[leaf] = of, step
        reached[of] += step * (shape[leaf] - 1)
    return found


def first_step(copy: Copy) -> Int | None:
    """The step of a box's elements along dimension 0 of the tensor map; None where that is not known."""
    there, _, count = _view(copy)
    if not there.exact or math.prod(_boxes(copy)) != count:
        return None
    elements = 1
    for extent, stride in zip(flatten(there.layout.shape), flatten(there.layout.stride), strict=True):
        if extent != 1 and elements < count and isinstance(stride, Basis) and stride.path == (0,):
            return stride.value
        elements *= extent
    return None


def _view_units(here: Memref) -> tuple[int, int]:
    """Bits of an address unit, and units of an element."""
    unit = 4 if here.dtype.bits == 4 else 8
    if here.dtype.bits % unit:
        raise InputError(f"copies of {here.dtype.bits}-bit elements are not modelled")
    return unit, here.dtype.bits // unit


def view_intent(copy: Copy, src_base: int, dst_base: int) -> Intent:
    """The intent, global addresses being numbers of coordinates."""
    there, here, _ = _view(copy)
    if copy.index is not None:
        return row_intent(copy, there, here, dst_base if gmem_side(copy) == "src" else src_base)
    unit, per = _view_units(here)
    load = gmem_side(copy) == "src"
    gmem_base, smem_base = (src_base, dst_base) if load else (dst_base, src_base)
    limit(size(here.layout) * per)
    at, _ = _positions(copy)
    n = min(at.size, size(here.layout))
    coordinates = (gmem_base * (8 // unit) + at[:n] * per)[:, None, None] + np.arange(per, dtype=np.int64)
    shared = addresses(here, smem_base, offsets(here.layout)[:n], unit)[:, None, :]
    src, dst = (coordinates, shared) if load else (shared, coordinates)
    unmatched = abs(at.size - size(here.layout))
    return Intent(Places.of(src), Places.of(dst), unit, unmatched=unmatched, whole=True)


def view_execution(copy: Copy, src_base: int, dst_base: int) -> Execution:
    """The execution, global addresses being numbers of coordinates."""
    there, here, count = _view(copy)
    assert isinstance(copy.atom, TmaCopy)
    if there.place_is_static:
        raise CompilerFails(STATIC_PLACE)
    if copy.index is not None:
        smem_base = dst_base if gmem_side(copy) == "src" else src_base
        return row_execution(copy, there, here, smem_base)
    unit, per = _view_units(here)
    load = gmem_side(copy) == "src"
    gmem_base, smem_base = (src_base, dst_base) if load else (dst_base, src_base)
    at, steps = _positions(copy)
    box = _boxes(copy)
    v, rest = _elements(copy)
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
    begin = (gmem_base - copy.map_past) * (8 // unit)  # the map stores the base rounded down
    coordinates = begin + ((at[first][:, None] + moved) * per)[..., None] + units
    kind = dsl_kind(copy.map_swizzle or here.swizzle)
    inner = box[0] * here.dtype.bits // 8
    starts = smem_base + shared_at * here.dtype.bits // 8
    shared = landed(copy, starts, (count, box[0]), inner, kind, unit, per)
    assert copy.atom.gbasis is not None
    known = math.prod(flatten(copy.atom.gbasis.shape)) == count
    fault = box_fault(inner, kind, copy.atom.dtype.bits, parse_arch(copy.arch).number, known)
    return execution_of(copy, coordinates, shared, starts, copy.atom.copy_bits // 8, unit, fault)


_APART = 1 << 20  # columns between rows in the space of coordinates


def row_intent(copy: Copy, there: CoordTensor, here: Memref, smem_base: int) -> Intent:
    """The intent, global addresses being numbers of coordinates."""
    index = _index(copy, there)
    per = _bytes(here)
    count = size(here.layout)
    limit(count * per)
    rows, columns = offsets(index.layout), _columns(there)
    if min(rows.size, columns.size) < count:
        raise InputError(f"{count} elements of shared memory and an index tensor of {rows.size}")
    units = np.arange(per, dtype=np.int64)
    coordinates = ((rows * _APART + columns)[:count, None] * per + units)[:, None, :]
    shared = addresses(here, smem_base, offsets(here.layout), 8)[:, None, :]
    src, dst = (coordinates, shared) if gmem_side(copy) == "src" else (shared, coordinates)
    return Intent(Places.of(src), Places.of(dst), 8, whole=True)


def row_execution(copy: Copy, there: CoordTensor, here: Memref, smem_base: int) -> Execution:
    """The execution, global addresses being numbers of coordinates."""
    assert isinstance(copy.atom, TmaCopy)
    index = _index(copy, there)
    refuse_unlowered(index)
    per = _bytes(here)
    moved = copy.atom.copy_bits // here.dtype.bits
    wide = moved // ROWS
    v, rest = size(v_mode(there.layout)), size(rest_modes(there.layout))
    blocks = v // moved
    if v % moved or moved % ROWS:
        raise InputError(f"a V of {v} elements is not a whole number of instructions of {moved}")
    limit(v * rest * per)
    nth = np.arange(blocks * rest)
    first, outer = nth % blocks * moved, nth // blocks
    columns = _columns(there)[first + outer * v]
    begins = offsets_at(rest_modes(index.layout), np.arange(rest))
    named = np.concatenate([fours(v_mode(index.layout), int(begin), blocks) for begin in begins])
    smem_at = offsets_at(v_mode(here.layout), first) + offsets_at(rest_modes(here.layout), outer)
    starts = smem_base + smem_at * per
    element = np.arange(moved, dtype=np.int64)
    row, column = element // wide, element % wide
    units = np.arange(per, dtype=np.int64)
    at = named[:, row] * _APART + columns[:, None] + column
    coordinates = (at * per)[..., None] + units
    kind = dsl_kind(here.swizzle)
    inner = wide * per
    shared = landed(copy, starts, (moved, wide), inner, kind, 8, per)
    fault = box_fault(inner, kind, copy.atom.dtype.bits, parse_arch(copy.arch).number)
    return execution_of(copy, coordinates, shared, starts, moved * per, 8, fault)


def _bytes(here: Memref) -> int:
    if here.dtype.bits % 8:
        raise InputError(f"four rows of {here.dtype.bits}-bit elements are not modelled here")
    return here.dtype.bits // 8


def _index(copy: Copy, there: CoordTensor) -> Memref:
    """The index tensor, which must be of the extents of the coordinates."""
    index = copy.index
    assert index is not None
    if [size(mode) for mode in index.layout.modes] != [size(mode) for mode in there.layout.modes]:
        raise InputError(f"an index tensor {index.layout} for coordinates {there.layout} is not modelled")
    return index


def _columns(there: CoordTensor) -> IntArray:
    """Of every element of the view, the steps along dimension 0, the one that is contiguous."""
    steps = []
    for d in flatten(there.layout.stride):
        plain = d == 0 or (isinstance(d, Basis) and type(d.value) is int and len(d.path) == 1)
        if not plain or not there.exact:
            raise InputError(f"coordinates {there.layout} are not modelled")
        steps.append(d.value if isinstance(d, Basis) and d.path == (0,) else 0)
    return offsets(Layout.trusted(there.layout.shape, unflatten(iter(steps), there.layout.shape)))
