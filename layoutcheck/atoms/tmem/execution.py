"""tcgen05.ld, st and cp: what the emitted instructions do (PTX ISA; none of it was run on a Blackwell GPU).

Measured on the DSL, in PTX: one instruction for each V[1] coordinate (where V is ((n, m), ...)) and rest
coordinate, at the address of V's first element. Of the view's strides nothing else is looked at. The number
of repetitions comes from the size of the registers' V, in elements of the *atom's* type, rounded down to a
power of two, and not from the atom; they are read and written as adjacent 32-bit words from V's first
element, whatever its strides. The second piece of 16x32bx2 lies as many columns on as the *atom* has
repetitions. An offset that is no whole column puts its remainder in the address's uppermost bits: another
lane.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from layoutcheck.algebra.inttuple import flatten
from layoutcheck.algebra.layout import Layout
from layoutcheck.atoms.tmem import FORMS, WARP_LANES, TmemCopy, shape_name
from layoutcheck.atoms.tmem.addresses import LANE_BYTES
from layoutcheck.copies.addresses import unit_bits
from layoutcheck.copies.atom import traits
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.lanes import atom_part, lane_offsets, matrix_iterations, offsets_of_lanes
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.moves import NOTHING, Access, Execution, Intent, Places
from layoutcheck.copies.offsets import (
    CompilerFails,
    IntArray,
    has_inner_rest,
    limit,
    offsets,
    offsets_at,
    rest_modes,
    size,
    v_mode,
)
from layoutcheck.errors import InputError

COLUMN_BYTES = 4


def execute(typed: Copy, copy: Copy, atom: TmemCopy, src_base: int, dst_base: int) -> Execution:
    """The moves of one or more warps. Raises CompilerFails for fragments that no repetition fits."""
    unit_bits(copy)
    refuse_mixed(copy)
    registers = copy.side(atom.register_side)
    _whole_bytes(registers)
    done = replace(atom, repeat=emitted_repeat(atom, atom_part(registers.layout)))
    return instructions(typed, copy, done, src_base, dst_base, atom.split_columns)


def instructions(
    typed: Copy, copy: Copy, done: TmemCopy, src_base: int, dst_base: int, split_columns: int
) -> Execution:
    """What instructions of the repetition of `done` move, at every rectangle of the view."""
    load, threads = done.loads, typed.block_threads
    unit = unit_bits(copy)
    view = copy.side(done.memory_side)
    view_base, register_base = (src_base, dst_base) if load else (dst_base, src_base)
    side = ("src", "dst") if load else ("dst", "src")
    at = rectangle(done, split_columns)  # lane, byte of its registers -> bytes from the address
    iterations = matrix_iterations(copy)
    of_view, of_registers = iterations if load else iterations[::-1]
    lanes = lane_offsets(copy, side[1], threads)
    warps = lane_offsets(copy, side[0], threads)[:, 0]
    limit(of_view.size * lanes.size * at.shape[1])
    bits = view.dtype.bits
    address = _added(steps_of(view, of_view.size)[:, None], tmem_address(warps, bits), bits)
    in_view = address[:, :, None, None] + at + view_base
    words = np.arange(at.shape[1], dtype=np.int64)
    per_byte = 8 // bits if bits < 8 else 1
    start = of_registers[:, None, None] + lanes
    start = start // per_byte if bits < 8 else start * (bits // 8)
    in_registers = start[:, :, :, None] + words + register_base
    moves = [Places.of(_per_thread(m, unit)) for m in (in_view, in_registers)]
    starts = np.repeat(address + view_base, 32, axis=1)
    access = Access(done.title, "tmem", at.shape[1], starts)
    if load:
        return Execution(moves[0], moves[1], unit, src_accesses=(access,))
    return Execution(moves[1], moves[0], unit, dst_accesses=(access,))


def refuse_mixed(copy: Copy) -> None:
    """Raises where V is (atom, rest) on one side alone."""
    src, dst = copy.src.layout, copy.dst.layout
    if has_inner_rest(src) and not has_inner_rest(dst):
        raise CompilerFails(f"V is (atom, rest) in the source {src}, not in {dst}: the compiler dies")
    if has_inner_rest(dst) and not has_inner_rest(src) and size(v_mode(dst)[1]) > 1:
        raise InputError(f"V is (atom, rest) in the destination {dst}, not in {src}: not modelled")


def _whole_bytes(registers: Memref) -> None:
    """Code generation fails on registers of sub-byte elements that begin inside a byte."""
    bits = registers.dtype.bits
    if bits >= 8:
        return
    if registers.align_bytes is None or any(
        isinstance(step, int) and step * bits % 8 for step in flatten(rest_modes(registers.layout).stride)
    ):
        raise CompilerFails(f"{registers} begins inside a byte: code generation fails")


def emitted_repeat(atom: TmemCopy, fragment: Layout) -> int:
    """The .xN that the DSL emits for a fragment of a thread's elements, counted in the atom's type."""
    per_repeat, most = FORMS[atom.lanes, atom.width_bits]
    words = size(fragment) * atom.dtype.bits // 32
    if per_repeat == 1:
        words = max(1, words)
    repeat = 1 << (words // per_repeat).bit_length() - 1 if words >= per_repeat else 0
    if not atom.loads and size(fragment) * atom.dtype.bits != 32 * per_repeat * repeat:
        raise CompilerFails(
            f"tcgen05.st.{shape_name(atom)} stores {per_repeat} x 1, 2, 4, ... registers a thread: "
            f"code generation fails on {size(fragment)} values of {atom.dtype}"
        )
    if not 1 <= repeat <= most:
        raise CompilerFails(
            f"a tcgen05 {shape_name(atom)} copy takes {per_repeat} to {per_repeat * most} registers a "
            f"thread; a fragment of {words} kills the compiler"
        )
    return repeat


def rectangle(atom: TmemCopy, split_columns: int) -> IntArray:
    """[lane of the warp, byte of its registers] -> bytes from the instruction's address."""
    form = traits(atom)
    fragment, whole = (form.dst, form.src) if atom.loads else (form.src, form.dst)
    row_bits = size(whole[1]) // atom.lanes
    bit = offsets_of_lanes(fragment, np.arange(0, size(fragment[1]), 8, dtype=np.int64))
    lane, within = bit // row_bits, bit % row_bits // 8
    if (atom.lanes, atom.width_bits) == (16, 32):
        half = row_bits // 16
        within = within % half + within // half * (split_columns * COLUMN_BYTES)
    if atom.packed:  # 16 bits from each column
        within = within // 2 * COLUMN_BYTES + within % 2
    return lane * LANE_BYTES + within


