"""Where the registers of `ldmatrix` and `stmatrix` lie, given the address of every lane's row."""

from __future__ import annotations

import numpy as np

from layoutcheck.copies.offsets import IntArray


def matrix_register(rows: IntArray, matrix: int) -> IntArray:
    """Where register `matrix` of a lane comes from: lane t has bytes 4 (t % 4) of row t / 4 (PTX ISA)."""
    thread = np.arange(rows.size)
    lane = thread & 31
    at: IntArray = rows[thread - lane + 8 * matrix + lane // 4] + 4 * (lane % 4)
    return at


def transposed_register(rows: IntArray, matrix: int, half: int) -> IntArray:
    """The same of `.trans`, for each 16-bit half: lane t holds rows 2 (t % 4) and the next, element t / 4."""
    thread = np.arange(rows.size)
    lane = thread & 31
    at: IntArray = rows[thread - lane + 8 * matrix + 2 * (lane % 4) + half] + 2 * (lane // 4)
    return at
