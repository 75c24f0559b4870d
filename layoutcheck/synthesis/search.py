"""Branch and bound: of every kind of plan the best, out of all layouts and moves.

A plan's time is that of the sum of its moves' counts (`machine.cost.predicted_time`), which grows with each
of them. So a move is left out where its least counts, with the least that any move of the other slots asks,
already take longer than the best plan of that kind; and of the moves that are counted those are left out that
another beats in every count. The slot with the fewest moves is counted first: then the others are judged by
what it does ask. Nothing else is left out: the result is that of trying all
(`tests/synthesis/test_optimal.py` tries all).
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from itertools import islice, product
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.machine.banks import IntArray
from layoutcheck.machine.cost import NOTHING, Counts, many_cycles, predicted_time
from layoutcheck.progress import Progress
from layoutcheck.synthesis.candidates import direct, readers, writers
from layoutcheck.synthesis.conflicts import counted
from layoutcheck.synthesis.moves import Direct, Move
from layoutcheck.synthesis.shared import Shared, layouts
from layoutcheck.synthesis.wanted import Wanted

Key = tuple[Any, ...]
Row = tuple[int, ...]
"""The numbers of Counts."""
_GLANCE = 0.05
"""Seconds between two looks at the processor's time."""
_HALF, _ERROR = 0.05, 0.01
"""Half of the last digit of a key's cycles, and what sums of floats may be off."""
BATCH = 64
"""Moves that are counted at once, between two looks at the clock."""
FIRST = 4
"""Moves of each slot that a kind's first plan is chosen of."""
BEST_SWIZZLE, BEST_PADDING_BITS = Swizzle(3, 4, 3), 128
"""Of layouts that are tried first: they are often the best, and then others need not be counted."""
MOST_SUMS = 64
"""Least counts of a plan that are told apart."""
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
        """Whether it is up. The processor's time is asked for every twentieth of a second: it costs much."""
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _GLANCE
            self._up |= now >= self._clock or time.process_time() >= self._processor
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
        self._least: dict[int, Least] = {}

    def least(self, fast: int, row: Callable[[Move, int], Row]) -> Least:
        """What its moves ask at least, each by `row`."""
        if fast not in self._least:
            each = np.array([row(move, fast) for move in self.moves], np.int64)
            self._least[fast] = Least(each, _unbeaten(each))
        return self._least[fast]


class Least(NamedTuple):
    """Least counts, [move, count], a row for each move; and of those rows the ones that no other beats."""

    each: IntArray
    front: IntArray


