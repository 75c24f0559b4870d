"""Tensor memory as byte addresses.

A tensor-memory address (PTX ISA, Tensor Memory Addressing) has the lane in its upper and the column of 32
bits in its lower 16 bits. Four times that address is a byte address: lanes lie `LANE_BYTES` apart, and the
512 columns of a lane are its first 2048 bytes. The base of a view is taken to be column 0 of the warp's
first lane.

tcgen05.cp names shared memory by a descriptor, whose row strides are run-time bits; which row lies where is
not compared. Source addresses are then labels: (instruction, row, unit of the row).
"""

from __future__ import annotations

import numpy as np

from layoutcheck.copies.offsets import IntArray
from layoutcheck.machine.atoms import S2TCopy
from layoutcheck.machine.atoms.s2t import rows_by_lane
from layoutcheck.machine.atoms.tmem import LANE_STEP

LANE_BYTES = LANE_STEP * 4
LABEL = 1 << 32  # between the sources of two tcgen05.cp


def rows_of(atom: S2TCopy) -> IntArray:
    """The row that is written to each of the 128 lanes, -1 where none is."""
    rows: IntArray = np.full(128, -1, dtype=np.int64)
    for lane, row in rows_by_lane(atom).items():
        rows[lane] = row
    return rows


def label(iteration: IntArray, row: IntArray, unit: IntArray, row_units: int) -> IntArray:
    """The source label of units of rows, of `row_units` each, as in `s2t_intent`."""
    out: IntArray = iteration * LABEL + row * row_units + unit
    return out
