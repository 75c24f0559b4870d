"""Branch and bound: of every kind of plan the best, out of all layouts and moves.

A plan's time is that of the sum of its moves' counts (`machine.cost.predicted_time`), which grows with
each of
them. So a layout is left out where its moves' least counts already take longer than the best plan of that
kind, and
of a layout's moves those are left out that another beats in every count. Nothing else is left out: the result
is that of trying all (`tests/synthesis/test_optimal.py` tries all).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from itertools import product
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from layoutcheck.algebra.layout import Layout
from layoutcheck.machine.banks import IntArray
from layoutcheck.machine.cost import NOTHING, OVERLAP, Counts, pipes, predicted_time
from layoutcheck.progress import Progress
from layoutcheck.synthesis.candidates import direct, readers, writers
from layoutcheck.synthesis.moves import Direct, Move, counted
from layoutcheck.synthesis.shared import Shared, layouts
from layoutcheck.synthesis.wanted import Wanted

Key = tuple[Any, ...]
_row = attrgetter(*(one.name for one in fields(Counts)))
_ROUNDED = 0.05
"""Half of the last digit of a key's time. A bound leaves out the trip, which is longer."""


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


def search(
    space: Space,
    stages: int,
    most_shared: int,
    progress: Progress | None = None,
    refused: Refused | None = None,
) -> list[Found]:
    """The best plan of each kind, best first. `most_shared` bytes are what a block can have."""
    best: dict[str, Found] = {}
    none = refused or set()
    for move in space.direct:
        if (move, None) in none:
            continue
        _keep(best, Found(None, (move,), move.least, key_of(move.least, None, (move,), stages)))
    slots = [space.writers, *space.readers]
    least: dict[Any, _Least] = {}
    for done, shared in enumerate(space.layouts):
        if progress is not None:
            progress("layouts", done, len(space.layouts))
        if shared.size * stages <= most_shared:
            groups = [
                _by_kind(
                    move
                    for move in slot
                    if move.fits(shared) and not {(move, None), (move, shared.layout)} & none
                )
                for slot in slots
            ]
            _complete(best, shared, groups, stages, least)
    return sorted(best.values(), key=lambda one: one.key)


def _by_kind(moves: Iterable[Move]) -> list[tuple[Move, ...]]:
    kinds: dict[str, list[Move]] = {}
    for move in moves:
        kinds.setdefault(move.kind, []).append(move)
    return [tuple(group) for group in kinds.values()]


class _Least(NamedTuple):
    """The least counts of a group of moves: of each, an array of Counts; and of no move less than `all`."""

    each: IntArray
    all: Counts


def _complete(
    best: dict[str, Found],
    shared: Shared,
    groups: list[list[tuple[Move, ...]]],
    stages: int,
    least: dict[Any, _Least],
) -> None:
    """The best plans with that layout, where they are better than the best of their kind so far."""
    for chosen in product(*groups):
        kind = kind_of(shared, [group[0] for group in chosen])
        bounds = [_least(group, shared.fast, least) for group in chosen]
        if _beaten(best.get(kind), key_of(sum((one.all for one in bounds), NOTHING), shared, (), stages)):
            continue
        fronts = []
        for n, group in enumerate(chosen):
            others = sum((one.all for m, one in enumerate(bounds) if m != n), NOTHING)
            fronts.append(_front(_promising(group, bounds[n], others, best.get(kind)), shared))
        for ways in product(*fronts):
            counts = sum((counts for counts, _ in ways), NOTHING)
            moves = tuple(move for _, move in ways)
            _keep(best, Found(shared, moves, counts, key_of(counts, shared, moves, stages)), kind)


def _least(group: tuple[Move, ...], fast: int, known: dict[Any, _Least]) -> _Least:
    if (group, fast) not in known:
        each = np.array([_row(move.least_for(fast)) for move in group], np.int64)
        known[group, fast] = _Least(each, Counts(*each.min(axis=0).tolist()))
    return known[group, fast]


def _promising(group: tuple[Move, ...], least: _Least, others: Counts, best: Found | None) -> list[Move]:
    """The moves that could be in a plan as quick as the best so far."""
    if best is None:
        return list(group)
    columns: Any = (least.each + np.array(_row(others), np.int64)).T
    busy = sum(pipe**OVERLAP for pipe in pipes(Counts(*columns)).values()) ** (1 / OVERLAP)
    return [group[n] for n in np.flatnonzero(busy <= best.key[0] + _ROUNDED).tolist()]


def _front(group: Sequence[Move], shared: Shared) -> list[tuple[Counts, Move]]:
    """The moves that no other beats in every count; of those with the same counts the simplest."""
    simplest: dict[Counts, Move] = {}
    for move, counts in zip(group, counted(group, shared), strict=True):
        if counts not in simplest or move.simplicity < simplest[counts].simplicity:
            simplest[counts] = move
    if not simplest:
        return []
    values = np.array([_row(counts) for counts in simplest], np.int64)
    no_more = np.all(values[:, None, :] <= values[None, :, :], axis=2)  # [a, b]: a asks for no more than b
    beaten = np.count_nonzero(no_more, axis=0) > 1  # by another than itself
    found = list(simplest.items())
    return [found[n] for n in np.flatnonzero(~beaten).tolist()]


def _beaten(best: Found | None, least: Key) -> bool:
    """Whether nothing with that bound is better than what there is."""
    return best is not None and least > best.key[: len(least)]


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