def tmem_address(elements: IntArray, bits: int) -> IntArray:
    """Bytes from the base, of an offset in elements, as the emitted address has it.

    Of elements below 32 bits the offset is rotated right, as a 32-bit number, by the bits that count elements
    within a column: what is no whole column ends up on top, and so does the sign of a negative offset.
    """
    if bits >= 32:
        return elements * (bits // 8)
    by = (32 // bits).bit_length() - 1
    number = elements % (1 << 32)
    return (number >> by | number << (32 - by) & 0xFFFFFFFF) * COLUMN_BYTES


def steps_of(view: Memref, count: int) -> IntArray:
    """Bytes from the base of each instruction of a view: rest modes and V[1] are turned to columns apart."""
    bits = view.dtype.bits
    rest = tmem_address(offsets(rest_modes(view.layout)), bits)
    inner = v_mode(view.layout)[1] if has_inner_rest(view.layout) else Layout.trusted(1, 0)
    return _added(rest[:, None], tmem_address(offsets(inner), bits), bits).reshape(-1)[:count]


def _added(a: IntArray, b: IntArray, bits: int) -> IntArray:
    """The sum of two addresses, which are 32-bit numbers of columns where elements are below 32 bits."""
    return a + b if bits >= 32 else (a + b) % (COLUMN_BYTES << 32)


def _per_thread(moves: IntArray, unit: int) -> IntArray:
    """[iteration, warp, lane, byte] -> [iteration, thread, unit]."""
    flat: IntArray = moves.reshape(moves.shape[0], -1, moves.shape[3])
    if unit == 8:
        return flat
    return (flat[..., None] * 2 + np.arange(2, dtype=np.int64)).reshape(*flat.shape[:2], -1)


def intent(copy: Copy, atom: TmemCopy, src_base: int, dst_base: int) -> Intent:
    """Element v of a thread's registers and the element of the rectangle that has the same bits."""
    unit = unit_bits(copy)
    load = atom.loads
    bits = copy.src.dtype.bits
    view, registers = (copy.src, copy.dst) if load else (copy.dst, copy.src)
    view_base, register_base = (src_base, dst_base) if load else (dst_base, src_base)
    form = traits(atom)
    rectangle, fragment = (form.src, form.dst) if load else (form.dst, form.src)
    whole, own = atom_part(view.layout), atom_part(registers.layout)
    count = size(fragment[1]) // bits
    given = min(size(own), count)
    value = np.arange(given, dtype=np.int64)
    if is_row(copy, atom):
        step = LANE_BYTES * 8 // bits
        at = offsets_at(whole, value)[:, None] + np.arange(WARP_LANES, dtype=np.int64) * step
        known = np.ones(at.shape, dtype=np.bool_)
        unmatched = abs(size(own) - count)
    else:
        named = offsets_of_lanes(fragment, value * bits).T // bits  # value, lane -> element of the rectangle
        known = named < size(whole)
        at = offsets_at(whole, named)
        unmatched = abs(size(own) - count) + abs(size(whole) - size(rectangle[1]) // bits)
    iterations = matrix_iterations(copy)
    of_view, of_registers = iterations if load else iterations[::-1]
    side = ("src", "dst") if load else ("dst", "src")
    warps = lane_offsets(copy, side[0])[:, :1]  # the same for all lanes of a warp
    lanes = lane_offsets(copy, side[1])
    limit(of_view.size * given * lanes.size * max(1, bits // 8))
    # iteration, value, warp, lane
    in_view = of_view[:, None, None, None] + at[:, None, :] + warps
    offsets_of = offsets_at(own, value)[:, None, None] + lanes
    in_registers = of_registers[:, None, None, None] + offsets_of
    sides = []
    for elements, base in ((in_view, view_base), (in_registers, register_base)):
        flat = elements.reshape(-1, lanes.size)
        per = bits // unit
        sides.append(flat[:, :, None] * per + base * (8 // unit) + np.arange(per, dtype=np.int64))
    if not known.all():
        missing = np.broadcast_to(known[None, :, None, :], in_view.shape).reshape(-1, lanes.size)
        sides[0][~missing] = NOTHING
    if not load:
        sides = sides[::-1]
        sides[0] = np.where(sides[1] == NOTHING, NOTHING, sides[0])
    return Intent(Places.of(sides[0]), Places.of(sides[1]), unit, None, unmatched)


def is_row(copy: Copy, atom: TmemCopy) -> bool:
    """Whether the view of tensor memory names one lane's elements: a row instead of the rectangle."""
    view, registers = (copy.src, copy.dst) if atom.loads else (copy.dst, copy.src)
    return atom.lanes == WARP_LANES and size(atom_part(view.layout)) == size(atom_part(registers.layout))
