"""The replay: events of all warps of a block (or of a cluster's blocks), run against one another.

A warp runs until it has to wait; asynchronous copies complete as late as they may, when a warp would wait for
them otherwise. What is ordered only by luck in this run is not ordered by its clocks, so that one run tells
for all that take the same branches. Rules of the model: docs/order.md.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from layoutcheck.dsl.lowered import spaces
from layoutcheck.order.budget import Budget
from layoutcheck.order.clocks import SHARED, STRICT, Clock, Clocks
from layoutcheck.order.problems import Party, Problem
from layoutcheck.order.shadow import Cells, Shadow
from layoutcheck.order.watched import Event, Watched, lanes_of
from layoutcheck.sources.mlir import Operation

MOST_PROBLEMS = 60  # of one kind
FULL = (1 << 32) - 1  # all lanes of a warp


@dataclass(slots=True)
class Warp:
    """A warp's events, as (number of the event, bit mask of lanes); `at` is the next."""

    number: int
    block: int
    first: int  # thread of its block
    todo: list[tuple[int, int]] = field(default_factory=list)
    at: int = 0
    done: set[int] = field(default_factory=set)  # places beyond `at` that lanes not waiting have passed
    waits: Party | None = None
    exited: bool = False


class Stopped(Exception):
    """The kernel's behaviour is undefined from here on."""


_FATAL = ("not-initialised", "count-out-of-range", "too-many-arrivals", "copied-by-many", "too-few-bytes")


class World:
    """What is shared by all parts of a replay: warps, clocks, shadows, and what was found."""

    def __init__(self, blocks: list[Watched], transfers: dict[str, tuple[int, int]], budget: Budget) -> None:
        self.blocks, self.transfers = blocks, transfers
        self.threads = blocks[0].launch.threads
        self.warps_each = -(-self.threads // 32)
        self.events: list[Event] = []
        self.block_of: list[int] = []
        self.warps: list[Warp] = []
        for number, block in enumerate(blocks):
            budget.check()
            self._spread(number, block)
        self.clocks = Clocks(len(self.warps))
        self.cell, self.span = _cell_bytes(self.events), _span(blocks)
        cells, lanes = self.span // self.cell * len(blocks), range(len(self.warps))
        self.shared = Shadow(cells, SHARED, STRICT, lanes, self.clocks.bulk_reads(0))
        self.problems: dict[Any, Problem] = {}
        self.told = Counter[str]()  # by kind
        self.uses: dict[Operation, list[tuple[int, Event]] | None] = {}  # of loaded values, where followed
        self.skipped: dict[str, int] = {}
        self.exits: dict[int, Any] = {}  # what each warp knew when it exited
        self.remote: dict[tuple[int, int], tuple[int, Party]] = {}  # (block reached, warp) -> its last access
        self.fenced: dict[int, Clock] = {}  # warp -> what it knew at its last fence
        self.together: dict[tuple[int, int], bool] = {}  # masks, by their ids: whether a warp has both
        self.narrow: dict[tuple[int, int], Party] = {}  # (from, to): an arrival released to `from` alone
        self.by_scopes = False  # such arrivals hand over nothing
        self.compared = False  # numbers that one statement stores
        self.contradicted = False  # a load brought another number than its run was taken to load
        self.loose: dict[int, int] = {}  # warp -> lanes that have written since its lanes met
        self.ranks = {block.launch.rank: number for number, block in enumerate(blocks)}
        self.rank_table = np.array([self.ranks.get(rank, -1) for rank in range(256)], np.int64)

    def _spread(self, number: int, block: Watched) -> None:
        first = len(self.warps)
        own = [Warp(first + w, number, 32 * w) for w in range(self.warps_each)]
        weights = 1 << np.arange(32, dtype=np.int64)
        padded = np.zeros(self.warps_each * 32, bool)
        known: dict[int, list[tuple[list[tuple[int, int]], int]]] = {}
        for event in block.events:
            index = len(self.events)
            self.events.append(event)
            self.block_of.append(number)
            found = known.get(id(event.mask))  # the events of a block share their masks
            if found is None:
                padded[: self.threads] = lanes_of(event, self.threads)
                bits = (padded.reshape(-1, 32) @ weights).tolist()
                found = known[id(event.mask)] = [(own[w].todo, b) for w, b in enumerate(bits) if b]
            for todo, lanes in found:
                todo.append((index, lanes))
        self.warps += own

    def party(self, warp: Warp, index: int, lane: int = 0, address: int = -1, size: int = 0) -> Party:
        """A warp's lane as a party to a problem."""
        return Party(self.events[index], warp.block, warp.first + lane, address, size)

    def tell(self, problem: Problem) -> None:
        """Keep a problem, one for each kind and pair of places in the source.

        No real run goes on as one that is contradicted: of it only what is wrong with such a load is kept.
        """
        both = (problem.first, problem.second)
        real = not self.contradicted or any(p is not None and p.event.words for p in both)
        if real and self.is_new(problem):
            self.problems[problem.key] = problem
            self.told[problem.kind] += 1
        if problem.kind in _FATAL:
            raise Stopped

    def is_new(self, problem: Problem) -> bool:
        """Whether there is room for a problem, and none of its kind between the same places."""
        return problem.key not in self.problems and self.told[problem.kind] < MOST_PROBLEMS

    def skip(self, why: str) -> None:
        """Note something that is not looked at."""
        self.skipped[why] = self.skipped.get(why, 0) + 1

    def place(self, address: int, space: str, block: int) -> tuple[int, int] | None:
        """(block, offset) of an address in shared memory; None where it is none that is simulated."""
        if space == "generic":
            space = spaces.space_of(0, address)
            if space not in ("smem", "dsmem"):
                return None
        rank = (address & ((1 << 42) - 1)) >> 24
        offset = address & (spaces.SHARED_BYTES - 1)
        number = self.ranks.get(rank)
        if number is None or offset >= self.span:
            return None
        del block
        return number, offset

    def cells(self, address: int, size: int, block: int) -> Cells:
        """The cells of `size` bytes at an offset of a block's shared memory."""
        base = block * (self.span // self.cell)
        stop = min(address + size, self.span)
        return Cells(range(base + address // self.cell, base + -(-stop // self.cell)))

    def address_of(self, cell: int) -> int:
        """Where in its block's shared memory a cell lies."""
        return cell % (self.span // self.cell) * self.cell


def _cell_bytes(events: list[Event]) -> int:
    """The largest power of two, up to 16, that divides every plain access of shared memory."""
    cell = 16
    for event in events:
        kind, space, size = event.meaning.kind, event.meaning.space, event.meaning.size
        if kind in ("read", "write", "atomic", "cp_async", "st_async") and space != "gmem":
            cell = min(cell, size & -size or 1)
            if kind != "cp_async":
                value = event.values[0]
                low = int(value if isinstance(value, int) else np.bitwise_or.reduce(value))
                cell = min(cell, low & -low or 16)
            if cell <= 1:
                return 1
    return cell


def _span(blocks: list[Watched]) -> int:
    """Bytes of shared memory to follow: what is allocated, or all that a block can have."""
    most = max(block.shared_bytes for block in blocks)
    return -(-(most or 228 * 1024) // 1024) * 1024
