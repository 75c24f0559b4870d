"""`ldmatrix` and `stmatrix`: 8 x 8 matrices between shared memory and the registers of MMAs."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from layoutcheck.machine import banks
from layoutcheck.machine.arch import WARP
from layoutcheck.machine.banks import MATRIX, OFF, IntArray
from layoutcheck.machine.cost import Counts
from layoutcheck.synthesis.conflicts import Banked
from layoutcheck.synthesis.shared import Shared
from layoutcheck.synthesis.wanted import Consumer

ROW_BYTES = 16
"""Of a matrix row (PTX ISA, ldmatrix)."""


@dataclass(frozen=True, eq=False)
class Matrix(Banked):
    """`ldmatrix` or `stmatrix` by warps that tile an operand: `matrices` and `warps` along (MN, K).

    A matrix is 8 along MN and 16 bytes along K; of `.trans` 8 x 8. A lane holds 32 bits of it.
    """

    consumer: Consumer
    tile: tuple[int, int]
    element_bytes: int
    matrices: tuple[int, int]
    warps: tuple[int, int]
    kind: str = "ldmatrix"

    @property
    def trans(self) -> bool:
        """Whether rows run along MN."""
        return self.consumer.target.endswith(".trans")

    @property
    def store(self) -> bool:
        """Whether it is `stmatrix`, which accumulators of m16n8 MMAs leave by."""
        return self.consumer.unit == "stmatrix"

    @property
    def threads(self) -> int:
        """Those of the warps that take part."""
        return WARP * math.prod(self.warps)

    @property
    def reach(self) -> tuple[int, int]:
        """Elements of one round, along (MN, K)."""
        along = ROW_BYTES // self.element_bytes
        return 8 * self.matrices[0] * self.warps[0], along * self.matrices[1] * self.warps[1]

    @property
    def extents(self) -> tuple[int, int]:
        """The operand's, along (MN, K)."""
        mn, k = self.consumer.modes
        return self.tile[mn], self.tile[k]

    def fits(self, shared: Shared) -> bool:
        """Rows of 16 bytes are contiguous and aligned."""
        mn, k = self.consumer.modes
        return (
            shared.fast == (mn if self.trans else k)
            and shared.widest == ROW_BYTES
            and shared.composes(mn, ((self.extents[0] // self.reach[0], self.reach[0]),))
            and shared.composes(k, ((self.extents[1] // self.reach[1], self.reach[1]),))
        )

    def way(self, fast: int) -> Hashable:
        """All rows are 16 bytes."""
        return MATRIX

    @property
    def linear(self) -> bool:
        """Whether all extents are powers of two, and with them what divides them."""
        return all(n & (n - 1) == 0 for n in self.tile)

    def lanes(self, fast: int) -> IntArray:
        """The elements at which the rows of the first matrices start; OFF for lanes without a row."""
        am, ak = self.matrices
        along = ROW_BYTES // self.element_bytes
        lane = np.arange(8 * am * ak)
        matrix, row = lane // 8, lane % 8
        in_mn, in_k = matrix % am * 8, matrix // am * along
        place = (in_mn, in_k + row) if self.trans else (in_mn + row, in_k)
        mn, k = self.consumer.modes
        found = np.full((1, WARP), OFF, np.int64)
        found[0, : len(lane)] = place[0] * self._steps[mn] + place[1] * self._steps[k]
        return found

    def begins(self, fast: int) -> IntArray:
        """Where the matrices of each instruction start."""
        starts = [
            np.arange(0, extent, reach // warps)
            for extent, reach, warps in zip(self.extents, self.reach, self.warps, strict=True)
        ]
        mn, k = self.consumer.modes
        return (starts[0][:, None] * self._steps[mn] + starts[1][None, :] * self._steps[k]).reshape(-1)

    @property
    def _steps(self) -> tuple[int, int]:
        """From an element to its neighbour along each of the tile's modes."""
        return 1, self.tile[0]

    @cached_property
    def least(self) -> Counts:
        """One wavefront a matrix."""
        count = math.prod(self.matrices)
        size = math.prod(self.tile) * self.element_bytes // (8 * ROW_BYTES)
        return Counts(size // count, size, 0)

    def spent(self, index: IntArray, shared: Shared) -> tuple[IntArray, ...]:
        """Wavefronts."""
        return (banks.wavefronts(shared.at(index), 8 * ROW_BYTES, MATRIX).wavefronts,)

    def issued_counts(self, fast: int, spent: Sequence[int]) -> Counts:
        """With so many wavefronts."""
        return Counts(self.least.instructions, spent[0], 0)

    @property
    def simplicity(self) -> tuple[int, ...]:
        """Matrices as an operand A of m16 has them, warps along MN, as tiled MMAs have them."""
        return (
            -math.prod(self.matrices),
            abs(self.matrices[0] - self.matrices[1]),
            self.warps[1],
            -self.matrices[0],
        )
