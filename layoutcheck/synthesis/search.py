"""Branch and bound: of every kind of plan the best, out of all layouts and moves.

A plan's time is that of the sum of its moves' counts (`machine.cost.predicted_time`), which grows with each
of them. So a layout is left out where its moves' least counts already take longer than the best plan of that
kind, and of a layout's moves those are left out that another beats in every count. Nothing else is left out:
the result is that of trying all (`tests/synthesis/test_optimal.py` tries all).
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from itertools import product
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from layoutcheck.algebra.layout import Layout
from layoutcheck.machine.banks import IntArray
from layoutcheck.machine.cost import NOTHING, Counts, many_cycles, predicted_time
from layoutcheck.progress import Progress
from layoutcheck.synthesis.candidates import direct, readers, writers
from layoutcheck.synthesis.conflicts import counted
from layoutcheck.synthesis.moves import Direct, Move
from layoutcheck.synthesis.shared import Shared, layouts
from layoutcheck.synthesis.wanted import Wanted

Key = tuple[Any, ...]
_GLANCE = 0.01
"""Seconds between two looks at the processor's time."""
_HALF, _ERROR = 0.05, 0.01
"""Half of the last digit of a key's cycles, and what sums of floats may be off."""
BATCH = 64
"""Moves that are counted at once, between two looks at the clock."""
_row = attrgetter(*(one.name for one in fields(Counts)))


class Found(NamedTuple):
    """A candidate: the layout in shared memory (None: none), its moves, writer first, and what they ask."""

    shared: Shared | None
    moves: tuple[Move, ...]
    counts: Counts
    key: Key

    @property
    def cycles(self) -> float:
        """Predicted cycles of one tile."""
        return float(self.key[0])


def key_of(counts: Counts, shared: Shared | None, moves: Sequence[Move], stages: int) -> Key:
    """What plans are ordered by: time, shared bytes, instructions, then simplicity of layout and moves."""
    size = 0 if shared is None else shared.size * stages
    simple = () if shared is None else shared.simplicity
    cycles = round(predicted_time(counts).cycles, 1)
    return cycles, size, counts.instructions, simple, *(move.simplicity for move in moves)


def kind_of(shared: Shared | None, moves: Sequence[Move]) -> str:
    """Plans of one kind differ in numbers only: `cp.async, MN-contiguous, swizzled, ldmatrix`."""
    names = [moves[0].kind]
    if shared is not None:
        names.append(f"{('MN', 'K')[shared.fast]}-contiguous")
        names.append("swizzled" if shared.swizzle else "padded" if shared.padding else "plain")
    return ", ".join([*names, *(move.kind for move in moves[1:])])


class Space(NamedTuple):
    """All there is to choose from: layouts, writers, and readers of each consumer, or a direct way."""

    layouts: list[Shared]
    writers: list[Move]
    readers: list[list[Move]]
    direct: list[Direct]

    @property
    def size(self) -> int:
        """Plans, were every move to fit every layout."""
        ways = len(self.layouts) * math.prod(len(slot) for slot in (self.writers, *self.readers))
        return ways + len(self.direct)


def space_of(wanted: Wanted) -> Space:
    """The space of a request."""
    return Space(
        layouts(wanted.tile, wanted.dtype, wanted.consumers, wanted.major),
        writers(wanted),
        [readers(wanted, consumer) for consumer in wanted.consumers],
        direct(wanted),
    )


Refused = set[tuple[Move, "Layout | None"]]
"""Moves that `check` refuses, each with the layout in shared memory; None: with any."""
Groups = list[list["Group"]]
"""For each slot, the moves of each kind."""


def search(
    space: Space,
    stages: int,
    most_shared: int,
    progress: Progress | None = None,
    refused: Refused | None = None,
    until: Deadline | None = None,
) -> Searched:
    """The best plan of each kind, best first. `most_shared` bytes are what a block can have.

    At `until` it stops: what it has then is the best of the layouts before.
    """
    return Search(space, stages, most_shared).run(progress, refused or set(), until)


