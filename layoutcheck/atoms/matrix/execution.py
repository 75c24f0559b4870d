"""`ldmatrix` and `stmatrix`: a warp moves matrices between rows in shared memory and registers.

PTX ISA: lane t brings the address of one 16-byte row, which must be a multiple of 16. The rows and the
registers of each lane are the two sides of the atom's thread-value layouts.

Measured on the DSL: one instruction for each V[1] coordinate (where V is ((n, m), ...)) and rest coordinate,
under the predicate's entry of it. The address is that of V's first element in shared memory: its strides are
not looked at. The registers are 32-bit units of V's layout in registers, upcast: strides between units are
honoured, a stride between the elements of one unit is not (miscompile h18). ldmatrix moves as many matrices
as the atom says, stmatrix as many as there are units in its source (miscompile h20).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from layoutcheck.algebra.inttuple import flatten
from layoutcheck.algebra.layout import Layout
from layoutcheck.atoms.matrix import LdMatrix, StMatrix
from layoutcheck.copies.addresses import before_recast, matrix_unit, swizzled
from layoutcheck.copies.atom import traits
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.lanes import atom_parts, lane_offsets, matrix_iterations, offsets_of_lanes, where_bits
from layoutcheck.copies.moves import NOTHING, Access, Execution, Intent, Places
from layoutcheck.copies.offsets import CompilerFails, IntArray, limit, offsets_at, size, v_mode
from layoutcheck.copies.plan import pred_offsets, refuse_source_v, rest_pairs, slip
from layoutcheck.errors import InputError

_ROW_BYTES = 16


def execute(copy: Copy, instance: Copy, atom: LdMatrix | StMatrix, src_base: int, dst_base: int) -> Execution:
    """The moves of one or more warps. Raises InputError for counts and patterns that have no instruction."""
    load = atom.loads
    refuse_source_v(copy, f"an {atom.name}")
    if isinstance(atom, LdMatrix) and atom.pattern not in ("u16", "u8"):
        raise InputError(f"ldmatrix with the unpacking pattern {atom.pattern} is not modelled")
    registers, memory = (instance.dst, instance.src) if load else (instance.src, instance.dst)
    register_base, memory_base = (dst_base, src_base) if load else (src_base, dst_base)
    if registers.swizzle is not None and registers.swizzle.bits:
        raise InputError(f"registers under {registers.swizzle} are not modelled for {atom.name}")
    units = _as_registers(atom_parts(copy)[load], registers.dtype.bits)
    if isinstance(atom, StMatrix):
        if size(units) not in (1, 2, 4):
            raise CompilerFails(f"stmatrix of {size(units)} registers does not exist: the compiler fails")
        atom = replace(atom, num_matrices=size(units))
    form = traits(atom)
    rows, fragment = (form.src, form.dst) if load else (form.dst, form.src)
    unit = matrix_unit(copy)
    bits = np.arange(0, size(fragment[1]), unit, dtype=np.int64)  # one per unit of a lane's registers
    iterations = matrix_iterations(instance)
    limit(32 * bits.size * iterations[0].size)

    local = offsets_at(units, bits // 32) * (32 // unit) + bits % 32 // unit + register_base * 8 // unit
    of_registers, of_memory = ("dst", "src") if load else ("src", "dst")
    starts = _starts(copy, instance, of_registers, iterations[load], unit)
    in_registers = starts[:, :, :, None] + local

    row_lane, row_bit = where_bits(rows)
    row_at = _rows(copy, instance, of_memory, iterations[not load], unit, memory_base)
    at = offsets_of_lanes(fragment, bits)
    in_memory = row_at[:, :, row_lane[at]] + row_bit[at] // unit

    moves = Places.of(_per_thread(in_memory)), Places.of(_per_thread(in_registers))
    used = int(row_lane.max()) + 1
    # by matrices of 8 rows, as the lowering counts: .m16n16.x2 has 32 row addresses
    name = f"{'ldmatrix' if load else 'stmatrix'}.x{used // 8}"
    rows_at = row_at[:, :, :used].reshape(row_at.shape[0], -1) // (8 // unit)
    accesses = (Access(name, memory.space, _ROW_BYTES, rows_at),)
    inner = size(v_mode(copy.src.layout)[1]) if copy.splits_v else 1
    entries = np.arange(inner, dtype=np.int64)
    return Execution(
        *(moves if load else moves[::-1]),
        unit_bits=unit,
        src_accesses=accesses if load else (),
        dst_accesses=() if load else accesses,
        pred=pred_offsets(instance.pred.layout, entries, rest_pairs(instance)) if instance.pred else None,
        chunk_bytes=_ROW_BYTES,
    )


def _starts(copy: Copy, instance: Copy, side: str, of_iteration: IntArray, unit: int) -> IntArray:
    """Where each lane begins on a side, in units: [iteration, warp, lane]."""
    width = instance.side(side).dtype.bits // unit
    return (of_iteration[:, None, None] + lane_offsets(instance, side, copy.block_threads)) * width


def _rows(copy: Copy, instance: Copy, side: str, of_iteration: IntArray, unit: int, base: int) -> IntArray:
    """Where the row that each lane names begins in memory, in units: [iteration, warp, lane]."""
    starts = _starts(copy, instance, side, of_iteration, unit) + base * 8 // unit
    row_at = swizzled(instance.side(side), starts, unit)
    if copy.splits_v:
        inner = v_mode(copy.side(side).layout)[1]
        missed = slip(copy.side(side), inner, np.arange(size(inner), dtype=np.int64))
        if missed is not None:
            row_at += np.tile(missed * (8 // unit), row_at.shape[0] // missed.size)[:, None, None]
    return row_at


def _per_thread(moves: IntArray) -> IntArray:
    """[iteration, warp, lane, unit] -> [iteration, thread, unit]."""
    return moves.reshape(moves.shape[0], -1, moves.shape[3])


def _as_registers(layout: Layout, bits: int) -> Layout:
    """The layout of elements in units of 32 bits, leaf by leaf: CuTe's `upcast`, or `downcast` of wider ones.

    A wider element is taken apart only in a mode of stride 1; of one that stands alone the first 32 bits
    count (measured: stores 16 B apart of two i64 at stride 2).
    """
    shape, stride = [], []
    for extent, step in zip(flatten(layout.shape), flatten(layout.stride), strict=True):
        if type(step) is not int:
            raise InputError(f"registers have no dynamic strides: {layout}")
        if bits > 32:
            parts = bits // 32
            shape.append(extent * parts if abs(step) == 1 else extent)
            stride.append(step if abs(step) == 1 else step * parts)
            continue
        n = 32 // bits
        fused = -(-n // abs(step)) if step else 1
        shape.append(-(-extent // fused))
        stride.append(-(-abs(step) // n) * (-1 if step < 0 else 1))
    return Layout(tuple(shape), tuple(stride))


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
