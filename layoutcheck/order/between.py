"""Global memory between blocks of a grid: what one block writes and another accesses, unordered.

    between_blocks(kernel, budget) -> Between

Block (0, 0, 0) and, in each direction of the grid, the first block outside its cluster are run; their plain
accesses of global memory are compared byte by byte. Blocks of a grid are ordered by release and acquire at
the scope of the GPU only (PTX ISA, Memory Consistency Model: Release and Acquire Patterns): a kernel that
has neither, nor a fence, cannot order them, and two accesses of one byte, one a write, race. A kernel that
has them is not checked, and says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from layoutcheck.dsl.lowered import spaces
from layoutcheck.dsl.lowered.instructions import tma_transfers
from layoutcheck.dsl.lowered.machine import Launch
from layoutcheck.dsl.lowered.values import for_all
from layoutcheck.order.budget import Budget
from layoutcheck.order.events import WatchedKernel
from layoutcheck.order.global_memory import FENCES, PAIRS, ordering
from layoutcheck.order.meaning import Meaning
from layoutcheck.order.own_values import differ, loads_behind
from layoutcheck.order.problems import Party, Problem
from layoutcheck.order.releases import LOOKED_AT, Handed, Key, apart, handed, key
from layoutcheck.order.replay import MOST_PROBLEMS
from layoutcheck.order.tell import Teller
from layoutcheck.order.watched import Event, Watched, lanes_of
from layoutcheck.sources.mlir import Operation

TITLE = "global memory between blocks"
MOST_BYTES = 1 << 24  # of all accesses of one block
_WIDEST = 16  # bytes of a cell
_WRITES = ("write", "bulk_store")
_RECORD_BITS = 32  # of an event's number and what is left of its thread's
_THREAD_BITS, _LANE_BITS = 10, 5  # of a record: the thread of a block, the lane of a warp


@dataclass(slots=True)
class Between:
    """Problems between two blocks, and sentences about what was not looked at."""

    problems: list[Problem] = field(default_factory=list)
    unchecked: set[str] = field(default_factory=set)


def between_blocks(kernel: WatchedKernel, teller: Teller, budget: Budget) -> Between:
    """What nothing orders between two blocks. Raises OutOfTime."""
    found = Between()
    meanings = {op: m for op, m in kernel.meanings.items() if all(map(reaches_globally, m.all))}
    if not any(m.kind in (*_WRITES, "atomic") for m in meanings.values()):
        return found
    others = list(_others(kernel.launch))
    if not kernel.launch.known:
        found.unchecked.add(f"{TITLE}: the grid is not known")
    elif how := ordering(kernel.operation):
        counted = "; whether each wait counts the releases that it needs" if how in (FENCES, PAIRS) else ""
        found.unchecked.add(f"{TITLE}: {how} may order them{counted}")
        if counted and others:
            _not_handed_over(kernel, meanings, others, teller, budget, found)
    elif others:
        if any(m.facts.get("tensor") for m in meanings.values()):
            found.unchecked.add(f"{TITLE}: tiles of TMA copies")
        if any(m.kind == "atomic" for m in meanings.values()):
            found.unchecked.add(f"{TITLE}: atomics")
        plain = {op: m for op, m in meanings.items() if m.kind != "atomic" and not m.facts.get("tensor")}
        if any(m.kind in _WRITES for m in plain.values()):
            _compare(replace(kernel, meanings=plain), others, teller, budget, found)
    return found


def _compare(
    kernel: WatchedKernel, others: list[tuple[int, int, int]], teller: Teller, budget: Budget, found: Between
) -> None:
    first = _Block(kernel.watch((0, 0, 0), 0, budget), found)
    for index in others:
        second = _Block(kernel.watch(index, 0, budget), found)
        for writer, reader in ((first, second), (second, first)):
            for one, other in _meetings(writer, reader, False):
                if not reader.has_written(other.event, one.event.meaning.facts.get("constant")):
                    _tell(one, other, found)
        known: dict[tuple[Operation | None, Operation | None], bool] = {}
        for one, other in _meetings(first, second, True):
            a, b = one.event.meaning, other.event.meaning
            if (a.op, b.op) not in known:
                known[a.op, b.op] = _one_number(a, b, teller)
            own = (first.watched.events, second.watched.events)
            if not known[a.op, b.op] and (a.op is not b.op or differ(one, other, *own)):
                _tell(one, other, found)
    if first.watched.undecided:  # a load that only some run comes to, as of the last block by a counter
        for _, _, pairs in _whatever_happens(kernel, kernel.meanings, others, budget):
            for one, other in pairs:
                if other.event.rests:  # the store surely happens
                    _add("race-between-blocks", one, other, found)


def _one_number(a: Meaning, b: Meaning, teller: Teller) -> bool:
    """Whether what blocks write to one place is most often one number: a constant, what one line writes."""
    if "constant" in a.facts and a.facts["constant"] == b.facts.get("constant"):
        return True
    if a.op is b.op:
        return a.op is None or not loads_behind(a.op, a)
    return teller.frames(a.site)[:1] == teller.frames(b.site)[:1]


def _not_handed_over(
    kernel: WatchedKernel, meanings: dict[Operation, Meaning], others: list[tuple[int, int, int]],
    teller: Teller, budget: Budget, found: Between,
) -> None:  # fmt: skip
    """Of a kernel that has releases and acquires: stores and loads of two blocks that none can order."""
    transfers = tma_transfers(teller.module.text)
    known: dict[int, dict[Key, Handed] | None] = {}
    for writer, reader, pairs in _whatever_happens(kernel, meanings, others, budget):
        for block in (writer, reader) if pairs else ():
            if block.number not in known:
                known[block.number] = handed(kernel, block.watched.launch.index, transfers, budget)
        ours, theirs = (known.get(block.number) or {} for block in (writer, reader))
        for one, other in pairs:
            if one.event.meaning.kind == "write" and other.event.meaning.kind == "bulk_load":
                found.unchecked.add(f"{TITLE}: whether a proxy fence stands between stores and bulk loads")
            mine, yours = ours.get(key(one)), theirs.get(key(other))
            if mine is not None and yours is not None and apart(mine, yours):
                left = "not-written" if one.event.meaning.kind == "bulk_store" else "not-released"
                _add("not-acquired" if mine.released else left, one, other, found)


def _whatever_happens(
    kernel: WatchedKernel, meanings: dict[Operation, Meaning], others: list[tuple[int, int, int]],
    budget: Budget,
) -> Iterator[tuple[_Block, _Block, list[tuple[Party, Party]]]]:  # fmt: skip
    """Blocks, and the stores of the one and loads of the other that meet; one of each pair surely happens.

    Both arms of branches by what only a run knows are run.
    """
    looked_at = {op: m for op, m in meanings.items() if m.kind in LOOKED_AT and not m.facts.get("tensor")}
    accesses, ignored = replace(kernel, meanings=looked_at, both=True), Between()
    blocks = [_Block(accesses.watch(index, 0, budget), ignored, True) for index in ((0, 0, 0), *others)]
    for writer, reader in ((a, b) for a in blocks for b in blocks if a is not b and blocks[0] in (a, b)):
        met = _meetings(writer, reader, False, _LANE_BITS)
        yield writer, reader, [pair for pair in met if not all(party.event.rests for party in pair)]


def _tell(one: Party, other: Party, found: Between) -> None:
    if one.event.rests or other.event.rests:
        found.unchecked.add(f"{TITLE}: addresses that depend on dynamic arguments")
        return
    _add("race-between-blocks", one, other, found)


def _add(kind: str, one: Party, other: Party, found: Between) -> None:
    if len(found.problems) < MOST_PROBLEMS:
        found.problems.append(Problem(kind, one, other, [], {"memory": "global"}))


def reaches_globally(meaning: Meaning) -> bool:
    """Whether an operation accesses global memory (or may, by a generic pointer)."""
    if meaning.kind in ("bulk_load", "bulk_store"):
        return meaning.space in ("smem", "dsmem", "generic")
    if meaning.kind == "cp_async":
        return True
    return meaning.kind in ("read", "write", "atomic") and meaning.space in ("gmem", "generic")


def _others(launch: Launch) -> Iterator[tuple[int, int, int]]:
    """The first block outside the first cluster, in each direction."""
    for axis in range(3):
        if launch.grid[axis] > launch.cluster[axis]:
            index = [0, 0, 0]
            index[axis] = launch.cluster[axis]
            yield (index[0], index[1], index[2])


class _Range(NamedTuple):
    """`most` bytes from `at` on, of each of these threads; of each `bytes_`, if that is given."""

    write: bool
    at: Any
    most: int
    bytes_: Any
    records: Any


class _Block:
    """What one block reads and writes of global memory, each with its event and thread.

    `unit` bytes divide every access: memory is compared in cells of so many. With `branches` accesses at
    static addresses count, whatever they are executed by; without, those that no loaded value decides.
    """

    def __init__(self, watched: Watched, found: Between, branches: bool = False) -> None:
        self.watched, self.found, self.branches = watched, found, branches
        self.number = watched.launch.index[0] + watched.launch.grid[0] * (
            watched.launch.index[1] + watched.launch.grid[1] * watched.launch.index[2]
        )
        self.threads = watched.launch.threads
        self.everyone = np.arange(self.threads)
        self.total = 0
        self.ranges = [one for number, event in enumerate(watched.events) for one in self._of(number, event)]
        low = _WIDEST
        for one in self.ranges:
            low |= one.most if one.bytes_ is None else int(np.bitwise_or.reduce(one.bytes_))
            low |= int(np.bitwise_or.reduce(one.at))
        self.unit = low & -low
        self._spans: dict[bool, tuple[Any, Any]] = {}
        if not watched.complete:
            found.unchecked.add(f"{TITLE}: what follows loops that were cut")

    def _of(self, number: int, event: Event) -> Iterator[_Range]:
        rests = event.own if self.branches else event.rests
        if rests and self.watched.reasons.worst(rests) not in (
            "static",
            *(() if self.branches else ("arguments",)),
        ):
            self.found.unchecked.add(f"{TITLE}: addresses, or conditions, that only a run knows")
            return
        if self.watched.reasons.worst(event.rests) == "static":
            event.rests = 0
        if self.total > MOST_BYTES:  # it is said, and nothing more is compared
            return
        for write, address, size in _ranges(event):
            where = for_all(address, self.threads)
            threads = self.everyone if event.mask is None else np.flatnonzero(event.mask)
            where = where if event.mask is None else where[threads]
            if not where.size or spaces.space_of(0, int(where[0])) != "gmem":
                continue
            bytes_ = None if isinstance(size, int) else for_all(size, self.threads)[threads]
            most = size if bytes_ is None else int(bytes_.max())
            self.total += where.size * most
            if most <= 0 or self.total > MOST_BYTES:
                if most > 0:
                    self.found.unchecked.add(f"{TITLE}: a block accesses more than {MOST_BYTES >> 20} MiB")
                continue
            yield _Range(write, where, most, bytes_, threads | number << 10)

    def spans(self, write: bool) -> tuple[Any, Any]:
        """From where to where each of its loads, or stores, reaches."""
        if write not in self._spans:
            each = [one for one in self.ranges if one.write == write]
            low = np.array([int(one.at.min()) for one in each], np.int64)
            high = np.array([int(one.at.max()) + one.most for one in each], np.int64)
            self._spans[write] = low, high
        return self._spans[write]

    def cells(self, write: bool, unit: int, near: Any) -> tuple[Any, Any]:
        """What it writes or reads, in cells of `unit` bytes in order, each once with the record of the last.

        `near` says which of its stores, or loads, are looked at.
        """
        parts = []
        each = (one for one in self.ranges if one.write == write)
        for one in (one for one, chosen in zip(each, near, strict=True) if chosen):
            steps = np.arange(one.most // unit, dtype=np.int64)
            cells, records = (one.at // unit)[:, None] + steps, one.records.repeat(steps.size)
            some = slice(None) if one.bytes_ is None else (steps * unit < one.bytes_[:, None]).ravel()
            parts.append((cells.ravel()[some], records[some]))
        return _sorted(parts)

    def has_written(self, read: Event, constant: str | None) -> bool:
        """Whether every thread of a load has stored a constant there before: what others store is no news."""
        if constant is None or read.meaning.kind != "read":
            return False
        mask = lanes_of(read, self.threads)
        for event in self.watched.events[: read.number]:
            meaning = event.meaning
            alike = meaning.kind == "write" and meaning.facts.get("constant") == constant
            missing = mask & ~lanes_of(event, self.threads)
            if alike and meaning.size == read.meaning.size and not missing.any():
                there, here = (one.numbers(0, self.threads)[mask] for one in (event, read))
                if bool((there == here).all()):
                    return True
        return False

    def party(self, record: int) -> Party:
        """Who accessed a cell."""
        return Party(self.watched.events[record >> 10], self.number, record & 1023)


def _ranges(event: Event) -> Iterator[tuple[bool, Any, Any]]:
    """(whether it writes, address, bytes) of what an event does to global memory."""
    meaning, values = event.meaning, event.values
    if meaning.kind in ("read", "write"):
        yield meaning.kind == "write", values[0], meaning.size
    elif meaning.kind == "cp_async":
        yield False, values[1], values[2] if len(values) > 2 else meaning.size
    elif meaning.kind in ("bulk_store", "bulk_load") and (bulk := event.bulk) is not None:
        yield meaning.kind == "bulk_store", bulk[1], bulk[0]


def _sorted(parts: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    """Cells in order, each once, with the record of its last access."""
    if not parts:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    cells = np.concatenate([c for c, _ in parts])[::-1]
    records = np.concatenate([r for _, r in parts])[::-1]
    unique, first = np.unique(cells, return_index=True)
    return unique, records[first]


def _meetings(a: _Block, b: _Block, write: bool, bits: int = _THREAD_BITS) -> Iterator[tuple[Party, Party]]:
    """What `a` writes and `b` accesses: a pair of parties for each pair of events that meet in a cell.

    With fewer `bits` also for each pair of warps.
    """
    unit = min(a.unit, b.unit)
    own, other_own = a.spans(True), b.spans(write)
    ours = a.cells(True, unit, _overlap(own, other_own))
    theirs = b.cells(write, unit, _overlap(other_own, own))
    _, one, other = np.intersect1d(ours[0], theirs[0], assume_unique=True, return_indices=True)
    if not one.size:
        return
    pairs = (ours[1][one] >> bits << _RECORD_BITS) | (theirs[1][other] >> bits)
    _, first = np.unique(pairs, return_index=True)
    for i in first.tolist():
        yield a.party(int(ours[1][one[i]])), b.party(int(theirs[1][other[i]]))


def _overlap(spans: tuple[Any, Any], others: tuple[Any, Any]) -> Any:
    """Which of the spans overlap any of the others."""
    low, high = np.sort(others[0]), np.sort(others[1])
    begun = np.searchsorted(low, spans[1], "left")  # others that begin before the end
    over = np.searchsorted(high, spans[0], "right")  # others that end before the beginning
    return begun > over
