"""The ways into shared memory and out of it, with what each asks of the machine.

A move `fits` some layouts of the tile in shared memory. Its `least` counts are those of a layout without any
conflict, `counts(shared)` those of a given one: wavefronts by `machine.banks`, sectors by `machine.sectors`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from layoutcheck.algebra.inttuple import flatten
from layoutcheck.analysis.cost import CopyCost, accesses_cost
from layoutcheck.copies.memref import Memref
from layoutcheck.copies.moves import Access
from layoutcheck.machine import banks
from layoutcheck.machine.arch import SECTOR_BYTES, WARP
from layoutcheck.machine.banks import CP_ASYNC, LOAD, MATRIX, OFF, STORE, IntArray
from layoutcheck.machine.best_swizzle import BANK_SPAN_BYTES
from layoutcheck.machine.canonical.modes import MODES
from layoutcheck.machine.cost import NOTHING, Counts
from layoutcheck.machine.cp_async import bypass
from layoutcheck.synthesis.deals import Deal
from layoutcheck.synthesis.shared import Shared
from layoutcheck.synthesis.wanted import Consumer

MOST_BOX = 256
"""Elements of a TMA box in each mode (cuTensorMapEncodeTiled: boxDim)."""
BOX_ROW_CYCLES = 1.7
"""The copy engine's for each row of a box (H200, rows of 16 bytes; docs/evidence/synthesis.json)."""
ROW_BYTES = 16
"""Of a matrix row (PTX ISA, ldmatrix)."""


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
class Threads(Move):
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
        straight = shared.fast == self.deal.fast
        if (straight and self.deal.block > 1) or (self.asynchronous and not straight):
            return False
        deal, width = self.deal, self.width_bytes(shared.fast)
        along, across = deal.steps
        if not shared.composes(deal.fast, along) or not shared.composes(1 - deal.fast, across):
            return False
        pitch = (shared.run + shared.padding) * self.element_bytes
        return (
            width <= shared.granule and shared.run % self.deal.width(shared.fast) == 0 and pitch % width == 0
        )

    @cached_property
    def _outer(self) -> CopyCost | None:
        if self.outer is None:
            return None
        return self.outer.cost(self.deal, self.deal.fast)

    @cached_property
    def fixed(self) -> Counts:
        """Of global memory, whatever the layout of shared memory."""
        if self._outer is None:
            return NOTHING
        found = self._outer.counts
        if not self.asynchronous:
            return found
        return replace(found, instructions=0, wavefronts=0 if self.past_l1 else found.wavefronts)

    @property
    def op(self) -> str:
        """Of `machine.banks`."""
        return CP_ASYNC if self.asynchronous else STORE if self.into else LOAD

    @property
    def past_l1(self) -> bool:
        """Whether it is `cp.async.cg`, which knows no banks."""
        return self.asynchronous and self.width_bytes(self.deal.fast) == ROW_BYTES

    @cached_property
    def linear(self) -> bool:
        """Whether threads and rounds are powers of two."""
        return all(n & (n - 1) == 0 for n in (*self.deal.tile, self.deal.along, self.deal.across))

    def index(self, fast: int) -> IntArray:
        """The elements at which its accesses along a mode start, int64[instruction, 32]."""
        return self.deal.accesses(fast)

    def issued(self, fast: int) -> int:
        """Warp instructions along a mode."""
        return len(self.deal.accesses(fast))

    def _least(self, mode: int) -> Counts:
        """Of shared memory along a mode: every wavefront full."""
        lanes = [min(WARP, self.deal.threads - first) for first in range(0, self.deal.threads, WARP)]
        each = sum(max(1, -(-n * self.width_bytes(mode) // BANK_SPAN_BYTES)) for n in lanes)
        issued = self.issued(mode)
        return Counts(issued, issued // len(lanes) * each, 0)

    def least_for(self, fast: int) -> Counts:
        """Where shared memory is contiguous along that mode."""
        return self.fixed + self._least(fast)

    def counts(self, shared: Shared) -> Counts:
        """With its conflicts."""
        if self.past_l1:
            return self._packets(shared)
        return self.issued_counts(shared.fast, wavefronts([self], shared)[0])

    def issued_counts(self, fast: int, spent: int) -> Counts:
        """With so many wavefronts in shared memory."""
        return self.fixed + Counts(self.issued(fast), spent, 0)

    def _packets(self, shared: Shared) -> Counts:
        assert self.outer is not None
        index, times = _alike(self, shared)
        packets, fetched = 0, 0
        for to, frm in zip(shared.at(index), self.outer.addresses(index), strict=True):
            one = _bypass(_relative(to), _relative(frm))
            packets, fetched = packets + one[0] * times, fetched + one[1] * times
        issued = self.issued(shared.fast)
        return replace(self.fixed, instructions=issued, wavefronts=packets, sectors=fetched)

    @property
    def simplicity(self) -> tuple[int, ...]:
        """As the deal's; widest accesses first."""
        return (*self.deal.simplicity, -self.deal.vector)


def _relative(addresses: IntArray) -> tuple[int | None, ...]:
    """The lanes' addresses from the first line on: all that packets depend on."""
    base = int(addresses[addresses >= 0].min()) // BANK_SPAN_BYTES * BANK_SPAN_BYTES
    return tuple(None if a < 0 else int(a) - base for a in addresses)


@lru_cache(maxsize=4096)
def _bypass(to: tuple[int | None, ...], frm: tuple[int | None, ...]) -> tuple[int, int]:
    found = bypass(to, frm)
    return found.wavefronts, found.sectors


def wavefronts(moves: Sequence[Threads | Matrix], shared: Shared) -> list[int]:
    """Of each move's accesses of shared memory: those of one width are counted together.

    Where every instruction of a move has the same conflicts, one is counted (`_alike`).
    """
    total = [0] * len(moves)
    groups: dict[tuple[str, int], list[int]] = {}
    for n, move in enumerate(moves):
        groups.setdefault((move.op, move.width_bytes(shared.fast)), []).append(n)
    for (op, width), members in groups.items():
        rows = [_alike(moves[n], shared) for n in members]
        spent = banks.wavefronts(
            shared.at(np.concatenate([index for index, _ in rows])), width * 8, op
        ).wavefronts
        start = 0
        for n, (index, times) in zip(members, rows, strict=True):
            total[n] = int(spent[start : start + len(index)].sum()) * times
            start += len(index)
    return total


def counted(moves: Sequence[Move], shared: Shared) -> list[Counts]:
    """The counts of many moves of one kind, together."""
    many = [
        move for move in moves if isinstance(move, Matrix) or (isinstance(move, Threads) and not move.past_l1)
    ]
    spent = dict(zip(many, wavefronts(many, shared), strict=True))
    return [
        move.issued_counts(shared.fast, spent[move])
        if isinstance(move, (Threads, Matrix)) and move in spent
        else move.counts(shared)
        for move in moves
    ]


def _alike(move: Threads | Matrix, shared: Shared) -> tuple[IntArray, int]:
    """Instructions that stand for all, and for how many each stands.

    One, where addresses are linear over F2: instructions differ by an XOR, which parts no banks and joins
    none.
    """
    index = move.index(shared.fast)
    if shared.columns is not None and move.linear:
        return index[:1], len(index)
    return index, 1


@dataclass(frozen=True, eq=False)
class Matrix(Move):
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
        pitch = (shared.run + shared.padding) * self.element_bytes
        row = ROW_BYTES // self.element_bytes
        return (
            shared.fast == (mn if self.trans else k)
            and shared.granule >= ROW_BYTES
            and shared.composes(mn, ((self.extents[0] // self.reach[0], self.reach[0]),))
            and shared.composes(k, ((self.extents[1] // self.reach[1], self.reach[1]),))
            and shared.run % row == 0
            and pitch % ROW_BYTES == 0
        )

    @property
    def op(self) -> str:
        """Of `machine.banks`."""
        return MATRIX

    @property
    def linear(self) -> bool:
        """Whether all extents are powers of two, and with them what divides them."""
        return all(n & (n - 1) == 0 for n in self.tile)

    def width_bytes(self, mode: int) -> int:
        """Of a row."""
        return ROW_BYTES

    def index(self, fast: int) -> IntArray:
        """The elements at which rows start, int64[instruction, 32]; OFF for lanes without a row."""
        return self._index

    @cached_property
    def _index(self) -> IntArray:
        (am, ak), (wm, wk) = self.matrices, self.warps
        along = ROW_BYTES // self.element_bytes
        lane = np.arange(8 * am * ak)
        matrix, row = lane // 8, lane % 8
        in_mn, in_k = matrix % am * 8, matrix // am * along
        place = (in_mn, in_k + row) if self.trans else (in_mn + row, in_k)
        starts = [
            np.arange(0, extent, reach // warps)
            for extent, reach, warps in zip(self.extents, self.reach, (wm, wk), strict=True)
        ]
        mn, k = self.consumer.modes
        step = {0: 1, 1: self.tile[0]}
        found = (
            (starts[0] * step[mn])[:, None, None]
            + (starts[1] * step[k])[None, :, None]
            + (place[0] * step[mn] + place[1] * step[k])[None, None, :]
        ).reshape(-1, len(lane))
        index = np.full((len(found), WARP), OFF, np.int64)
        index[:, : len(lane)] = found
        return index

    @cached_property
    def least(self) -> Counts:
        """One wavefront a matrix."""
        count = math.prod(self.matrices)
        size = math.prod(self.tile) * self.element_bytes // (8 * ROW_BYTES)
        return Counts(size // count, size, 0)

    def counts(self, shared: Shared) -> Counts:
        """With its conflicts."""
        return self.issued_counts(shared.fast, wavefronts([self], shared)[0])

    def issued_counts(self, fast: int, spent: int) -> Counts:
        """With so many wavefronts."""
        return Counts(self.least.instructions, spent, 0)

    @property
    def simplicity(self) -> tuple[int, ...]:
        """Matrices as an operand A of m16 has them, warps along MN, as tiled MMAs have them."""
        return (
            -math.prod(self.matrices),
            abs(self.matrices[0] - self.matrices[1]),
            self.warps[1],
            -self.matrices[0],
        )


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
