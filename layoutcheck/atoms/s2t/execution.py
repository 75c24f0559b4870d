"""tcgen05.cp: what the emitted instructions do (PTX ISA; none of it was run on a Blackwell GPU).

Measured on the DSL, in PTX: one instruction for each V[1] coordinate (where V is ((n, m), ...)) and rest
coordinate, at the address of V's first element in tensor memory. Its descriptor's row strides are run-time
bits; which row lies where is not compared. Source addresses are labels: (instruction, row, unit of the row).
"""

from __future__ import annotations

import numpy as np

from layoutcheck.atoms.s2t import S2TCopy, rows_by_lane
from layoutcheck.atoms.tmem.addresses import LANE_BYTES
from layoutcheck.atoms.tmem.execution import refuse_mixed, steps_of
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.lanes import atom_part, matrix_iterations
from layoutcheck.copies.moves import Access, Execution, Intent, Places
from layoutcheck.copies.offsets import IntArray, limit, offsets
from layoutcheck.errors import InputError

LABEL = 1 << 32  # between the sources of two tcgen05.cp


def rows_of(atom: S2TCopy) -> IntArray:
    """The row that is written to each of the 128 lanes, -1 where none is."""
    rows: IntArray = np.full(128, -1, dtype=np.int64)
    for lane, row in rows_by_lane(atom).items():
        rows[lane] = row
    return rows


def label(iteration: IntArray, row: IntArray, unit: IntArray, row_units: int) -> IntArray:
    """The source label of units of rows, of `row_units` each, as in `intent`."""
    return iteration * LABEL + row * row_units + unit


def execute(_typed: Copy, copy: Copy, atom: S2TCopy, _src_base: int, dst_base: int) -> Execution:
    """One thread's tcgen05.cp: each writes its rows to the lanes of the shape, whatever V names."""
    bits, unit = copy.dst.dtype.bits, 4 if copy.dst.dtype.bits == 4 else 8
    if bits % unit:
        raise InputError(f"tcgen05.cp of {bits}-bit elements is not modelled")
    rows, per = rows_of(atom), 8 // unit
    lane = np.flatnonzero(rows >= 0)
    within = np.arange(atom.width_bits // unit, dtype=np.int64)
    relative = (lane[:, None] * (LANE_BYTES * per) + within).reshape(-1)
    refuse_mixed(copy)
    steps = steps_of(copy.dst, matrix_iterations(copy)[1].size)
    limit(steps.size * relative.size)
    source_row = np.repeat(rows[lane], within.size)
    index = np.arange(steps.size, dtype=np.int64)[:, None]
    src = label(index, source_row[None, :], np.tile(within, lane.size)[None, :], within.size)
    dst = (steps[:, None] + dst_base) * per + relative
    access = Access(atom.instruction, "tmem", relative.size // per, (steps + dst_base)[:, None])
    shape = (steps.size, 1, relative.size)
    source, target = (Places.of(side.reshape(shape)) for side in (src, dst))
    return Execution(source, target, unit, dst_accesses=(access,))


def intent(copy: Copy, atom: S2TCopy, _src_base: int, dst_base: int) -> Intent:
    """Every element of V is the part of the row that its own lane and column stand for.

    Of 4x256b V may also name the whole rectangle of 128 lanes that is "refreshed" (atoms/s2t), as
    `make_s2t_copy` has it partitioned: the four lanes that are written are then what is asked.
    """
    bits, unit = copy.dst.dtype.bits, 4 if copy.dst.dtype.bits == 4 else 8
    if bits % unit:
        raise InputError(f"tcgen05.cp of {bits}-bit elements is not modelled")
    at = offsets(atom_part(copy.dst.layout)) * (bits // unit)
    relative = (at[:, None] + np.arange(bits // unit, dtype=np.int64)).reshape(-1)
    rows, row_units = rows_of(atom), atom.width_bits // unit
    lane, within = np.divmod(relative, LANE_BYTES * 8 // unit)
    inside = (lane >= 0) & (lane < rows.size) & (within < row_units)
    row = rows[np.where(inside, lane, 0)]
    label = np.where(inside & (row >= 0), row * row_units + within, LABEL // 2 + relative)
    unmatched = 0 if inside.all() else int(np.count_nonzero(~inside)) * unit // bits
    if atom.lanes == 4 and np.unique(relative[inside]).size == rows.size * row_units:
        relative, label = relative[row >= 0], label[row >= 0]
    steps = matrix_iterations(copy)[1] * (bits // unit)
    limit(steps.size * relative.size)
    src = np.arange(steps.size, dtype=np.int64)[:, None] * LABEL + label
    dst = steps[:, None] + relative + dst_base * (8 // unit)
    return Intent(Places(src.reshape(-1, 1), 1), Places(dst.reshape(-1, 1), 1), unit, None, unmatched)
