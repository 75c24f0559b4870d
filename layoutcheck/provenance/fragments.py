"""Which element of A, B and C each byte is that an instruction multiplies: registers and matrix descriptors.

PTX ISA, mma.sync, "Matrix Fragments for mma.m16n8kK", and wgmma.mma_async, "Register Fragments" and "Shared
Memory Matrix Layout". Warp w of a warpgroup has rows 16 w to 16 w + 15 of wgmma's A and accumulators, each as
a warp has those of m16n8kK.
"""

from __future__ import annotations

import numpy as np

from layoutcheck.provenance.refs import Array

LANES = 32
_SWIZZLE_BYTES = {0: 16, 1: 128, 2: 64, 3: 32}  # wgmma's descriptors: bits 62 and 63


def operand_registers(letter: str, count: int, bits: int) -> tuple[Array, Array]:
    """(lanes, elements) -> row (m of A, n of B) and k, of `count` elements of `bits` in each lane."""
    lane, value, word = np.arange(LANES)[:, None], np.arange(count)[None], max(1, 32 // bits)
    inner, outer, both = value % word, value // word, 2 if letter == "A" else 1
    row = lane // 4 + 8 * (outer % both)
    return row + 0 * value, lane % 4 * word + inner + 4 * word * (outer // both)


def accumulator_registers(count: int) -> tuple[Array, Array]:
    """(lanes, elements) -> m and n of an accumulator of 16 rows."""
    lane, value = np.arange(LANES)[:, None], np.arange(count)[None]
    return lane // 4 + 8 * (value % 4 // 2), 8 * (value // 4) + 2 * (lane % 4) + value % 2


def described(descriptor: int, rows: int, depth: int, bits: int, major: str) -> Array | None:
    """(rows, depth) -> the shared address of each element of an operand that wgmma reads by a descriptor.

    `major` is "k" where K is contiguous, "m" where M or N is. None where the descriptor has a base offset.
    """
    start = (descriptor & 0x3FFF) << 4
    leading, stride = (descriptor >> 16 & 0x3FFF) << 4, (descriptor >> 32 & 0x3FFF) << 4
    width = _SWIZZLE_BYTES[descriptor >> 62 & 3]
    if descriptor >> 49 & 7:
        return None
    row, k = np.arange(rows, dtype=np.int64)[:, None], np.arange(depth, dtype=np.int64)[None, :]
    if major == "k":
        byte = k * bits // 8
        at = start + row // 8 * stride + row % 8 * width
        at = at + (byte // 16 * leading + byte % 16 if width == 16 else byte)
    else:
        each = width * 8 // bits  # elements of M or N that lie together
        along, across = (stride, leading) if width == 16 else (leading, stride)
        at = start + row // each * along + row % each * bits // 8 + k // 8 * across + k % 8 * width
    mask = {128: 7, 64: 3, 32: 1, 16: 0}[width]
    return at ^ (((at >> 7) & mask) << 4)
