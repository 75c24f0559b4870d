"""What is overwritten in shared memory before anything reads it, and what is read before anything writes it.

    unread(watched, transfers, places) -> (what, site, site)

The order of accesses is that of one replay of the block: if all accesses are in order, every replay has the
same one. What a warp writes by one event is a part. It is lost if all of it is overwritten unread, and other
parts of the warp are read: of stores, if nothing ever reads there. A constant is overwritten on purpose.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

import numpy as np

from layoutcheck.copies.offsets import IntArray
from layoutcheck.order.budget import Budget, OutOfTime
from layoutcheck.order.engine import Engine
from layoutcheck.order.meaning import COPIES, READS, WRITES
from layoutcheck.order.replay import Warp
from layoutcheck.order.watched import Event, Watched
from layoutcheck.sources.shared_uses import EARLY, LOST, OVER

SECONDS = 10.0  # of processor time, for one block
_SPAN = 1 << 18


class InTurn(Engine):
    """Keeps which warps execute which accesses of shared memory, in turn."""

    def __init__(self, watched: Watched, transfers: dict[str, tuple[int, int]], budget: Budget) -> None:
        super().__init__([watched], transfers, False, budget)
        self.order: list[tuple[Event, int, int]] = []  # with the first thread of the warp, and its lanes
        self.accesses.follow = lambda _warp, at: at  # type: ignore[method-assign]

    def _execute(self, warp: Warp, index: int, lanes: int) -> bool:
        done = super()._execute(warp, index, lanes)
        if done:
            self.order.append((self.world.events[index], warp.first, lanes))
        return done


def unread(
    watched: Watched, transfers: dict[str, tuple[int, int]], places: Callable[[Event, IntArray], IntArray]
) -> set[tuple[str, str, str]] | None:
    """(what, site, site) of the accesses; None where the block's order is not known.

    `places` are the bytes of shared memory that threads reach by an event.
    """
    budget = Budget(SECONDS)
    turns = InTurn(watched, transfers, budget)
    try:
        if turns.run().stopped:
            return None
        found = _Bytes()
        for event, first, lanes in turns.order:
            budget.check()
            threads = first + np.flatnonzero(lanes >> np.arange(32) & 1)
            found.see(event, places(event, threads), first // 32)
    except OutOfTime:
        return None
    return set(found.told())


class _Bytes:
    """Who wrote each byte last, and whether it was read since."""

    def __init__(self) -> None:
        self.writer = np.full(_SPAN, -1, np.int64)  # the number of a part: what a warp writes by an event
        self.read = np.zeros(_SPAN, bool)
        self.before = defaultdict[str, IntArray](lambda: np.zeros(_SPAN, bool))  # read first, by its site
        self.ever = np.zeros(_SPAN, bool)  # read at any time
        self.parts: list[tuple[Event, IntArray, int]] = []  # with the warp
        self.used = set[int]()
        self.over = dict[int, str]()  # a part, and the site that has overwritten some of it unread
        self.kept = defaultdict[tuple[str, str], bool](bool)  # whether any byte was read before it was

    def see(self, event: Event, at: IntArray, warp: int) -> None:
        """An access of bytes."""
        kind, at = event.meaning.kind, at.ravel()
        if kind in READS:
            old = self.writer[at]
            self.used.update(np.unique(old).tolist())
            self.before[event.meaning.site][at[old < 0]] = True
            self.read[at] = self.ever[at] = True
        if kind in WRITES and at.size:
            old, read = self.writer[at], self.read[at]
            for part in np.unique(old[~read & (old >= 0)]).tolist():
                self._overwritten(part, event, False)
            for part in np.unique(old[read & (old >= 0)]).tolist():
                self._overwritten(part, event, True)
            self.writer[at], self.read[at] = len(self.parts), False
            self.parts.append((event, at, warp))

    def _overwritten(self, part: int, by: Event, read: bool) -> None:
        old = self.parts[part][0]
        if old is not by and "constant" not in old.meaning.facts:
            self.kept[old.meaning.site, by.meaning.site] |= read
            if not read:
                self.over[part] = by.meaning.site

    def told(self) -> Iterator[tuple[str, str, str]]:
        """What was lost, and what was read too early."""
        used = {self._key(part) for part in self.used if part >= 0}
        for part, by in self.over.items():
            (event, at, _), key = self.parts[part], self._key(part)
            alone = event.meaning.kind in COPIES or not self.ever[at].any()
            if part not in self.used and key in used and alone:
                yield LOST, event.meaning.site, by
        yield from ((OVER, *pair) for pair, read in self.kept.items() if not read)
        for site, before in self.before.items():
            for part in np.unique(self.writer[before & (self.writer >= 0)]).tolist():
                yield EARLY, site, self.parts[part][0].meaning.site

    def _key(self, part: int) -> tuple[int, str]:
        """By what parts are alike: the warp, of a store also its site."""
        event, _, warp = self.parts[part]
        return warp, "" if event.meaning.kind in COPIES else event.meaning.site
