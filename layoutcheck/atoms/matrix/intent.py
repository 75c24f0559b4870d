"""Intent of ldmatrix and stmatrix: elements of two lanes that are the same bits of the matrices."""

from __future__ import annotations

import numpy as np

from layoutcheck.atoms.matrix import LdMatrix, StMatrix
from layoutcheck.copies.addresses import before_recast, matrix_unit, swizzled
from layoutcheck.copies.atom import traits
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.lanes import atom_parts, lane_offsets, matrix_iterations, offsets_of_lanes, where_bits
from layoutcheck.copies.moves import NOTHING, Intent, Places
from layoutcheck.copies.offsets import IntArray, limit, offsets_at, size
from layoutcheck.errors import InputError


def intent(copy: Copy, atom: LdMatrix | StMatrix, src_base: int, dst_base: int) -> Intent:
    """Element i of lane t of the destination comes from the source element that names the same bits."""
    src_bits, dst_bits = copy.src.dtype.bits, copy.dst.dtype.bits
    if any(bits != 4 and bits % 8 for bits in (src_bits, dst_bits)):
        raise InputError(f"matrix copies between {copy.src.dtype} and {copy.dst.dtype} are not modelled")
    unit = matrix_unit(copy)
    form = traits(atom)
    src_atom, dst_atom = atom_parts(copy)
    wanted = size(form.dst[1])
    given = size(dst_atom) * dst_bits
    bits = np.arange(0, min(wanted, given), unit, dtype=np.int64)
    bits = bits[: bits.size * unit // dst_bits * dst_bits // unit]
    at = offsets_of_lanes(form.dst, bits)  # [lane, unit] -> bit of the matrices
    lane, bit = where_bits(form.src)
    src_lane, src_bit = lane[at], bit[at]
    known = src_bit // src_bits < size(src_atom)
    iterations = matrix_iterations(copy)
    limit(32 * max(1, bits.size) * iterations[0].size)
    dst_elements = offsets_at(dst_atom, bits // dst_bits)
    src_elements = offsets_at(src_atom, src_bit // src_bits)
    src_lanes, dst_lanes = lane_offsets(copy, "src"), lane_offsets(copy, "dst")
    out: list[IntArray] = []
    for memref, base, per_lane, elements, within, index in (
        (copy.src, src_base, src_lanes[:, src_lane], src_elements, src_bit % src_bits // unit, iterations[0]),
        (copy.dst, dst_base, dst_lanes[:, :, None], dst_elements, bits % dst_bits // unit, iterations[1]),
    ):
        # [warp, lane, unit] then [iteration, warp, lane, unit]
        local = (per_lane + elements) * (memref.dtype.bits // unit) + within
        everything = index[:, None, None, None] * (memref.dtype.bits // unit) + local + base * (8 // unit)
        out.append(swizzled(before_recast(memref), everything, unit))
    source = np.where(known, out[0], NOTHING)
    each = dst_bits // unit
    threads = out[1].shape[1] * out[1].shape[2]
    shape = (iterations[0].size, threads, bits.size // each, each)  # iteration, thread, element, unit
    ordered = [a.reshape(shape).transpose(0, 2, 1, 3) for a in (source, out[1])]
    sides = [Places.of(a.reshape(-1, threads, each)) for a in ordered]
    unmatched = -(-abs(size(src_atom) * src_bits - size(form.src[1])) // src_bits)
    unmatched += -(-abs(given - wanted) // dst_bits)  # part of a wide element is one without a partner, too
    return Intent(sides[0], sides[1], unit, None, unmatched)