class Deadline:
    """A time from now on, in seconds of the processor or of the clock, whichever is up first."""

    def __init__(self, processor: float, clock: float) -> None:
        self._processor, self._clock = time.process_time() + processor, time.monotonic() + clock
        self._next, self._up = 0.0, False

    @property
    def passed(self) -> bool:
        """Whether it is up. The processor's time is asked for every hundredth of a second: it costs much."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _GLANCE
            self._up |= now > self._clock or time.process_time() > self._processor
        return self._up


class Searched(NamedTuple):
    """What a search found, best first, and how many layouts it looked at: all, where it was not cut."""

    found: list[Found]
    layouts: int


class _TimeIsUp(Exception):
    """The search ends with what it has."""


class Group:
    """Moves of one kind that fit the same layouts, and their least counts by the contiguous mode."""

    def __init__(self, moves: Sequence[Move]) -> None:
        self.moves = moves
        self.kind = moves[0].kind
        self._least: dict[int, tuple[IntArray, Counts]] = {}

    def least(self, fast: int, look: Callable[[], None]) -> tuple[IntArray, Counts]:
        """Of each move an array of Counts; and what no move is less than. `look` looks at the clock."""
        if fast not in self._least:
            rows = []
            for move in self.moves:
                look()
                rows.append(_row(move.least_for(fast)))
            each = np.array(rows, np.int64)
            self._least[fast] = each, Counts(*each.min(axis=0).tolist())
        return self._least[fast]


class Search:
    """A space with what was worked out of it, to be searched again without what was refused."""

    def __init__(self, space: Space, stages: int, most_shared: int) -> None:
        self.space, self.stages, self.most_shared = space, stages, most_shared
        self._groups: dict[Any, Groups] = {}
        self._counts: dict[tuple[Shared, Move], Counts] = {}
        self._until: Deadline | None = None

    def run(self, progress: Progress | None, refused: Refused, until: Deadline | None) -> Searched:
        """As `search`."""
        best: dict[str, Found] = {}
        done, self._until = 0, until
        with contextlib.suppress(_TimeIsUp):
            for move in self.space.direct:
                self._look()
                if (move, None) not in refused:
                    _keep(
                        best, Found(None, (move,), move.least, key_of(move.least, None, (move,), self.stages))
                    )
            for shared in self.space.layouts:
                self._look()
                if progress is not None:
                    progress("layouts", done, len(self.space.layouts))
                if shared.size * self.stages <= self.most_shared:
                    self._complete(best, shared, refused)
                done += 1
        return Searched(sorted(best.values(), key=lambda one: one.key), done)

    def _look(self) -> None:
        """Raises _TimeIsUp when it is."""
        if self._until is not None and self._until.passed:
            raise _TimeIsUp

    def _fitting(self, shared: Shared) -> Groups:
        """The groups that fit a layout: of layouts that differ in a swizzle alone they are the same."""
        key = shared.layout, shared.granule, shared.run, shared.padding, shared.kind
        slots = self.space.writers, *self.space.readers
        if key not in self._groups:
            self._groups[key] = [
                _by_kind(move for move in slot if not move.reads_swizzle and move.fits(shared))
                for slot in slots
            ]
        more = [_by_kind(move for move in slot if move.reads_swizzle and move.fits(shared)) for slot in slots]
        return [one + other for one, other in zip(self._groups[key], more, strict=True)]

    def _complete(self, best: dict[str, Found], shared: Shared, refused: Refused) -> None:
        """The best plans with that layout, where they are better than the best of their kind so far."""
        for chosen in product(*self._fitting(shared)):
            kind = kind_of(shared, [group.moves[0] for group in chosen])
            known = best.get(kind)
            # A kind's first plan is better than none: what no move is less than need not be known.
            bounds = [] if known is None else [group.least(shared.fast, self._look) for group in chosen]
            all_of_them = sum((least for _, least in bounds), NOTHING)
            if known is not None and self._least_key(all_of_them, shared) > known.key[:4]:
                continue
            fronts = []
            for n, group in enumerate(chosen):
                some: Sequence[Move] = group.moves
                if known is not None:
                    others = sum((least for m, (_, least) in enumerate(bounds) if m != n), NOTHING)
                    some = self._promising(group, bounds[n][0], others, shared, known)
                some = [m for m in some if not {(m, None), (m, shared.layout)} & refused]
                fronts.append(self._front(some, shared))
            for ways in product(*fronts):
                counts = sum((counts for counts, _ in ways), NOTHING)
                moves = tuple(move for _, move in ways)
                _keep(best, Found(shared, moves, counts, key_of(counts, shared, moves, self.stages)), kind)

    def _least_key(self, least: Counts, shared: Shared) -> Key:
        return key_of(least, shared, (), self.stages)

    def _promising(
        self, group: Group, each: IntArray, others: Counts, shared: Shared, best: Found
    ) -> list[Move]:
        """The moves that could be in a better plan than the best so far."""
        columns: Any = (each + np.array(_row(others), np.int64)).T
        cycles, size = many_cycles(Counts(*columns)), shared.size * self.stages
        least, least_size, instructions, simple = best.key[:4]
        if size != least_size:
            level = np.full(len(cycles), size < least_size)
        else:
            level = columns[0] < instructions + int(shared.simplicity <= simple)
        better = (cycles < least - _HALF + _ERROR) | (level & (cycles < least + _HALF + _ERROR))
        return [group.moves[n] for n in np.flatnonzero(better).tolist()]

    def _front(self, moves: Sequence[Move], shared: Shared) -> list[tuple[Counts, Move]]:
        """The moves that no other beats in every count; of those with the same counts the simplest."""
        fresh = [move for move in moves if (shared, move) not in self._counts]
        for some in (fresh[n : n + BATCH] for n in range(0, len(fresh), BATCH)):
            self._look()
            self._counts.update(zip(((shared, move) for move in some), counted(some, shared), strict=True))
        simplest: dict[Counts, Move] = {}
        for move in moves:
            counts = self._counts[shared, move]
            if counts not in simplest or move.simplicity < simplest[counts].simplicity:
                simplest[counts] = move
        if not simplest:
            return []
        values = np.array([_row(counts) for counts in simplest], np.int64)
        no_more = np.all(
            values[:, None, :] <= values[None, :, :], axis=2
        )  # [a, b]: a asks for no more than b
        beaten = np.count_nonzero(no_more, axis=0) > 1  # by another than itself
        found = list(simplest.items())
        return [found[n] for n in np.flatnonzero(~beaten).tolist()]


def _by_kind(moves: Iterable[Move]) -> list[Group]:
    kinds: dict[str, list[Move]] = {}
    for move in moves:
        kinds.setdefault(move.kind, []).append(move)
    return [Group(group) for group in kinds.values()]


def _keep(best: dict[str, Found], one: Found, kind: str = "") -> None:
    kind = kind or kind_of(one.shared, one.moves)
    if kind not in best or one.key < best[kind].key:
        best[kind] = one


def every(space: Space, stages: int, most_shared: int) -> Iterator[Found]:
    """Every plan of the space, counted one by one: what `search` is held against."""
    for move in space.direct:
        yield Found(None, (move,), move.least, key_of(move.least, None, (move,), stages))
    for shared in space.layouts:
        if shared.size * stages > most_shared:
            continue
        chosen: list[tuple[Counts, tuple[Move, ...]]] = [(NOTHING, ())]
        for slot in (space.writers, *space.readers):
            fitting = [(move, move.counts(shared)) for move in slot if move.fits(shared)]
            chosen = [(counts + more, (*moves, move)) for counts, moves in chosen for move, more in fitting]
        for counts, moves in chosen:
            yield Found(shared, moves, counts, key_of(counts, shared, moves, stages))
