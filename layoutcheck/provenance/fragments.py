"""Which element of A, B and C each byte is that an instruction multiplies: registers and matrix descriptors.

PTX ISA, wgmma.mma_async, "Register Fragments" and "Shared Memory Matrix Layout". Warp w of a warpgroup has
rows 16 w to 16 w + 15 of wgmma's A and accumulators, each as a warp has those of m16n8kK.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from layoutcheck.atoms.matrix import LdMatrix
from layoutcheck.atoms.tmem import FORMS, TmemLoad, exists, registers
from layoutcheck.atoms.tmem.addresses import LANE_BYTES
from layoutcheck.atoms.tmem.execution import rectangle
from layoutcheck.copies.lanes import offsets_of_lanes
from layoutcheck.copies.offsets import offsets_at
from layoutcheck.machine.dtypes import dtype
from layoutcheck.machine.mma import register_values
from layoutcheck.provenance.refs import Array

LANES = 32
_SWIZZLE_BYTES = {0: 16, 1: 128, 2: 64, 3: 32}  # wgmma's descriptors: bits 62 and 63
_TCGEN05_BYTES = {0: 16, 2: 128, 4: 64, 6: 32}  # tcgen05's: bits 61 to 63


@cache
def operand_registers(letter: str, count: int, bits: int) -> tuple[Array, Array]:
    """(lanes, elements) -> row (m of A, n of B) and k, of `count` elements of `bits` in each lane."""
    return _registers(letter, count, 8 if letter == "B" else 16, max(1, 32 // bits))


@cache
def accumulator_registers(count: int) -> tuple[Array, Array]:
    """(lanes, elements) -> m and n of an accumulator of 16 rows."""
    return _registers("C", count, 16, 2)


def _registers(letter: str, count: int, rows: int, word: int) -> tuple[Array, Array]:
    values = register_values(letter, rows, count * LANES // rows, word)
    lane = np.arange(LANES)[:, None]
    at = lane // 4 + word * rows * (lane % 4) + offsets_at(values, np.arange(count))[None]
    return at % rows, at // rows


def described(
    descriptor: int, rows: int, depth: int, bits: int, major: str, *, tcgen05: bool = False
) -> Array | None:
    """(rows, depth) -> the shared address of each element of an operand that is read by a descriptor.

    `major` is "k" where K is contiguous, "m" where M or N is. None where the descriptor has a base offset, or
    tcgen05's swizzle of 32-byte atoms.
    """
    start = (descriptor & 0x3FFF) << 4
    leading, stride = (descriptor >> 16 & 0x3FFF) << 4, (descriptor >> 32 & 0x3FFF) << 4
    width = _TCGEN05_BYTES.get(descriptor >> 61 & 7, 0) if tcgen05 else _SWIZZLE_BYTES[descriptor >> 62 & 3]
    if descriptor >> 49 & 7 or not width:
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


def tensor_cells(lanes: int, bits: int, size: int) -> tuple[Array, Array] | None:
    """(lanes of a warp, bytes) -> the lane and the byte, from its address, of each byte of tcgen05.ld and st.

    The instruction takes `lanes` by `bits`, repeated for registers of `size` bytes. None where PTX has none.
    """
    repeat = size // 4 // FORMS.get((lanes, bits), (size + 1, 0))[0]
    atom = TmemLoad(dtype("u32"), lanes, bits, repeat)
    if not exists(atom) or registers(atom) * 4 != size:
        return None
    at = rectangle(atom, repeat)
    return at // LANE_BYTES, at % LANE_BYTES


def matrix_bytes(count: int) -> tuple[Array, Array]:
    """(lanes, bytes) -> the row and the byte in it of ldmatrix m16n16 with `.trans`, of `count` registers."""
    fragment = LdMatrix(dtype("u8"), count // 2, True, (16, 16), "u8").traits().dst
    bit = offsets_of_lanes(fragment, np.arange(0, 32 * count, 8, dtype=np.int64))
    return bit // 128, bit % 128 // 8


def accumulator_cells(rows: int, columns: int, pair: bool) -> tuple[Array, Array] | None:
    """(rows, columns) -> the lane and the column of tensor memory of each accumulator in one block.

    PTX ISA, tcgen05, "Data path layout organization": 128 rows lie in all lanes; 64 rows of one block in the
    first 16 lanes of each 32 (F); 64 rows of a pair's block in 64 lanes, N's second half in the others (B).
    """
    row, column = np.arange(rows, dtype=np.int64)[:, None], np.arange(columns, dtype=np.int64)[None, :]
    if rows == 128:
        lane = row + 0 * column
    elif rows == 64 and not pair:
        lane = row // 16 * 32 + row % 16 + 0 * column
    elif rows == 64 and columns % 2 == 0:
        lane, column = row + 64 * (column // (columns // 2)), column % (columns // 2)
    else:
        return None
    return lane, column + 0 * row


class Instruction(NamedTuple):
    """What tcgen05's instruction descriptor says: the shape, bits of an input, and what is contiguous."""

    rows: int
    columns: int
    depth: int
    bits: int
    major_a: str
    major_b: str


def read_instruction(word: int, kind: str) -> Instruction | None:
    """A tcgen05 descriptor; None for inputs below a byte in bytes of their own, and results not of 32 bits.

    PTX ISA, tcgen05, "Instruction descriptor": the format of D in bits 4 and 5 (with block scales an index of
    scales: D has 32 bits), of A from 7, of B from 10, the majors in 15 and 16, N / 8 from 17, M / 16 from 24,
    with block scales K = 96 in bit 31. Two inputs of 4 bits count as one of 8.
    """
    scaled = kind.startswith("mx")
    bits = {"f16": 16, "tf32": 32, "f8f6f4": 8, "i8": 8, "mxf8f6f4": 8, "mxf4": 8, "mxf4nvf4": 8}.get(kind, 0)
    narrow = kind.endswith("f8f6f4") and max(word >> 7 & 7, word >> 10 & 7) > 1
    if not bits or narrow or (word >> 31 if scaled else (word >> 4 & 3) not in (1, 2)):
        return None
    majors = ["m" if word >> at & 1 else "k" for at in (15, 16)]
    return Instruction(16 * (word >> 24 & 31), 8 * (word >> 17 & 63), 256 // bits, bits, *majors)
