"""Which row tcgen05.cp writes where.

It names shared memory by a descriptor, whose row strides are run-time bits; which row lies where is not
compared. Source addresses are then labels: (instruction, row, unit of the row).
"""

from __future__ import annotations

import numpy as np

from layoutcheck.atoms.s2t import S2TCopy, rows_by_lane
from layoutcheck.copies.offsets import IntArray

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
