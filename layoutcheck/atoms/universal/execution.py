"""Plain loads and stores of universal copies.

Measured on the DSL (its own lowering, `cute-expand-ops`, and the PTX that follows). For every rest
coordinate and every n elements of V the compiler emits one vector load and one vector store of n
contiguous elements. Strides are not looked at again: n contiguous elements are moved whatever the layout.

The pair of accesses is emitted with one alignment, the largest power of two that divides

    the alignment proved for both slices: gcd of align<> and the bytes of every rest stride,
    2^m for a pointer swizzle S<b,m,s>,
    the run of V that is contiguous, on both sides, if its modes are taken in the order of their strides,
    every other static stride of either V (dynamic strides of V do not count: miscompile h13).

Wider accesses than that are split in pieces of that alignment, each as wide as the machine allows. The
pieces of one vector follow the swizzled address of its first byte, swz(p) + k, not swz(p + k) (miscompiles
h36, h37). With an explicit width n is fixed; with width 0 (auto) n is as many elements as that alignment
spans, if they divide the first mode of the source's V: ((4,4)):((16,1)) is moved as the four runs from its
first four elements, and (16):(1) to ((2,8)):((8,1)) as two runs. Else it is what of that span both V keep
together from their first element on; so it is where an alignment is below the element's size, whatever their
other strides.
"""

from __future__ import annotations

import math
from typing import Any

from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.inttuple import flatten
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.simplify import joined
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.copies.alignment import storage_bits
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.offsets import CompilerFails, rest_modes, size, v_mode
from layoutcheck.copies.plan import (
    NIBBLES_MOST_BYTES,
    Plan,
    chunk_starts,
    iterated,
    refuse_chunks,
    refuse_inside_bytes,
    vectors,
)
from layoutcheck.errors import InputError


def plan(copy: Copy, instance: Copy, atom: UniversalCopy) -> Plan:
    """Vectors of the atom's width (or of the width found), split to the alignment that was proved."""
    if 0 < atom.width_bits < copy.src.dtype.bits:  # copy_atom_call does not ask (measured: three signals)
        raise CompilerFails(f"the compiler dies of {atom}, which is narrower than {copy.src.dtype}")
    if copy.src.dtype.bits < 8:
        return _plan_sub_byte(copy, instance, atom)
    n, aligned_bytes = vector_and_alignment(copy, atom)
    return vectors(copy, instance, chunk_starts(copy, n), n * copy.src.dtype.bits, aligned_bytes)


