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

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from layoutcheck.algebra.image import image
from layoutcheck.algebra.layout import Layout
from layoutcheck.copies.memref import Memref
from layoutcheck.machine import banks
from layoutcheck.machine.arch import LINE_BYTES, SECTOR_BYTES
from layoutcheck.machine.banks import OFF, STORE, IntArray
from layoutcheck.machine.best_swizzle import BANK_SPAN_BYTES
from layoutcheck.machine.cost import NOTHING, Counts
from layoutcheck.machine.sectors import sectors
from layoutcheck.synthesis.deals import Deal, starts
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
    """A side of a move in global memory: a tile of known strides, for its sectors.

    `op` of `machine.banks` takes its words: of loads from one address, where rows overlap, one wavefront
    serves all, of cp.async each has its own.
    """

    tile: Memref
    op: str

    def addresses(self, index: IntArray) -> IntArray:
        """Byte addresses of elements of the tile."""
        rows = self.tile.layout.shape[0]
        first, second = self.tile.layout.stride
        at = (index % rows * first + index // rows * second) * self.tile.element_bytes
        return np.where(index < 0, OFF, at)

    def counts(self, deal: Deal, mode: int) -> Counts:
        """Of a deal's accesses along a mode, which take every element of the tile once.

        Accesses of a warp that lie whole lines apart have the same sectors and banks: one stands for them.
        So do those of deals whose threads lie in rows whole lines apart, however far.
        """
        stride: Any = self.tile.layout.stride
        size, fast = self.tile.element_bytes, deal.fast
        each = np.bincount(self.addresses(deal.begins(mode)) % LINE_BYTES, minlength=LINE_BYTES)
        within = np.flatnonzero(each)
        apart = mode == fast and stride[1 - fast] * size % LINE_BYTES == 0
        lanes = replace(deal, block=1) if apart else deal
        spent = _spent(self, lanes, deal.width(mode) * size * 8, tuple(within.tolist()))
        fetched, passes = (int(each[within] @ one) for one in spent)
        distinct, runs = _covered(self.tile.layout, self.tile.element_bytes)
        reads, writes = (0, runs) if self.op == STORE else (runs, 0)
        return Counts(deal.issued(mode), passes, fetched, distinct, reads, writes)


@lru_cache(maxsize=4096)
def _spent(side: Global, deal: Deal, bits: int, within: tuple[int, ...]) -> tuple[IntArray, IntArray]:
    """Sectors and wavefronts of all warps' accesses, for each place within a line where they may begin."""
    rows = starts(np.array(within), side.addresses(deal.lanes))
    moved = sectors(rows, bits).sectors
    passes = banks.wavefronts(rows, bits, side.op).wavefronts
    return moved.reshape(len(within), -1).sum(axis=1), passes.reshape(len(within), -1).sum(axis=1)


@lru_cache(maxsize=64)
def _covered(tile: Layout, element_bytes: int) -> tuple[int, int]:
    """The sectors of a whole tile, and how many runs without a gap they lie in."""
    steps = np.diff(np.sort(image(tile) * element_bytes // SECTOR_BYTES))
    return int(np.count_nonzero(steps)) + 1, int(np.count_nonzero(steps > 1)) + 1


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
            total += side.counts(self.deal, mode)
        return total

    @property
    def simplicity(self) -> tuple[int, ...]:
        """As the deal's."""
        return self.deal.simplicity
