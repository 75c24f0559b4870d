"""What is proved of an address: alignment of slices, tiles, offsets and recasts, as the compiler infers it.

The rule, measured against the DSL: the alignment of `base + offset` is the gcd of the base's alignment
and the offset's known divisor, in bits. A static coordinate counts by its exact value, a run-time one by
the divisor it is known to have, times the stride; terms are added left to right, each nested mode by
itself first, static neighbours exactly: 9 + 3 counts as 12, but 9 + ? + 3 as gcd(9, ?, 3). Splitting a
run-time index over the modes of a nested shape keeps a divisor d in `index mod n` only where d divides n
(then the mode's coordinate is a multiple of d) or n divides d (then it is 0), and in `index / n` only where
n divides d.

The result is a claim about the address *before* a pointer swizzle; `Memref.access_align_bytes` is what
survives it.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from layoutcheck.algebra import integers, inttuple
from layoutcheck.algebra.integers import Dynamic, Int
from layoutcheck.algebra.layout import Layout, text
from layoutcheck.algebra.recast import recast_layout
from layoutcheck.algebra.slicing import coord_text
from layoutcheck.copies.memref import Memref
from layoutcheck.errors import InputError
from layoutcheck.machine.dtypes import DType

# A coordinate is an integer, a Dynamic, None (CuTe's `_`: keep the mode) or a tuple of coordinates.


def storage_bits(dtype: DType) -> int:
    """Bits from one element to the next in memory; a boolean (i1) takes a byte."""
    return 8 if dtype.bits == 1 else dtype.bits


def align_bits(memref: Memref) -> int:
    """The proved alignment of the base address in bits; fewer than 8 for a sub-byte type of no `align<>`."""
    return memref.align_bytes * 8 if memref.align_bytes is not None else storage_bits(memref.dtype)


def offset(layout: Layout, coord: Any) -> Int:
    """The offset in elements that a coordinate adds (its None parts add nothing), as far as it is known.

    Raises InputError where the coordinate does not fit the shape.
    """
    return _offset(coord, layout.shape, layout.stride)


def shifted(memref: Memref, elements: Int) -> Memref:
    """`make_tensor(iterator + elements, layout)`: the same layout on a moved base."""
    element = storage_bits(memref.dtype)
    bits = math.gcd(align_bits(memref), integers.divisor(elements) * element)
    return replace(memref, align_bytes=None if bits == element or bits % 8 else bits // 8)


def recast(memref: Memref, dtype: DType) -> Memref:
    """`cute.recast_tensor(tensor, dtype)`: keeps the alignment, rounds strides up and forgets the swizzle.

    The DSL builds the new pointer without the old one's swizzle (measured): addresses through the
    result are the unswizzled ones.
    """
    layout = recast_layout(storage_bits(dtype), storage_bits(memref.dtype), memref.layout)
    bits = align_bits(memref)
    align = None if bits == storage_bits(dtype) or bits % 8 else bits // 8
    return replace(memref, dtype=dtype, layout=layout, align_bytes=align, swizzle=None, recast_from=memref)


def _offset(coord: Any, shape: Any, stride: Any) -> Int:
    """coordinate x stride, added up mode by mode, each nested mode by itself first."""
    if coord is None:
        return 0
    if type(shape) is tuple:
        if type(coord) is not tuple:
            coord = _split(coord, shape)
        if len(coord) != len(shape):
            raise InputError(f"coordinate {coord_text(coord)} does not fit shape {text(shape)}")
        out: Int = 0
        for c, s, d in zip(coord, shape, stride, strict=True):
            out = integers.add(out, _offset(c, s, d))
        return out
    if type(coord) is tuple:
        raise InputError(f"coordinate {coord_text(coord)} does not fit shape {text(shape)}")
    if not isinstance(stride, (int, Dynamic)):
        raise InputError(f"stride {stride} steps through coordinates, not through memory")
    return integers.mul(coord, stride)


def _split(index: Int, shape: tuple[Any, ...]) -> tuple[Int, ...]:
    """The coordinate of an index, one entry a mode; the last mode takes the excess."""
    out: list[Int] = []
    for s in shape[:-1]:
        extent = inttuple.product(s)
        out.append(_mod(index, extent))
        index = integers.floor_div(index, extent)
    return (*out, index)


def _mod(index: Int, extent: Int) -> Int:
    """index mod extent with the divisor that the DSL keeps (see the module's text), not the best one."""
    if isinstance(index, int) and isinstance(extent, int):
        return index % extent
    if index == 0:
        return 0
    if isinstance(index, Dynamic) and isinstance(extent, int):
        if index.divisor % extent == 0:
            return 0
        if extent % index.divisor == 0:
            return index
    return Dynamic(1, max(integers.bits(index), integers.bits(extent)))