def vector_and_alignment(copy: Copy, atom: UniversalCopy) -> tuple[int, int]:
    """Elements of one vector of a universal copy, and the bytes its address is proved to be a multiple of."""
    bits = copy.src.dtype.bits
    run = _run(copy)
    align = math.gcd(slice_align_bytes(copy.src), slice_align_bytes(copy.dst))
    span_bits = math.gcd(run * bits, 8 * align)
    if atom.width_bits:
        n = max(1, atom.width_bits // bits)
    elif copy.pred is not None:
        n = 1
    else:
        both = [v_mode(m.layout) for m in (copy.src, copy.dst)]
        n = span_bits // bits
        if n == 0 or size(both[0][0]) % n:
            n = math.gcd(n, *map(_contiguous, both))
        if span_bits & (span_bits - 1):
            raise InputError(
                f"vectors of {span_bits // 8} bytes at a pointer aligned to {align} are not modelled: "
                f"the compiler takes the next lower power of two for their alignment"
            )
    return n, max(1, math.gcd(span_bits, n * bits) // 8)


def _plan_sub_byte(copy: Copy, instance: Copy, atom: UniversalCopy) -> Plan:
    """4-bit elements and booleans, whose run is counted in whole bytes: a run of one is 0 bytes.

    gcd(0, n) being n, a stride that leaves less than a byte does not narrow the vector (miscompile h33).
    Where such vectors do not fill bytes or V, elements are moved one at a time (booleans by their run), as
    they are under a predicate, and the store of a 4-bit element clears the other one of its byte. Raises
    CompilerFails for slices and elements that begin inside a byte, InputError for booleans of which it is not
    known how many go at a time.
    """
    bits = copy.src.dtype.bits
    for memref in (copy.src, copy.dst):
        refuse_inside_bytes(memref)
    align = math.gcd(slice_align_bytes(copy.src), slice_align_bytes(copy.dst))
    runs = (_leading_run(_by_stride(v_mode(m.layout))) for m in (copy.src, copy.dst))
    run_bytes = math.gcd(*(run * bits // 8 for run in runs))  # one below a byte counts as 0
    if atom.width_bits:
        n = atom.width_bits // bits
        refuse_chunks(copy, n)
        width_bytes = math.gcd(run_bytes, align, n * bits // 8, NIBBLES_MOST_BYTES)
        return vectors(copy, instance, chunk_starts(copy, n), bits * n, width_bytes)
    if copy.pred is not None:
        refuse_chunks(copy, 1)
        return _one_at_a_time(copy, instance, 1)
    span = math.gcd(run_bytes, align)
    n = 8 * span // bits
    both = [v_mode(m.layout) for m in (copy.src, copy.dst)]
    for v in both if bits == 1 else ():
        extent, run = _contiguous(v), _leading(_by_stride(v))[0]
        if run != extent or (extent > 1 and (extent % 8 or extent < size(v[0]))):
            raise InputError(
                f"which booleans of the V {v} the compiler takes at a time is not known: its first {extent} "
                f"do not fill bytes, or are not all of its first mode, or of those that lie together"
            )
    if n == 0 or size(both[0][0]) % n:
        n = math.gcd(n, *map(_contiguous, both))
    if bits * n % 8 or size(v_mode(copy.src.layout)) % n:
        return _one_at_a_time(copy, instance, n)
    refuse_chunks(copy, n)
    width = math.gcd(span, n * bits // 8, NIBBLES_MOST_BYTES)
    return vectors(copy, instance, chunk_starts(copy, n), bits * n, width)


def _one_at_a_time(copy: Copy, instance: Copy, run: int) -> Plan:
    """Single 4-bit elements, each by a byte; booleans by runs. Raises CompilerFails for odd 4-bit strides."""
    if copy.src.dtype.bits == 1:
        return vectors(copy, instance, chunk_starts(copy, run), run, 1)
    for memref in (copy.src, copy.dst):
        leaves = _leaves(v_mode(memref.layout))
        if any(extent != 1 and getattr(d, "divisor", d) % 2 for extent, d in leaves):
            raise CompilerFails(f"{memref.layout} has 4-bit elements that begin inside a byte")
    return vectors(copy, instance, chunk_starts(copy, 1), 8, 1, data_bits=4)


def slice_align_bytes(memref: Memref) -> int:
    """What the compiler proves of a slice at any rest coordinate, and of the vectors under a swizzle.

    0, which divides into everything, for registers: whatever their `align<>`, only a swizzle constrains it.
    """
    registers = memref.space == "rmem"
    align = 0 if registers else memref.proved_align_bytes
    rest = rest_modes(memref.layout) if not registers else Layout.trusted(1, 0)
    for stride in iterated(rest.shape, rest.stride):
        step = stride.divisor if isinstance(stride, Dynamic) else abs(stride)
        align = math.gcd(align, max(1, step * storage_bits(memref.dtype) // 8) if step else 0)
    if memref.swizzle is not None and memref.swizzle.bits:
        align = math.gcd(align, memref.swizzle.granule)
    return align


def _run(copy: Copy) -> int:
    """Elements that both V keep together, wherever in V one begins counting.

    gcd of the leading contiguous extent and of every other static stride of each V mode, in the order of the
    strides, whatever that of the modes.
    """
    return math.gcd(*(_leading_run(_by_stride(v_mode(view.layout))) for view in (copy.src, copy.dst)))


def _by_stride(v: Layout) -> list[tuple[Any, Any]]:
    """The leaves by ascending stride; those that are no positive number come last."""
    return sorted(
        _leaves(v), key=lambda leaf: leaf[1] if isinstance(leaf[1], int) and leaf[1] > 0 else math.inf
    )


def _contiguous(v: Layout) -> int:
    """The leading contiguous extent of a V mode."""
    return _leading(_leaves(v))[0]


def _leading_run(leaves: list[tuple[Any, Any]]) -> int:
    """The run of extents and strides in the order in which they are counted."""
    extent, others = _leading(leaves)
    return math.gcd(extent, *others)


def _leading(leaves: list[tuple[Any, Any]]) -> tuple[int, tuple[int, ...]]:
    """The leading contiguous extent, and the other static strides; 1 and none where it begins with a step."""
    if not leaves:
        return 1, ()
    shapes, strides = joined(*map(tuple, zip(*leaves, strict=True)))
    if strides[0] != 1:
        return 1, ()
    assert type(shapes[0]) is int
    return shapes[0], tuple(stride for stride in strides[1:] if not isinstance(stride, Dynamic))


def _leaves(v: Layout) -> list[tuple[Any, Any]]:
    return list(zip(flatten(v.shape), flatten(v.stride), strict=True))
