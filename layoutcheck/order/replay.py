"""The replay: events of all warps of a block (or of a cluster's blocks), run against one another.

A warp runs until it has to wait; asynchronous copies complete as late as they may, when a warp would wait for
them otherwise. What is ordered only by luck in this run is not ordered by its clocks, so that one run tells
for all that take the same branches. Rules of the model: docs/order.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from layoutcheck.dsl.lowered import spaces
from layoutcheck.order.budget import Budget
from layoutcheck.order.clocks import SHARED, STRICT, Clock, Clocks
from layoutcheck.order.events import Event, Watched, lanes_of
from layoutcheck.order.problems import Party, Problem
from layoutcheck.order.shadow import Access, Clash, Shadow
from layoutcheck.sources.mlir import Operation, Region

MOST_PROBLEMS = 60
FULL = (1 << 32) - 1  # all lanes of a warp
_WRITING = ("write", "matrix_write", "atomic")
_LANES = np.arange(32, dtype=np.int64)


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
    why: Callable[[], str] | None = None
    exited: bool = False


class Stopped(Exception):
    """The kernel's behaviour is undefined from here on."""


_FATAL = ("not-initialised", "count-out-of-range", "too-many-arrivals", "copied-by-many", "too-few-bytes")


class World:
    """What is shared by all parts of a replay: warps, clocks, shadows, and what was found."""

    def __init__(self, blocks: list[Watched], transfers: dict[str, int], budget: Budget) -> None:
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
        self.shared = Shadow(self.span // self.cell * len(blocks), SHARED, STRICT, len(self.warps))
        self.problems: dict[Any, Problem] = {}
        self.skipped: dict[str, int] = {}
        self.exits: dict[int, Any] = {}  # what each warp knew when it exited
        self.remote: dict[tuple[int, int], tuple[int, Party]] = {}  # (block reached, warp) -> its last access
        self.fenced: dict[int, Clock] = {}  # warp -> what it knew at its last fence
        self.loose: dict[int, int] = {}  # warp -> lanes that have written since its lanes met
        self.stored: dict[int, int] = {}  # warp -> number of its last event that waited for tcgen05.st
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
        """Keep a problem, one for each kind and pair of places in the source."""
        sites = tuple(p.event.meaning.op if p is not None else None for p in (problem.first, problem.second))
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.setdefault((problem.kind, sites), problem)
        if problem.kind in _FATAL:
            raise Stopped

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

    def cells(self, address: int, size: int, block: int) -> Any:
        """The cells of `size` bytes at an offset of a block's shared memory."""
        base = block * (self.span // self.cell)
        stop = min(address + size, self.span)
        return np.arange(base + address // self.cell, base + -(-stop // self.cell), dtype=np.int64)

    def address_of(self, cell: int) -> int:
        """Where in its block's shared memory a cell lies."""
        return cell % (self.span // self.cell) * self.cell


def _cell_bytes(events: list[Event]) -> int:
    """The largest power of two, up to 16, that divides every plain access of shared memory."""
    cell = 16
    for event in events:
        if (
            event.meaning.kind in ("read", "write", "atomic", "cp_async", "st_async")
            and event.meaning.space != "gmem"
        ):
            cell = min(cell, event.meaning.size & -event.meaning.size or 1)
            if event.meaning.kind != "cp_async":
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


class Accesses:
    """Plain accesses of warps, gathered while a clock stands still, then checked at once."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.kept: dict[int, list[tuple[bool, Any, Any]]] = {}  # warp -> (write, cells, records)
        self._cells: dict[int, Any] = {}
        self._owner: Any = None  # of each cell, the record of who wrote it since the last synchronisation
        self._everywhere: set[int] = set()  # events in which every thread reaches its own block's memory
        self._threads = np.arange(world.threads, dtype=np.int64)

    def add(self, warp: Warp, index: int, lanes: int) -> None:
        """One event of a warp."""
        event = self.world.events[index]
        cells = self._cells_of(index, event, warp.block)
        if cells is None:
            return
        write = event.meaning.kind in _WRITING
        if write:
            self.world.loose[warp.number] = lanes | self.world.loose.get(warp.number, 0)
        mine = cells[warp.first : warp.first + 32]
        if lanes == FULL and index in self._everywhere:
            own = self._threads[warp.first : warp.first + 32] | index << 10
            self.kept.setdefault(warp.number, []).append((write, mine.ravel(), np.repeat(own, mine.shape[1])))
            return
        own = np.arange(warp.first, warp.first + len(mine), dtype=np.int64)
        kind, count = event.meaning.kind, event.meaning.count
        chosen = (lanes >> _LANES[: len(mine)] & 1).astype(bool)
        if kind.startswith("matrix"):
            chosen &= np.arange(len(mine)) < count
        chosen &= mine[:, 0] >= 0
        if not chosen.any():
            return
        picked = mine[chosen]
        world, each = self.world, self.world.span // self.world.cell
        if len(world.blocks) > 1 and int(picked[0, 0]) // each != warp.block:
            lane = int(np.flatnonzero(chosen)[0])
            who = world.party(warp, index, lane, world.address_of(int(picked[0, 0])), event.meaning.size)
            step = world.clocks.now(warp.number)
            world.remote[int(picked[0, 0]) // each, warp.number] = (step, who)
        records = np.repeat(own[chosen] | (index << 10), picked.shape[1])
        self.kept.setdefault(warp.number, []).append((write, picked.ravel(), records))

    def flush(self, warp: Warp) -> None:
        """Check and keep what was gathered."""
        gathered = self.kept.pop(warp.number, None)
        if not gathered:
            return
        world = self.world
        clock, step = world.clocks.known[warp.number], world.clocks.now(warp.number)
        if len({write for write, _, _ in gathered}) > 1:
            self._between_lanes(gathered)
        for write in (False, True):
            parts = [(cells, records) for w, cells, records in gathered if w == write]
            if not parts:
                continue
            access = Access(
                np.concatenate([cells for cells, _ in parts]), np.concatenate([r for _, r in parts]),
                warp.number, step, False,
            )  # fmt: skip
            check = world.shared.write if write else world.shared.read
            report(world, check(access, clock))

    def _between_lanes(self, gathered: list[tuple[bool, Any, Any]]) -> None:
        """What one lane of a warp reads after another wrote it, with no synchronisation since."""
        world = self.world
        if self._owner is None:
            self._owner = np.full(world.shared.size, -1, np.int64)
        owner = self._owner
        for write, cells, records in gathered:
            if write:
                owner[cells] = records
                continue
            before = owner[cells]
            bad = np.flatnonzero((before >= 0) & ((before ^ records) & 1023 != 0))
            if bad.size:
                first, second = int(before[bad[0]]), int(records[bad[0]])
                address = world.address_of(int(cells[bad[0]]))
                parties = [
                    Party(world.events[r >> 10], world.block_of[r >> 10], r & 1023, address, world.cell)
                    for r in (first, second)
                ]
                world.tell(Problem("lanes", parties[0], parties[1]))
        for write, cells, _ in gathered:
            if write:
                owner[cells] = -1

    def _cells_of(self, index: int, event: Event, block: int) -> Any:
        """[thread, cells of one access], -1 in front where a thread's address is not in shared memory."""
        if index in self._cells:
            return self._cells[index]
        world = self.world
        meaning = event.meaning
        found: Any = None
        if event.doubt or event.guarded:
            world.skip("accesses at addresses, or under conditions, that only a run knows")
        else:
            address = event.numbers(0, world.threads)
            space = meaning.space if meaning.space != "generic" else spaces.space_of(0, int(address[0]))
            if space in ("smem", "dsmem"):
                rank = (address & ((1 << 42) - 1)) >> 24
                offset = address & (spaces.SHARED_BYTES - 1)
                known = world.rank_table[np.clip(rank, 0, 255)]
                many = max(1, meaning.size // world.cell)
                first = known * (world.span // world.cell) + offset // world.cell
                found = first[:, None] + np.arange(many, dtype=np.int64)[None, :]
                outside = (known < 0) | (offset + meaning.size > world.span) | (offset < 0)
                if outside.any():
                    found = np.where(outside[:, None], -1, found)
                elif len(world.blocks) == 1 and not meaning.kind.startswith("matrix"):
                    self._everywhere.add(index)
        self._cells[index] = found
        return found


def report(world: World, clashes: Iterator[Clash], *, memory: str = "") -> None:
    """What the shadow finds, as problems; `memory` is "global" or "tensor" where it is not shared memory."""
    for clash in clashes:
        parties = []
        for record in (clash.earlier, clash.later):
            index, thread = record >> 10, record & 1023
            address = -1 if memory else world.address_of(clash.cell)
            parties.append(Party(world.events[index], world.block_of[index], thread, address, world.cell))
        first, second = parties
        later = first.block == second.block and first.event.number > second.event.number
        if later and _in_sequence(first.event.meaning.op, second.event.meaning.op):
            first, second = second, first  # as the program has it, whoever came first in this run
        if not _harmless(clash, first, second):
            facts: dict[str, int | str] = {"memory": memory} if memory else {}
            kind = "race" if clash.kind == "race" and memory == "global" else _kind(clash, first, second)
            if clash.write_first and _not_stored(world, first):
                kind, facts["cause"] = "not-complete", "no-tensor-wait"
            world.tell(Problem(kind, first, second, [], facts))


def _not_stored(world: World, party: Party) -> bool:
    """Whether it is a tcgen05.st that its warp has not waited for since."""
    warp = party.block * world.warps_each + party.warp
    return party.event.meaning.kind == "tmem_write" and world.stored.get(warp, -1) < party.event.number


def _in_sequence(a: Operation | None, b: Operation | None) -> bool:
    """Whether one comes after the other in the program: not in two branches of one test."""
    if a is None or b is None:
        return True
    around: dict[Operation, Region | None] = {}
    at: Operation | None = a
    while at is not None and at.parent is not None:
        region = at.parent.parent
        around[region.parent] = region
        at = region.parent
    at = b
    while at is not None and at.parent is not None:
        region = at.parent.parent
        if region.parent in around:
            same = around[region.parent] is region
            return same or region.parent.name not in ("scf.if", "scf.index_switch")
        at = region.parent
    return True


def _harmless(clash: Clash, first: Party, second: Party) -> bool:
    """The same value written twice is no race worth telling, and atomics are ordered among themselves."""
    a, b = first.event.meaning, second.event.meaning
    if a.kind == "atomic" and b.kind == "atomic":
        return True
    if clash.kind != "race" or a.kind not in _WRITES or b.kind not in _WRITES:
        return False
    if a.op is b.op:  # one statement, by several threads: most often one value
        return True
    return "constant" in a.facts and a.facts["constant"] == b.facts.get("constant")


_WRITES = ("write", "matrix_write")
_ASYNC_READS = ("bulk_store", "wgmma", "tc_mma", "tc_copy", "bulk_peer")
_ASYNC_WRITES = ("bulk_load", "cp_async", "bulk_peer", "st_async")


def _kind(clash: Clash, first: Party, second: Party) -> str:
    """The kind of problem that two accesses make, in the order in which the program has them."""
    one, other = first.event.meaning.kind, second.event.meaning.kind
    if clash.kind == "strict":
        return "fence-by-reader"
    if clash.kind == "lane":
        return "lane-arrives"
    if clash.kind == "proxy":
        write = clash.write_first and other in (*_ASYNC_READS, "bulk_load")
        return "no-proxy-fence" if write else "no-proxy-fence-before-overwrite"
    if one in _ASYNC_WRITES or (one == "tc_mma" and (clash.write_first or other == "tmem_read")):
        return "not-complete"
    if one in _ASYNC_READS:
        return "overwritten-while-copied"
    if other in (*_ASYNC_WRITES, "tc_mma"):
        return "overwritten-by-copy"
    return "race"
