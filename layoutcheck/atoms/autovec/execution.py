"""`autovec_copy`, `basic_copy` and `basic_copy_if`: the ops that choose their own atom.

autovec_copy divides both tensors by their common layout and then by the vector it has found, so chunk k
begins at element P(k * n) of each, P being the order of the elements in that division. What is emitted there
is decided by the types of the divided tensors (atoms/autovec). basic_copy is a universal copy of single
elements; basic_copy_if loops over them in Python, each under its own predicate.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from layoutcheck.algebra.divide import logical_divide
from layoutcheck.algebra.inverse import max_common_layout
from layoutcheck.algebra.layout import Layout
from layoutcheck.atoms.autovec import autovec_width, resolve
from layoutcheck.atoms.register import RegisterCopy
from layoutcheck.atoms.universal import UniversalCopy
from layoutcheck.atoms.universal.execution import plan as plan_universal
from layoutcheck.atoms.universal.execution import vector_and_alignment
from layoutcheck.copies.addresses import as_stored
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.offsets import limit, offsets_at, size
from layoutcheck.copies.plan import Plan, access_bytes, refuse_inside_bytes, rest_pairs, slip, window
from layoutcheck.errors import InputError


def plan(copy: Copy, instance: Copy, _atom: None) -> Plan:
    """The chunks of whichever function it is."""
    return _plan_elements(copy, instance) if copy.op == "basic_copy_if" else _plan_chosen(copy, instance)


def _plan_elements(copy: Copy, instance: Copy) -> Plan:
    """basic_copy_if: one access an element, in the order of the elements of the destination."""
    count = size(copy.dst.layout)
    bits = copy.dst.dtype.bits
    limit(count * max(1, bits // 8))
    if bits % 8:
        raise InputError(f"element-wise copies of {bits}-bit elements are not modelled")
    index = np.arange(count, dtype=np.int64)
    return Plan(
        offsets_at(instance.src.layout, index),
        offsets_at(instance.dst.layout, index),
        bits,
        _element_bytes(copy.src),
        _element_bytes(copy.dst),
        f"ld.{window(copy.src.space)}",
        f"st.{window(copy.dst.space)}",
        offsets_at(instance.pred.layout, index) if instance.pred else None,
        data_bits=bits,
        src_slip=slip(copy.src, copy.src.layout, index),
        dst_slip=slip(copy.dst, copy.dst.layout, index),
    )


def _element_bytes(memref: Memref) -> int:
    """The accesses that one element takes: as wide as its pointer's `align<>` lets them be.

    Unlike universal copies these loops forget that a swizzle finer than an element weakens it. Raises
    InputError for alignments that are not powers of two, which the compiler rounds differently for the first
    element than for the others.
    """
    align, width_bytes = memref.proved_align_bytes, memref.dtype.bits // 8
    if align & (align - 1) and (align & -align) < width_bytes:
        raise InputError(f"elements of {width_bytes} bytes at a pointer aligned to {align} are not modelled")
    return min(16, width_bytes, align & -align)


def _plan_chosen(copy: Copy, instance: Copy) -> Plan:
    """The vectors of the copy that autovec_copy builds, at the places of the tensors it was given."""
    stored = as_stored(copy)
    if copy.op == "basic_copy" or autovec_width(stored.src, stored.dst) < stored.src.dtype.bits:
        elements = resolve(replace(copy, op="basic_copy"))
        assert isinstance(elements.atom, UniversalCopy)
        return plan_universal(elements, instance, elements.atom)
    copy, built = stored, resolve(stored)
    if isinstance(built.atom, RegisterCopy):
        n = built.atom.width_bits // copy.src.dtype.bits
        aligned_bytes = built.atom.width_bits // 8
    else:
        assert isinstance(built.atom, UniversalCopy)
        n, aligned_bytes = vector_and_alignment(built, built.atom)
    chunks = rest_pairs(built)
    limit(chunks * n * max(1, copy.src.dtype.bits // 8))
    common = max_common_layout(copy.src.layout, copy.dst.layout)
    starts = np.arange(chunks, dtype=np.int64) * n
    at = []
    for typed, memref in ((copy.src, instance.src), (copy.dst, instance.dst)):
        order = logical_divide(Layout(size(memref.layout)), common, strict=False)
        index = offsets_at(order, starts)
        refuse_inside_bytes(
            typed.with_layout(Layout.trusted((typed.layout.shape,), (typed.layout.stride,))), index
        )
        at.append(offsets_at(memref.layout, index))
    return Plan(
        at[0],
        at[1],
        n * copy.src.dtype.bits,
        *access_bytes(copy, aligned_bytes),
        f"ld.{window(copy.src.space)}",
        f"st.{window(copy.dst.space)}",
        data_bits=n * copy.src.dtype.bits,
    )