class Search:
    """A space with what was worked out of it, to be searched again without what was refused."""

    def __init__(self, space: Space, stages: int, most_shared: int) -> None:
        self.space, self.stages, self.most_shared = space, stages, most_shared
        self._slots = [_by_kind(slot) for slot in (space.writers, *space.readers)]
        self._groups: dict[Any, Groups] = {}
        self._least: dict[tuple[Move, int], Row] = {}
        self._counts: dict[Shared, dict[Move, Counts]] = {}
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
            fitting = [one for one in self.space.layouts if one.size * self.stages <= self.most_shared]
            beat = self._first(filter(_promises, fitting), refused)
            for shared in self.space.layouts:
                self._look()
                if progress is not None:
                    progress("layouts", done, len(self.space.layouts))
                if shared.size * self.stages <= self.most_shared:
                    self._complete(best, beat, shared, refused)
                done += 1
        return Searched(sorted(best.values(), key=lambda one: one.key), done)

    def _look(self) -> None:
        """Raises _TimeIsUp when it is."""
        if self._until is not None and self._until.passed:
            raise _TimeIsUp

    def _least_row(self, move: Move, fast: int) -> Row:
        """Its least counts where that mode is contiguous."""
        found = self._least.get((move, fast))
        if found is None:
            self._look()
            found = self._least[move, fast] = _row(move.least_for(fast))
        return found

    def _fitting(self, shared: Shared) -> Groups:
        """The groups that fit a layout: the same for all layouts that moves cannot tell apart."""
        key = shared.fitted
        if key not in self._groups:
            self._groups[key] = [_fitting(slot, shared, False) for slot in self._slots]
        more = [_fitting(slot, shared, True) for slot in self._slots]
        return [one + other for one, other in zip(self._groups[key], more, strict=True)]

    def _complete(
        self, best: dict[str, Found], beat: dict[str, Found], shared: Shared, refused: Refused
    ) -> None:
        """The best plans with that layout, where they are no worse than the best of their kind so far.

        The plans to `beat` come again in their turn: of equals the first layout's, and its first moves, stay.
        """
        for chosen in product(*self._fitting(shared)):
            kind = kind_of(shared, [group.moves[0] for group in chosen])
            if kind not in best and kind not in beat:
                self._try(beat, chosen, shared, refused, kind)
            sofar = [one[kind] for one in (best, beat) if kind in one]
            if not sofar:
                continue
            known = min(sofar, key=attrgetter("key"))
            # What the other slots ask at least: of those that were counted, what they do ask.
            asked = [group.least(shared.fast, self._least_row).front for group in chosen]
            if not self._may_improve(_sums(asked), shared, known).any():
                continue
            fronts: dict[int, list[tuple[Counts, Move]]] = {}
            for n in sorted(range(len(chosen)), key=lambda n: len(chosen[n].moves)):
                group = chosen[n]
                others = _sums(asked[:n] + asked[n + 1 :])
                each = group.least(shared.fast, self._least_row).each
                better = self._may_improve(each[:, None] + others[None], shared, known).any(axis=1)
                some = [group.moves[m] for m in np.flatnonzero(better).tolist()]
                fronts[n] = self._front([m for m in some if not _among(refused, m, shared)], shared)
                if not fronts[n]:
                    break
                asked[n] = np.array([_row(counts) for counts, _ in fronts[n]], np.int64)
            if len(fronts) == len(chosen):
                self._combine(best, [fronts[n] for n in range(len(chosen))], shared, kind)

    def _first(self, layouts: Iterable[Shared], refused: Refused) -> dict[str, Found]:
        """By the moves that ask least, with these layouts: of each kind a plan, which others have to beat."""
        found: dict[str, Found] = {}
        for shared in layouts:
            for chosen in product(*self._fitting(shared)):
                kind = kind_of(shared, [group.moves[0] for group in chosen])
                self._try(found, chosen, shared, refused, kind)
        return found

    def _try(
        self, found: dict[str, Found], chosen: Sequence[Group], shared: Shared, refused: Refused, kind: str
    ) -> None:
        fronts = []
        for group in chosen:
            each: Any = group.least(shared.fast, self._least_row).each.T
            order = np.argsort(many_cycles(Counts(*each)), kind="stable").tolist()
            free = (move for move in (group.moves[n] for n in order) if not _among(refused, move, shared))
            fronts.append(self._front(list(islice(free, FIRST)), shared))
        self._combine(found, fronts, shared, kind)

    def _combine(
        self, best: dict[str, Found], fronts: Sequence[list[tuple[Counts, Move]]], shared: Shared, kind: str
    ) -> None:
        for ways in product(*fronts):
            counts = sum((counts for counts, _ in ways), NOTHING)
            moves = tuple(move for _, move in ways)
            _keep(best, Found(shared, moves, counts, key_of(counts, shared, moves, self.stages)), kind)

    def _may_improve(self, counts: IntArray, shared: Shared, best: Found) -> Any:
        """Whether plans that ask at least so much, [..., count], could be better than the best so far."""
        columns: Any = np.moveaxis(counts, -1, 0)
        cycles, size = many_cycles(Counts(*columns)), shared.size * self.stages
        least, least_size, instructions, simple = best.key[:4]
        if size != least_size:
            level = np.full(cycles.shape, size < least_size)
        else:
            level = columns[0] < instructions + int(shared.simplicity <= simple)
        return (cycles < least - _HALF + _ERROR) | (level & (cycles < least + _HALF + _ERROR))

    def _front(self, moves: Sequence[Move], shared: Shared) -> list[tuple[Counts, Move]]:
        """The moves that no other beats in every count; of those with the same counts the simplest."""
        known = self._counts.setdefault(shared, {})
        fresh = [move for move in moves if move not in known]
        for some in (fresh[n : n + BATCH] for n in range(0, len(fresh), BATCH)):
            self._look()
            known.update(zip(some, counted(some, shared), strict=True))
        simplest: dict[Counts, Move] = {}
        for move in moves:
            counts = known[move]
            if counts not in simplest or move.simplicity < simplest[counts].simplicity:
                simplest[counts] = move
        if not simplest:
            return []
        found = list(simplest.items())
        return [found[n] for n in _beaten_by_none(np.array([_row(counts) for counts in simplest], np.int64))]


def _promises(shared: Shared) -> bool:
    """Whether such layouts are often the best of their kind."""
    return shared.swizzle == BEST_SWIZZLE or shared.padding * shared.element.bits == BEST_PADDING_BITS


def _among(refused: Refused, move: Move, shared: Shared) -> bool:
    return bool(refused) and not refused.isdisjoint(((move, None), (move, shared.layout)))


def _unbeaten(each: IntArray) -> IntArray:
    """The distinct rows that no other is less than or equal to in every column."""
    distinct = np.array(sorted(set(map(tuple, each.tolist()))), np.int64)
    return distinct[_beaten_by_none(distinct)]


def _beaten_by_none(distinct: IntArray) -> list[int]:
    no_more = np.all(distinct[:, None, :] <= distinct[None, :, :], axis=2)  # [a, b]: a asks no more than b
    return np.flatnonzero(np.count_nonzero(no_more, axis=0) == 1).tolist()  # no more than itself


def _sums(rows: Sequence[IntArray]) -> IntArray:
    """All sums of one row of each; where those are many, one that none is less than."""
    if math.prod(map(len, rows)) > MOST_SUMS:
        rows = [one.min(axis=0, keepdims=True) for one in rows]
    total = np.zeros((1, len(fields(Counts))), np.int64)
    for one in rows:
        total = (total[:, None] + one[None]).reshape(-1, total.shape[1])
    return total


def _by_kind(moves: Iterable[Move]) -> list[list[Move]]:
    kinds: dict[tuple[str, bool], list[Move]] = {}
    for move in moves:
        kinds.setdefault((move.kind, move.reads_swizzle), []).append(move)
    return list(kinds.values())


def _fitting(slot: Iterable[list[Move]], shared: Shared, reads_swizzle: bool) -> list[Group]:
    """Of each kind those that fit a layout."""
    kinds = (moves for moves in slot if moves[0].reads_swizzle == reads_swizzle)
    fit = ([move for move in moves if move.fits(shared)] for moves in kinds)
    return [Group(moves) for moves in fit if moves]


def _keep(best: dict[str, Found], one: Found, kind: str = "") -> None:
    kind = kind or kind_of(one.shared, one.moves)
    if kind not in best or one.key < best[kind].key:
        best[kind] = one
