"""`tcgen05.cp`: one thread starts a copy from shared to tensor memory, the source named by a descriptor.

- `128x256b`: 128 rows of 32 bytes, to all lanes, 8 columns
- `128x128b`: 128 rows of 16 bytes, to all lanes, 4 columns
- `64x128b`: 64 rows of 16 bytes, to two pairs of warps' lanes, `.warpx2::02_13` or `::01_23`, 4 columns
- `32x128b`: 32 rows of 16 bytes, to the lanes of all four warps, `.warpx4`, 4 columns
- `4x256b`: 4 rows of 32 bytes, to one lane of each warp, 8 columns

PTX ISA, tcgen05.cp, which does not say which lanes the four rows of `4x256b` go to. CUTLASS does
(include/cute/atom/copy_traits_sm100.hpp, SM100_UTCCP_4dp256bit: lanes 32 apart, of a rectangle of 128 that is
"refreshed"), and so do TVM's documents (tirx/tile_ops/tcgen05_cp: lanes 0, 32, 64 and 96 from the address);
the thread-value layout of the DSL's atom is CUTLASS's.

Blackwell only (sm_100f and sm_110f families): stands on the compiler and these documents, not on a run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from layoutcheck.algebra.layout import Layout
from layoutcheck.atoms.tmem import COLUMN_BITS, LANE_STEP, TensorMemoryAtom
from layoutcheck.copies.atom import AtomTraits, thread_values
from layoutcheck.errors import InputError
from layoutcheck.machine.dtypes import DType

BROADCASTS = ("", "lw_0213", "lw_0123", "x4")
# (lanes, bits, broadcast) that the DSL's type takes (measured); PTX ISA, tcgen05.cp, has the same six. Of
# each (extent, stride) in bits of the shared-memory side, as the DSL numbers them. 4x256b is numbered in the
# 128 lanes x 256 bits that it refreshes, partitioned right of 32-bit elements only.
FORMS: dict[tuple[int, int, str], list[tuple[int, int]]] = {
    (128, 256, ""): [(32768, 1)],
    (128, 128, ""): [(16384, 1)],
    (4, 256, ""): [(4, 32), (256, 128)],
    (64, 128, "lw_0213"): [(64, 1), (128, 64), (2, 0)],
    (64, 128, "lw_0123"): [(32, 1), (128, 32), (2, 4096), (2, 0)],
    (32, 128, "x4"): [(32, 1), (128, 32), (4, 0)],
}


@dataclass(frozen=True, slots=True)
class S2TCopy(TensorMemoryAtom):
    """`lanes` x `width_bits` is the PTX shape, `ctas` the `cta_group`, `broadcast` one of `BROADCASTS`."""

    family: ClassVar[str] = "s2t"
    memory_side: ClassVar[str] = "dst"
    data_side: ClassVar[str] = "dst"

    dtype: DType
    lanes: int
    width_bits: int
    ctas: int = 1
    broadcast: str = ""

    def __str__(self) -> str:
        broadcast = f", {self.broadcast}" if self.broadcast else ""
        return (
            f"!cute_nvgpu.atom.s2t_copy<{self.dtype}, {self.lanes} DP, {self.width_bits} bit, "
            f"{self.ctas} cta{broadcast}>"
        )

    @property
    def title(self) -> str:
        """`tcgen05.cp.32x128b`."""
        return f"tcgen05.cp.{self.lanes}x{self.width_bits}b"

    def rectangle_phrase(self, element: DType) -> str:
        """Whole rows, whatever V names."""
        return (
            f"{self.title} writes rows of {self.width_bits // 8} B, {self.width_bits // COLUMN_BITS} "
            f"columns, to lanes whose stride is {LANE_STEP * COLUMN_BITS // element.bits} elements of "
            f"{element}"
        )

    @property
    def instruction(self) -> str:
        """The PTX instruction without its operands, as the DSL emits it."""
        multicast = {"": "", "x4": ".warpx4", "lw_0213": ".warpx2::02_13", "lw_0123": ".warpx2::01_23"}
        group = f"tcgen05.cp.cta_group::{self.ctas}"
        return f"{group}.{self.lanes}x{self.width_bits}b{multicast[self.broadcast]}"

    @property
    def phrase(self) -> str:
        """`tcgen05.cp.cta_group::1.32x128b.warpx4 (i8)`."""
        return f"{self.instruction} ({self.dtype})"

    def traits(self) -> AtomTraits:
        """All threads name the same rows of shared memory, and the same rectangle of tensor memory."""
        if (self.lanes, self.width_bits, self.broadcast) not in FORMS or self.ctas not in (1, 2):
            raise InputError(f"{self} does not exist", expected="a form of tcgen05.cp")
        threads = Layout(self.ctas, 0)
        source = FORMS[self.lanes, self.width_bits, self.broadcast]
        src = thread_values(threads, source)
        written = math.prod(extent for extent, _ in source)
        dst = src if self.lanes == 4 else thread_values(threads, [(written, 1)])
        return AtomTraits(self.ctas, src, dst, dst)


def lane_groups(atom: S2TCopy) -> tuple[tuple[int, ...], ...]:
    """For each of the copies that are written: the first lanes that its runs of 32 rows go to.

    `.warpx4` writes its 32 rows to lanes 0, 32, 64 and 96 on; `.warpx2::02_13` rows 0-31 to lanes 0 and 64,
    rows 32-63 to 32 and 96; `::01_23` rows 0-31 to 0 and 32, rows 32-63 to 64 and 96 (PTX ISA, tcgen05.cp).
    """
    if atom.broadcast == "x4":
        return (0,), (32,), (64,), (96,)
    if atom.broadcast == "lw_0213":
        return (0, 32), (64, 96)
    if atom.broadcast == "lw_0123":
        return (0, 64), (32, 96)
    return (tuple(range(0, atom.lanes, 32)),)


def rows_by_lane(atom: S2TCopy) -> dict[int, int]:
    """The row that is written to each lane, counted from the address's; the others are left as they are."""
    if atom.lanes == 4:
        return {32 * row: row for row in range(4)}
    return {
        first + k: 32 * i + k
        for group in lane_groups(atom)
        for i, first in enumerate(group)
        for k in range(32)
    }
