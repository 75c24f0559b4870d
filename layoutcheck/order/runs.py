"""The runs of a kernel that are replayed: `runs(kernel, budget)`.

As it is launched, with both outcomes of every trial of an mbarrier; where branches rest on loaded values,
also with given contents of memory (`contents`); then with a grid for which its loops over tiles end by
themselves, and with other trip counts (`trips`).
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter

from layoutcheck.dsl.lowered import SURPRISES
from layoutcheck.dsl.lowered.arguments import EXTENT, INNER_EXTENT, INTEGER, Extent
from layoutcheck.order.budget import Budget, OutOfTime
from layoutcheck.order.contents import Contents, followed
from layoutcheck.order.crowded import crowded, plain
from layoutcheck.order.events import WatchedKernel
from layoutcheck.order.recorder import MOST_TILES
from layoutcheck.order.trips import (
    MOST_TURNS,
    ending,
    fewer_blocks,
    outline,
    persistent,
    trips,
    turning,
    variations,
    with_integers,
)
from layoutcheck.order.watched import Watched

GUESSED_TURNS = 3  # a ring of two slots comes round
MANY_EVENTS, FEW_TURNS = 10_000, 16  # integers, which may count turns, are few if there are more events
TOO_MANY = 50_000  # events for which extents are small, too: such runs take a minute, or are cut
SMALLEST = 3  # of the variations: those of one turn at most
SEARCH_SECONDS = 3.0  # of processor time, for a grid
OTHERS_SECONDS = 6.0  # the same for all other numbers, with their replays


@dataclass(frozen=True)
class Cluster:
    """The blocks of the cluster that begins at `first`, followed in loops over tiles for `tiles` turns.

    `guessed` are the turns of such loops that end by what only a run knows.
    """

    kernel: WatchedKernel
    token: int
    budget: Budget
    tiles: int = MOST_TILES
    first: tuple[int, int, int] = (0, 0, 0)
    guessed: int = 1

    def watch(self, contents: Contents | None = None) -> list[Watched]:
        """What each block does. Raises OutOfTime."""
        x, y, z = (range(at, at + n) for at, n in zip(self.first, self.kernel.launch.cluster, strict=True))
        if contents is not None:
            contents.now.clear()
        indices = [(i, j, k) for k in z for j in y for i in x]
        how = self.token, self.budget, self.tiles, contents, self.guessed
        return [self.kernel.watch(index, *how) for index in indices]

    def sure(self) -> list[Watched] | None:
        """What each block does, in a run that a real one could be; None where that is not known."""
        blocks = self.watch()
        return followed(blocks, self.watch) if any(block.guessed for block in blocks) else blocks


@dataclass(frozen=True)
class Run:
    """What the blocks of a cluster do.

    `first` says that the kernel is launched as it is, `given` that contents of memory are, `only` that there
    is no such run without them, `alike` that all extents have one number, so that loops that belong together
    turn as often. `usual` is the same with the usual numbers, where they are fewer here; `whole` the kernel
    with these, if they are followed in the end, too: not where integers alone are fewer. `empty` says that
    all integers are 0.
    """

    blocks: list[Watched]
    cluster: Cluster
    first: bool
    given: bool = False
    alike: bool = True
    only: bool = False
    usual: list[Watched] | None = None
    whole: WatchedKernel | None = None
    empty: bool = False

    @property
    def orders(self) -> tuple[bool, ...]:
        """Whether warps are replayed backwards, in turn."""
        return (False, True) if self.first else (False,)

    def with_other_numbers(self) -> Iterator[list[Watched]]:
        """The same with one number for all dynamic extents, and the usual integers; nothing where it is that.

        As launched, extents of one tensor may differ from those of another that have to be equal: loops over
        the same mode of A and of B turn a different number of times. Few integers may not go with them.
        """
        if not any("?" in kind for kind in self.cluster.kernel.types):
            yield from [self.usual] if self.usual is not None else []
            return
        for extent in (INNER_EXTENT, EXTENT):
            yield from self.with_numbers(extent)

    def with_numbers(self, extent: Extent) -> Iterator[list[Watched]]:
        """The same with other dynamic extents and the usual integers; nothing where that is not known."""
        with contextlib.suppress(*SURPRISES, ArithmeticError):
            if (kernel := self.cluster.kernel.with_numbers(extent, INTEGER)) is not None:
                cluster = replace(self.cluster, kernel=kernel)
                blocks = cluster.sure() if self.given else cluster.watch()
                yield from [blocks] if blocks is not None else []

    def longer(self) -> list[Watched] | None:
        """The same with more turns of the loops that were cut; None where that is not known."""
        more = replace(self.cluster, tiles=2 * self.cluster.tiles)
        return more.sure() if self.given else more.watch()


def runs(kernel: WatchedKernel, budget: Budget) -> Iterator[Run]:
    """All runs, the usual ones first. Raises OutOfTime."""
    usual = Cluster(kernel, 0, budget)
    each, found = _of(usual, True), list[Run]()
    first = next(each)
    shorter = _shorter(usual, first.blocks)
    for run in shorter or itertools.chain([first], each):
        found.append(run)
        yield run
    if kernel.tokens:
        yield from _of(replace(found[0].cluster, token=1), True)
    rest = Budget(min(OTHERS_SECONDS, budget.left()))
    try:
        yield from _with_other_numbers(replace(usual, budget=rest), found)
    except OutOfTime:
        if budget.left() <= 0:
            raise


def left_over(run: Run, budget: Budget) -> Iterator[Run]:
    """The runs with the usual numbers, in place of which one with fewer was followed. Raises OutOfTime."""
    if run.whole is not None:
        yield from _of(replace(run.cluster, kernel=run.whole, budget=budget), True, run.usual)


def _lean(kernel: WatchedKernel, run: Run) -> WatchedKernel:
    """The kernel without accesses of global memory that a run has shown to concern no other thread or access.

    They are most of what many kernels do, and matter with other numbers as little.
    """
    if any(crowd.cells.size or crowd.unsure for crowd in map(crowded, run.blocks)):
        return kernel
    events = [event for block in run.blocks for event in block.events]
    decide = {event.meaning.op for block in run.blocks for event in block.deciding}
    if any(event.bulk is not None or (event.meaning.op in decide and plain(event)) for event in events):
        return kernel
    left_out = {event.meaning.op for event in events if plain(event)} - decide
    kept = {
        op: m
        for op, m in kernel.meanings.items()
        if op not in left_out or m.reads or m.sets or m.after or m.more
    }
    return replace(kernel, meanings=kept)


def _with_other_numbers(usual: Cluster, found: list[Run]) -> Iterator[Run]:
    """The runs of other grids, extents and integers; `found` are the usual ones. Raises OutOfTime."""
    whole, budget = usual.kernel, usual.budget
    kernel = _lean(whole, found[0])
    usual, bare = replace(usual, kernel=kernel), replace(kernel, meanings=outline(kernel))
    with contextlib.suppress(*SURPRISES, ArithmeticError):
        if (other := _ending(usual, bare, found[-1].blocks)) is not None:
            yield from _varied(replace(usual, kernel=other, tiles=MOST_TURNS))
    with contextlib.suppress(*SURPRISES, ArithmeticError):
        fewer = _within(budget, partial(fewer_blocks, bare, found[0].blocks[0]))
        whole_again = replace(fewer, meanings=kernel.meanings) if fewer is not None else None
        for run in _varied(replace(usual, kernel=whole_again)) if whole_again is not None else ():
            yield replace(run, alike=False)
    for i, numbers in enumerate(variations(kernel, found[0].blocks[0], budget)):
        with contextlib.suppress(*SURPRISES, ArithmeticError):  # numbers that no caller would give
            small = i < SMALLEST  # where a tensor is less than a tile, threads meet that else do not
            if (varied := (whole if small else kernel).with_numbers(*numbers)) is not None:
                for run in _varied(replace(usual, kernel=varied)):
                    yield replace(run, empty=numbers[1] == 0)
    with contextlib.suppress(*SURPRISES, ArithmeticError):
        for smaller in persistent(bare, found[0].blocks[0], budget):
            for run in _varied(replace(usual, kernel=replace(smaller, meanings=kernel.meanings))):
                yield replace(run, alike=False)


def _shorter(usual: Cluster, blocks: list[Watched]) -> list[Run]:
    """The same with small numbers, where there are many events, and then fewer; else nothing.

    Of far too many, the numbers of most turns that bring less. Loads must still be in loops that turn again.
    """
    many, kernel = _events(blocks), usual.kernel
    tried: list[tuple[list[tuple[Extent, int]], WatchedKernel | None]] = []
    if many > MANY_EVENTS and with_integers(kernel):
        tried.append(([(None, FEW_TURNS)], None))
    with contextlib.suppress(*SURPRISES, ArithmeticError):
        if many > TOO_MANY:
            small = variations(kernel, blocks[0], usual.budget)
            tried.append((sorted(small, key=itemgetter(1), reverse=True), kernel))
    found = list[tuple[Run, Iterator[Run], WatchedKernel | None]]()
    for each, whole in tried:
        with contextlib.suppress(*SURPRISES, ArithmeticError):
            less = _changed(filter(None, (_begun(usual, numbers) for numbers in each)), many)
            fitting = ((*one, whole) for one in less if _events(one[0].blocks) < min(many, TOO_MANY))
            again = (one for one in fitting if trips(one[0].blocks) > 1)  # in a loop of loads
            found += itertools.islice(again, 1)
    if not found:
        return []
    first, others, whole = max(found, key=lambda one: trips(one[0].blocks))
    with contextlib.suppress(*SURPRISES, ArithmeticError):
        return [replace(run, usual=blocks, whole=whole) for run in (first, *others)]
    return []


def _changed(tried: Iterable[tuple[Run, Iterator[Run]]], many: int) -> Iterator[tuple[Run, Iterator[Run]]]:
    """Those in which another number of things happens, until two change nothing.

    What such a kernel does rests on no number of the host.
    """
    same = 0
    for one in tried:
        if _events(one[0].blocks) != many:
            yield one
        elif same:
            return
        else:
            same = 1


def _begun(usual: Cluster, numbers: tuple[Extent, int]) -> tuple[Run, Iterator[Run]] | None:
    """The first run with other numbers, and what gives the others; None where no host launches it so."""
    fewer = usual.kernel.with_numbers(*numbers)
    if fewer is None:
        return None
    each = _of(replace(usual, kernel=fewer), True)
    return next(each), each


def _events(blocks: list[Watched]) -> int:
    return sum(len(block.events) for block in blocks)


def _ending(usual: Cluster, bare: WatchedKernel, blocks: list[Watched]) -> WatchedKernel | None:
    """`ending`, within a time of its own; the loops are those of the `bare` kernel.

    That it can be followed is seen once. On other grids only the turns are looked at.
    """

    def search(time: Budget) -> WatchedKernel | None:
        cluster, meanings = replace(usual, tiles=MOST_TURNS, budget=time), bare.meanings

        def watch(other: WatchedKernel) -> list[Watched] | None:
            nonlocal meanings
            found = replace(cluster, kernel=replace(other, meanings=meanings)).sure()
            if found is not None and meanings is bare.meanings:
                meanings = turning(bare, found)
            return found

        return ending(usual.kernel, blocks, watch, time)

    return _within(usual.budget, search)


def _within(budget: Budget, search: Callable[[Budget], WatchedKernel | None]) -> WatchedKernel | None:
    """What is found within a part of the time; None after it. Raises OutOfTime where nothing is left."""
    try:
        return search(Budget(min(SEARCH_SECONDS, budget.left())))
    except OutOfTime:
        if budget.left() <= 0:
            raise
        return None


def _varied(cluster: Cluster) -> Iterator[Run]:
    for token in (0, 1)[: 1 + cluster.kernel.tokens]:
        yield from _of(replace(cluster, token=token), False)


def _of(cluster: Cluster, first: bool, known: list[Watched] | None = None) -> Iterator[Run]:
    blocks = cluster.watch() if known is None else known
    needed = any(event.guess for block in blocks for event in block.events)
    instead = needed or any(block.stored for block in blocks)
    if not instead:
        yield Run(blocks, cluster, first)
    given = followed(blocks, cluster.watch)
    if instead or given is not None:
        only = needed or (instead and given is not None)
        yield Run(blocks if given is None else given, cluster, first, given is not None, only=only)
    if (
        given is None
        and not needed
        and any(block.guessed for block in blocks)
        and cluster.kernel.schedulers()
    ):
        longer = replace(cluster, guessed=GUESSED_TURNS)
        yield Run(longer.watch(), longer, first)
