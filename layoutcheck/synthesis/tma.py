"""Bulk tensor copies by the copy engine, box by box."""

from __future__ import annotations

import math
from dataclasses import dataclass

from layoutcheck.algebra.inttuple import flatten
from layoutcheck.machine.arch import SECTOR_BYTES
from layoutcheck.machine.canonical.modes import MODES
from layoutcheck.machine.cost import Counts
from layoutcheck.synthesis.moves import Move
from layoutcheck.synthesis.shared import Shared

MOST_BOX = 256
"""Elements of a box in each mode (cuTensorMapEncodeTiled: boxDim)."""
BOX_ROW_CYCLES = 1.7
"""The copy engine's for each row of a box (H200, rows of 16 bytes; docs/evidence/synthesis.json)."""
ROW_BYTES = 16
"""What rows of a box are whole multiples of (cuTensorMapEncodeTiled: boxDim times the element's size)."""


@dataclass(frozen=True, eq=False)
class Tma(Move):
    """A bulk tensor copy between a global tensor and shared memory, in boxes as wide as a run.

    `wide` says that the architecture swizzles atoms of 32 bytes too (S<2,5,2>).
    """

    tile: tuple[int, int]
    element_bytes: int
    fast: int
    read: bool
    wide: bool
    kind: str = "tma"
    reads_swizzle: bool = True

    def fits(self, shared: Shared) -> bool:
        """A swizzle of TMA's, whose span a run fills at most; rows of 16 bytes without padding."""
        s = shared.swizzle
        run = shared.run * self.element_bytes
        if shared.fast != self.fast or shared.padding or run % ROW_BYTES:
            return False
        if s is None:
            return shared.run <= MOST_BOX
        mode = MODES.get((s.bits, s.base, s.shift))
        return mode is not None and mode.units * ROW_BYTES == run and (s.base == 4 or self.wide)

    def boxes(self, shared: Shared) -> int:
        """Instructions: rows that follow each other, a run apart, are one box, up to `MOST_BOX` of them."""
        slow = shared.layout[1 - self.fast]
        together = 1
        for extent, stride in zip(flatten(slow.shape), flatten(slow.stride), strict=True):
            if extent > 1 and stride != shared.run * together:
                break
            together *= extent
        pieces = math.prod(self.tile) // (shared.run * together)
        return pieces * -(-together // MOST_BOX)

    @property
    def least(self) -> Counts:
        """One box with rows as long as the tile's."""
        return self._counts(self.tile[self.fast], 1)

    def counts(self, shared: Shared) -> Counts:
        """Rows of a run each."""
        return self._counts(shared.run, self.boxes(shared))

    def _counts(self, run: int, boxes: int) -> Counts:
        rows = self.tile[1 - self.fast]  # memory sees a row once, whatever boxes it is in
        pieces = self.tile[self.fast] // run * rows
        size = math.prod(self.tile) * self.element_bytes
        sectors = pieces * -(-run * self.element_bytes // SECTOR_BYTES)
        reads, writes = (rows, 0) if self.read else (0, rows)
        busy = round(BOX_ROW_CYCLES * pieces)
        return Counts(boxes, busy, sectors, -(-size // SECTOR_BYTES), reads, writes)
