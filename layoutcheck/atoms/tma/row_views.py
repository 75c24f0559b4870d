"""gather4 and scatter4 of operands as `cute.copy` sees them: coordinates, an index tensor, a shared tensor.

A row is known by where its number stands in the index tensor. What is asked and what is moved are compared in
a space of (that place, column); what the tensor map says of global memory stays open. Which indices an
instruction takes is `rows.fours`, for each of the rest modes (measured).
"""

from __future__ import annotations

import numpy as np

from layoutcheck.algebra.basis import Basis
from layoutcheck.algebra.inttuple import flatten, unflatten
from layoutcheck.algebra.layout import Layout
from layoutcheck.atoms.tma import ROWS, TmaCopy
from layoutcheck.atoms.tma.descriptor import dsl_kind
from layoutcheck.atoms.tma.landing import execution_of, landed
from layoutcheck.atoms.tma.limits import box_fault
from layoutcheck.atoms.tma.plan import gmem_side
from layoutcheck.atoms.tma.rows import fours, refuse_unlowered
from layoutcheck.copies.addresses import addresses
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.moves import Execution, Intent, Places
from layoutcheck.copies.offsets import IntArray, limit, offsets, offsets_at, rest_modes, size, v_mode
from layoutcheck.copies.opaque import CoordTensor
from layoutcheck.errors import InputError
from layoutcheck.machine.arch import parse_arch

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
