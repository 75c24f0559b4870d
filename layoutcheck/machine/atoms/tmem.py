"""`tcgen05.ld` and `tcgen05.st`: a warp moves a rectangle of tensor memory from or to its registers.

Tensor memory is 128 lanes by 512 columns of 32 bits (PTX ISA, tcgen05, Tensor Memory). Warp w of a warpgroup
reaches lanes 32 (w mod 4) to 32 (w mod 4) + 31 only (Tensor Memory Access Restrictions). An address holds
the lane in its upper 16 bits and the column in its lower 16, so that lanes lie 65536 columns apart.

    shape      .xN takes         registers a thread
    32x32b     32 lanes x N      N
    16x64b     16 lanes x 2N     N
    16x128b    16 lanes x 4N     2N
    16x256b    16 lanes x 8N     4N
    16x32bx2   16 lanes x 2 N    N   (two pieces of N columns; the DSL puts the second right behind the first)

Blackwell only (sm_100f and sm_110f families). What is said of these atoms stands on the compiler and on the
PTX ISA; none of it was run on a Blackwell GPU.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from layoutcheck.machine.dtypes import DType

LANES = 128
COLUMNS = 512
COLUMN_BITS = 32
LANE_STEP = 1 << 16  # columns between the addresses of two lanes
WARP_LANES = 32

REPEATS = (1, 2, 4, 8, 16, 32, 64, 128)
# (lanes, bits): 32-bit registers of a thread for one repetition, and the most repetitions (PTX ISA,
# tcgen05.ld).
FORMS: dict[tuple[int, int], tuple[int, int]] = {
    (32, 32): (1, 128),
    (16, 32): (1, 128),
    (16, 64): (1, 128),
    (16, 128): (2, 64),
    (16, 256): (4, 32),
}


@dataclass(frozen=True, slots=True)
class TmemLoad:
    """`lanes` x `width_bits` is the PTX shape, `repeat` its .xN; `packed` is `.pack::16b`.

    (16, 32) is the shape `16x32bx2`. With `packed` each 32-bit register gets the lower halves of two columns.
    """

    dtype: DType
    lanes: int
    width_bits: int
    repeat: int
    packed: bool = False

    def __str__(self) -> str:
        return f"!cute_nvgpu.atom.tmem_load<{_facts(self)}{', pack16b' if self.packed else ''}>"


@dataclass(frozen=True, slots=True)
class TmemStore:
    """The store counterpart of `TmemLoad`; `packed` is `.unpack::16b`."""

    dtype: DType
    lanes: int
    width_bits: int
    repeat: int
    packed: bool = False

    def __str__(self) -> str:
        return f"!cute_nvgpu.atom.tmem_store<{_facts(self)}{', expand16b' if self.packed else ''}>"


TmemCopy: TypeAlias = "TmemLoad | TmemStore"


def _facts(atom: TmemCopy) -> str:
    return f"{atom.dtype}, {atom.lanes} DP, {atom.width_bits} bit, x{atom.repeat}"


def shape_name(atom: TmemCopy) -> str:
    """The PTX shape: `32x32b`, `16x32bx2`, ..."""
    return f"{atom.lanes}x{atom.width_bits}b" + ("x2" if (atom.lanes, atom.width_bits) == (16, 32) else "")


def exists(atom: TmemCopy) -> bool:
    """Whether PTX has this shape with this number of repetitions."""
    _, most = FORMS.get((atom.lanes, atom.width_bits), (0, 0))
    return atom.repeat in REPEATS and atom.repeat <= most


def columns(atom: TmemCopy) -> int:
    """Columns of 32 bits that one instruction takes in every lane."""
    pieces = 2 if (atom.lanes, atom.width_bits) == (16, 32) else 1
    return atom.repeat * pieces * atom.width_bits // COLUMN_BITS * (2 if atom.packed else 1)


def registers(atom: TmemCopy) -> int:
    """32-bit registers of a thread."""
    return FORMS[atom.lanes, atom.width_bits][0] * atom.repeat
