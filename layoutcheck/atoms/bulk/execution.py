"""Bulk copies: `cp.async.bulk`, one instruction for each run of V that both sides keep together.

Measured on the DSL. With n elements an instruction,

    width given   n = width / bits of the atom's type; none at all is emitted where n does not divide the
                  run that V keeps together on both sides (miscompile h31): the verifier looked at more than V
    auto          n = that run, whatever it comes to: nobody asks again for 16 bytes

and n times the bits of the *atom's* element type are moved, whatever the tensors hold. A V permuted alike on
both sides is one run. Neither the alignment of the places is looked at (h21) nor a pointer swizzle, which is
dropped: addresses are linear (h22). A false predicate skips; chunk j of V asks entry j of mode 0.

The compiler elects no thread: each thread that gets there issues all of it. PTX ISA, cp.async.bulk: both
addresses and the size are multiples of 16. Measured on an H200: of another size the bytes past the last whole
16 are not moved and not counted, an address off 16 bytes faults (docs/evidence/bulk.json).

6-bit elements count 8 bits in an address and 6 in a size.
"""

from __future__ import annotations

import numpy as np

from layoutcheck.algebra.divide import logical_divide
from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.inttuple import flatten, product
from layoutcheck.algebra.inverse import max_common_layout
from layoutcheck.algebra.layout import Layout
from layoutcheck.atoms.bulk import GRAIN_BYTES, BulkCopy
from layoutcheck.atoms.bulk.compiler import common_elements
from layoutcheck.copies.addresses import address_bits
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.memref import Memref
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
from layoutcheck.copies.plan import Plan, pred_offsets, refuse_inside_bytes, rest_pairs

_OPS = {
    "g2s": "cp.async.bulk.shared::cluster.global",
    "s2g": "cp.async.bulk.global.shared::cta",
    "s2s": "cp.async.bulk.shared::cluster.shared::cta",
}


def plan(copy: Copy, instance: Copy, atom: BulkCopy) -> Plan:
    """One chunk for each instruction; none for a copy that vanishes."""
    src_v, dst_v = v_mode(copy.src.layout), v_mode(copy.dst.layout)
    _, at = chunks(copy, atom)
    rest = rest_pairs(instance)
    for memref, v in ((copy.src, src_v), (copy.dst, dst_v)):
        _lowerable(memref, v, vanishes=not at.size)
        if at.size:
            refuse_inside_bytes(memref, at)
    size_bytes = emitted_bytes(copy, atom)
    bits = size_bytes // GRAIN_BYTES * GRAIN_BYTES * 8
    limit(at.size * rest * max(1, bits // 8))
    places = []
    for memref, v in ((instance.src, src_v), (instance.dst, dst_v)):
        starts = offsets(rest_modes(memref.layout))[:rest, None] + offsets_at(_static(v), at)
        places.append(starts.reshape(-1) * address_bits(memref))
    entries = np.arange(at.size, dtype=np.int64)
    return Plan(
        places[0],
        places[1],
        bits,
        size_bytes,
        size_bytes,
        _OPS[atom.kind],
        _OPS[atom.kind],
        None if instance.pred is None else pred_offsets(instance.pred.layout, entries, rest),
        data_bits=bits,
        threads=copy.issue.threads if copy.issue else None,
        align_bytes=GRAIN_BYTES if bits else 1,  # less than 16 bytes move nothing, and fault nowhere
        linear=True,
    )


def emitted_bytes(copy: Copy, atom: BulkCopy) -> int:
    """The size that each instruction states; it moves as many whole 16 bytes of it."""
    return (atom.width_bits or chunks(copy, atom)[0] * atom.dtype.bits) // 8


def chunks(copy: Copy, atom: BulkCopy) -> tuple[int, IntArray]:
    """Elements of one instruction, and the index into V at which each begins."""
    src_v, dst_v = _static(v_mode(copy.src.layout)), _static(v_mode(copy.dst.layout))
    run = common_elements(src_v, dst_v)
    n = atom.width_bits // atom.dtype.bits or run
    count = 0 if run % n else size(src_v) // n
    starts = np.arange(count, dtype=np.int64) * n
    if run == 1:
        return n, starts
    order = logical_divide(Layout(size(src_v)), max_common_layout(src_v, dst_v), strict=False)
    return n, offsets_at(order, starts)


def _static(v: Layout) -> Layout:
    """V without the strides that extents of 1 carry, which may be dynamic."""
    strides = tuple(0 if n == 1 else d for n, d in zip(flatten(v.shape), flatten(v.stride), strict=True))
    return (
        Layout.trusted(flatten(v.shape), strides)
        if len(strides) > 1
        else Layout.trusted(product(v.shape), strides[0])
    )


def _lowerable(memref: Memref, v: Layout, vanishes: bool) -> None:
    """Raises CompilerFails for views that the verifier takes and the compiler then dies of."""
    for extent, stride in zip(flatten(v.shape), flatten(v.stride), strict=True):
        if isinstance(stride, Dynamic) and (extent != 1 or vanishes):
            raise CompilerFails(f"the compiler dies lowering a bulk copy whose V {v} has a run-time stride")
    bits = memref.dtype.bits
    if bits not in (1, 4, 6) and (bits < 8 or bits & (bits - 1)):
        raise CompilerFails(f"the compiler dies lowering a bulk copy of {memref.dtype}")
