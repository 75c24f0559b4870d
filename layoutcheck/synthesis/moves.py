"""The ways into shared memory and out of it, with what each asks of the machine.

    moves.py       what they share, and those without a layout in shared memory to suit
    threads.py     loads and stores of threads, cp.async among them
    matrix.py      ldmatrix and stmatrix
    tma.py         bulk tensor copies
    conflicts.py   wavefronts of many moves at once

A move `fits` some layouts of the tile in shared memory. Its `least` counts are those of a layout without any
conflict, `counts(shared)` those of a given one: wavefronts by `machine.banks`, sectors by `machine.sectors`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from layoutcheck.analysis.cost import CopyCost, accesses_cost
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.moves import Access
from layoutcheck.machine.banks import OFF, IntArray
from layoutcheck.machine.best_swizzle import BANK_SPAN_BYTES
from layoutcheck.machine.cost import NOTHING, Counts
from layoutcheck.synthesis.deals import Deal
from layoutcheck.synthesis.shared import Shared
from layoutcheck.synthesis.wanted import Consumer


class Move:
    """One step of a plan. `kind` names it in a report."""

    kind: str = ""
    reads_swizzle: bool = False
    """Whether `fits` depends on a layout's swizzle itself, beyond the bytes that it keeps together."""

    def fits(self, shared: Shared) -> bool:
        """Whether it can read or write that layout."""
        raise NotImplementedError

    @property
    def least(self) -> Counts:
        """No layout makes it cheaper."""
        raise NotImplementedError

    def least_for(self, fast: int) -> Counts:
        """The same, of layouts that are contiguous along that mode."""
        return self.least

    def counts(self, shared: Shared) -> Counts:
        """With the conflicts of that layout."""
        return self.least

    @property
    def simplicity(self) -> tuple[int, ...]:
        """Smaller is simpler."""
        return ()


class Global(NamedTuple):
    """A side of a move in global memory: a tile of known strides, for its sectors, and whether it is read."""

    tile: Memref
    read: bool

    def addresses(self, index: IntArray) -> IntArray:
        """Byte addresses of elements of the tile."""
        rows = self.tile.layout.shape[0]
        first, second = self.tile.layout.stride
        at = (index % rows * first + index // rows * second) * self.tile.element_bytes
        return np.where(index < 0, OFF, at)

    def cost(self, deal: Deal, mode: int) -> CopyCost | None:
        """Of a deal's accesses along a mode."""
        at = self.addresses(deal.accesses(mode))
        name = "ld.global" if self.read else "st.global"
        one = Access(name, "gmem", deal.width(mode) * self.tile.element_bytes, at)
        return accesses_cost([one], []) if self.read else accesses_cost([], [one])


@dataclass(frozen=True, eq=False)
class Descriptor(Move):
    """A tensor core reads the tile itself, 128 bytes a wavefront; canonical layouts have no conflicts."""

    consumer: Consumer
    size: int
    kind: str = "descriptor"

    def fits(self, shared: Shared) -> bool:
        """Only canonical layouts are considered for it."""
        return bool(shared.kind)

    @property
    def least(self) -> Counts:
        """Its reads."""
        return Counts(0, -(-self.size // BANK_SPAN_BYTES), 0)


@dataclass(frozen=True, eq=False)
class Direct(Move):
    """From global memory to registers or to global memory, past shared memory; registers turn blocks."""

    deal: Deal
    sides: tuple[tuple[Global, int], ...]
    kind: str = "direct"

    def fits(self, shared: Shared) -> bool:
        """It has no shared memory."""
        return False

    @cached_property
    def least(self) -> Counts:
        """All of it."""
        total = NOTHING
        for side, mode in self.sides:
            cost = side.cost(self.deal, mode)
            total += NOTHING if cost is None else cost.counts
        return total

    @property
    def simplicity(self) -> tuple[int, ...]:
        """As the deal's."""
        return self.deal.simplicity
