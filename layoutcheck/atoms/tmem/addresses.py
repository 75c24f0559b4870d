"""Tensor memory as byte addresses.

A tensor-memory address (PTX ISA, Tensor Memory Addressing) has the lane in its upper and the column of 32
bits in its lower 16 bits. Four times that address is a byte address: lanes lie `LANE_BYTES` apart, and the
512 columns of a lane are its first 2048 bytes. The base of a view is taken to be column 0 of the warp's
first lane.
"""

from __future__ import annotations

from layoutcheck.atoms.tmem import COLUMN_BITS, LANE_STEP, TensorMemoryAtom
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.lanes import matrix_iterations
from layoutcheck.copies.moves import Execution
from layoutcheck.copies.offsets import IntArray

LANE_BYTES = LANE_STEP * 4
LABELS = 1 << 60  # above every address: what is worked out and comes from no place


def touched(
    atom: TensorMemoryAtom, done: Execution, src_base: int, dst_base: int
) -> tuple[IntArray, IntArray]:
    """Lane and column of every byte that instruction i of thread t touches: [i, t, byte].

    Relative to the base of the view (of the whole tile, with a tiling).
    """
    moves, base = (done.src, src_base) if atom.memory_side == "src" else (done.dst, dst_base)
    moves = moves[:, :, moves[0, 0] < LABELS]
    relative = moves // (8 // done.unit_bits) - base
    return relative // LANE_BYTES, relative % LANE_BYTES * 8 // COLUMN_BITS


def offset_bits(copy: Copy, atom: TensorMemoryAtom) -> IntArray:
    """The offset in bits, from the base of the static copy's view, of every instruction of one warp."""
    both = matrix_iterations(copy)
    return both[atom.memory_side == "dst"] * copy.side(atom.memory_side).dtype.bits
