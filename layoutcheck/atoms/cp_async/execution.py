"""`cp.async`: one instruction of the atom's width at each place where V begins.

Measured on the DSL: where V is ((n, m), ...) there is one instruction for each of the m, whatever n is;
otherwise one for all of V. Neither V's size nor its strides nor the alignment of the places is looked at.
PTX ISA, cp.async: both addresses must be multiples of cp-size. A false predicate becomes src-size 0, which
fills the destination with zeros; only the lowest bit of the predicate's value is read.
"""

from __future__ import annotations

import numpy as np

from layoutcheck.atoms.cp_async import CpAsync
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.offsets import CompilerFails, limit, size, v_mode
from layoutcheck.copies.plan import Plan, refuse_inside_bytes, refuse_source_v, vectors

WIDTHS = (32, 64, 128)
LEAST_BITS = 32  # of what is written: less is read (src-size) and the rest is zeros (measured)


def plan(copy: Copy, instance: Copy, atom: CpAsync) -> Plan:
    """One chunk of the atom's width for each V[1] coordinate and rest coordinate."""
    src, dst = v_mode(copy.src.layout), v_mode(copy.dst.layout)
    refuse_source_v(copy, "a cp.async")
    inner = np.zeros(1, dtype=np.int64)
    step = (1, 1)
    if copy.splits_v:
        limit(size(src[1]))
        inner = np.arange(size(src[1]), dtype=np.int64)
        step = (size(src[0]), size(dst[0]))
    if atom.width_bits > LEAST_BITS and atom.width_bits not in WIDTHS:
        raise CompilerFails(f"ptxas refuses a cp.async of {atom.width_bits // 8} bytes")
    for memref, each in zip((copy.src, copy.dst), step, strict=True):
        if memref.dtype.bits < 8 and memref.align_bytes is None:
            raise CompilerFails(f"a pointer to {memref.dtype} without an alignment has no address")
        refuse_inside_bytes(memref, inner * each)
    bits = max(LEAST_BITS, atom.width_bits)
    made = vectors(copy, instance, inner * step[0], bits, bits // 8, dst_starts=inner * step[1])
    return made._replace(src_op="cp.async", dst_op="cp.async", data_bits=atom.width_bits)
