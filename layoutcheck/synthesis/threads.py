"""Loads and stores of threads between global and shared memory or registers; `cp.async` is one of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from layoutcheck.machine import banks
from layoutcheck.machine.arch import WARP
from layoutcheck.machine.banks import CP_ASYNC, LOAD, STORE, IntArray
from layoutcheck.machine.best_swizzle import BANK_SPAN_BYTES
from layoutcheck.machine.cost import NOTHING, Counts
from layoutcheck.machine.cp_async import bypasses
from layoutcheck.synthesis.conflicts import Banked
from layoutcheck.synthesis.deals import Deal
from layoutcheck.synthesis.moves import Global
from layoutcheck.synthesis.shared import Shared

WIDEST_BYTES = 16
"""Of an access; cp.async of it may go past L1."""


@dataclass(frozen=True, eq=False)
class Threads(Banked):
    """Loads and stores of threads, between global memory (`outer`; None: registers alone) and shared memory.

    Between the two sides a block is turned in registers where they are contiguous along different modes.
    `asynchronous` is `cp.async`, which has no registers between.
    """

    deal: Deal
    element_bytes: int
    outer: Global | None
    into: bool
    asynchronous: bool = False

    @property
    def kind(self) -> str:  # type: ignore[override]
        """`cp.async`, `universal`, or what the threads do without global memory."""
        return "cp.async" if self.asynchronous else "universal" if self.outer else "registers"

    def width_bytes(self, mode: int) -> int:
        """Of an access along a mode."""
        return self.deal.width(mode) * self.element_bytes

    def fits(self, shared: Shared) -> bool:
        """Accesses lie within runs; only what has registers turns its blocks, and only where it must."""
        deal = self.deal
        straight = shared.fast == deal.fast
        if (straight and deal.block > 1) or (self.asynchronous and not straight):
            return False
        if self.width_bytes(shared.fast) > shared.widest:
            return False
        along, across = deal.steps
        return shared.composes(deal.fast, along) and shared.composes(1 - deal.fast, across)

    @cached_property
    def fixed(self) -> Counts:
        """Of global memory, whatever the layout of shared memory."""
        if self.outer is None:
            return NOTHING
        found = self.outer.counts(self.deal, self.deal.fast)
        if not self.asynchronous:
            return found
        return replace(found, instructions=0, wavefronts=0 if self.past_l1 else found.wavefronts)

    def way(self, fast: int) -> Hashable:
        """Where it goes past L1 the other side costs too."""
        return self.op, self.width_bytes(fast), id(self.outer) if self.past_l1 else None

    @property
    def op(self) -> str:
        """Of `machine.banks`."""
        return CP_ASYNC if self.asynchronous else STORE if self.into else LOAD

    @property
    def past_l1(self) -> bool:
        """Whether it is `cp.async.cg`, which knows no banks."""
        return self.asynchronous and self.width_bytes(self.deal.fast) == WIDEST_BYTES

    @cached_property
    def linear(self) -> bool:
        """Whether threads and rounds are powers of two."""
        return all(n & (n - 1) == 0 for n in (*self.deal.tile, self.deal.along, self.deal.across))

    def lanes(self, fast: int) -> IntArray:
        """The elements at which the threads' blocks start."""
        return self.deal.lanes

    def begins(self, fast: int) -> IntArray:
        """What further accesses along a mode add to them."""
        return self.deal.begins(fast)

    def issued(self, fast: int) -> int:
        """Warp instructions along a mode."""
        return self.deal.issued(fast)

    def _least(self, mode: int) -> Counts:
        """Of shared memory along a mode: every wavefront full."""
        lanes = [min(WARP, self.deal.threads - first) for first in range(0, self.deal.threads, WARP)]
        each = sum(max(1, -(-n * self.width_bytes(mode) // BANK_SPAN_BYTES)) for n in lanes)
        issued = self.issued(mode)
        return Counts(issued, issued // len(lanes) * each, 0)

    def least_for(self, fast: int) -> Counts:
        """Where shared memory is contiguous along that mode."""
        return self.fixed + self._least(fast)

    @property
    def beside(self) -> Callable[[IntArray], IntArray] | None:
        """What goes past L1 costs by the lines of both sides."""
        return self.outer.addresses if self.outer is not None and self.past_l1 else None

    def spent(self, index: IntArray, shared: Shared) -> tuple[IntArray, ...]:
        """Wavefronts; of what goes past L1 packets, and sectors."""
        at = shared.at(index)
        if self.beside is None:
            return (banks.wavefronts(at, self.width_bytes(shared.fast) * 8, self.op).wavefronts,)
        found = bypasses(at, self.beside(index))
        return found.wavefronts, found.sectors

    def issued_counts(self, fast: int, spent: Sequence[int]) -> Counts:
        """With so many wavefronts in shared memory, or packets and sectors."""
        if self.past_l1:
            wavefronts, sectors = spent
            return replace(self.fixed, instructions=self.issued(fast), wavefronts=wavefronts, sectors=sectors)
        return self.fixed + Counts(self.issued(fast), spent[0], 0)

    @property
    def simplicity(self) -> tuple[int, ...]:
        """As the deal's; widest accesses first."""
        return (*self.deal.simplicity, -self.deal.vector)
