"""Shadow memory: who wrote each cell last, and how far each agent has read it.

A cell is the largest power of two of bytes that no access of the kernel divides (1 to 16). Of reads, the last
step of every agent is kept, and of writes the last one: enough to find the first of the races of a cell
(FastTrack, Flanagan and Freund, PLDI 2009).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from layoutcheck.order.clocks import HAPPENED, LANES, Clock

_EVENT_BITS = 32  # of the number of an event


class Cells:
    """Places in a shadow: a range, or numbers; what is asked of them again is kept.

    `where` indexes arrays of all cells, `first` and `last` are the outermost; `around` are all between these
    if they are mostly those given, else None. `written` is what `Shadow.last_write` keeps.
    """

    __slots__ = ("around", "at", "first", "last", "size", "where", "written")

    def __init__(self, at: range | npt.NDArray[np.int64]) -> None:
        self.at, self.size = at, len(at)
        self.written: tuple[Shadow | None, int, int, int] = (None, 0, 0, 0)
        self.first = self.last = 0
        self.where: Any = at
        self.around: slice | None = None
        if isinstance(at, range):
            self.first, self.last = at.start, at.stop - 1
            self.where = self.around = slice(at.start, at.stop)
        elif self.size:
            self.first, self.last = int(at.min()), int(at.max())
            if self.first >= 0 and self.last + 1 - self.first <= 2 * self.size:
                self.around = slice(self.first, self.last + 1)

    def moved(self, by: int) -> Cells:
        """As many, so many cells further."""
        at = self.at
        return Cells(range(at.start + by, at.stop + by) if isinstance(at, range) else at + by)


class Access(NamedTuple):
    """Cells touched by `component` at its step `step`; `records` say by which event and thread."""

    cells: Cells
    records: Any  # one number, or an array of one a cell
    component: int
    step: int
    asynchronous: bool


class Clash(NamedTuple):
    """Two accesses of one cell: no order ("race"), no fence ("proxy", "strict"), one lane only ("lane").

    "lanes" are two lanes of a warp that have not met, one of which copies in bulk. `write_first` says whether
    the earlier one was the write.
    """

    kind: str
    earlier: int
    later: int
    cell: int
    write_first: bool


class Shadow:
    """Cells of one memory; `view` is what asynchronous accesses are held against (`clocks.SHARED`).

    Accesses by the agents `lanes`, one for each warp, are those of lanes, which one lane may hand over;
    `copied` is how far behind these the agents are that read the sources of their bulk copies.
    """

    def __init__(
        self, cells: int, view: int, strict: int | None, lanes: range = range(0), copied: int = 0
    ) -> None:
        self.lanes, self.copied = lanes, copied
        self.size, self.view, self.strict = cells, view, strict
        self.writer = np.zeros(cells, np.int32)
        self.written = np.zeros(cells, np.int32)
        self.record = np.full(cells, -1, np.int64)
        self.by_proxy = np.zeros(cells, bool)
        self.writes = 0  # that were kept
        self.readers: dict[int, tuple[Any, Any]] = {}  # component -> (step, record) of each cell
        self.proxy_readers: set[int] = set()
        self.reach: dict[int, tuple[int, int]] = {}  # component -> from where to where its reads are

    def read(self, access: Access, clock: Clock) -> Iterator[Clash]:
        """Check a read and keep it."""
        cells = access.cells
        if not cells.size:
            return
        yield from self.after_write(access, clock)
        found = self.readers.get(access.component)
        if found is None:
            found = np.zeros(self.size, np.int32), np.zeros(self.size, np.int64)
            self.readers[access.component] = found
            if access.asynchronous:
                self.proxy_readers.add(access.component)
        found[0][cells.where], found[1][cells.where] = access.step, access.records
        low, high = self.reach.get(access.component, (self.size, 0))
        self.reach[access.component] = min(low, cells.first), max(high, cells.last)

    def write(self, access: Access, clock: Clock, keep: bool = True) -> Iterator[Clash]:
        """Check a write and keep it, if it is sure to happen."""
        cells = access.cells
        if not cells.size:
            return
        yield from self.after_write(access, clock)
        where, around, first, last = cells.where, cells.around, cells.first, cells.last
        for component, (steps, records) in self.readers.items():
            low, high = self.reach[component]
            if last < low or high < first:
                continue
            if around is not None and self._settled(component, int(steps[around].max()), access, clock):
                continue
            seen = steps[where]
            known = _at(clock[HAPPENED], component)
            bad = seen > known
            if bad.any():
                yield from self._clashes("race", access, records[where], bad, False)
                continue
            if component in self.lanes and component != access.component:  # lanes of another warp
                alone = seen > _at(clock[LANES], component)
                if alone.any():
                    yield from self._clashes("lane", access, records[where], alone, False)
            if self._copies(component, access.component):  # another lane waits until it is read
                alone = (seen > _at(clock[LANES], component)) & _two_threads(records[where], access)
                if alone.any():
                    yield from self._clashes("lanes", access, records[where], alone, False)
            if access.asynchronous and component not in self.proxy_readers:
                bad = seen > _at(clock[self.view], component)
                if bad.any():
                    yield from self._clashes("proxy", access, records[where], bad, False)
        if keep:
            self.writes += 1
            self.writer[where], self.written[where] = access.component, access.step
            self.record[where], self.by_proxy[where] = access.records, access.asynchronous

    def _copies(self, component: int, warp: int) -> bool:
        """Whether an agent reads the sources of a warp's bulk copies."""
        return self.copied > 0 and warp in self.lanes and component == warp + self.copied

    def _settled(self, component: int, last: int, access: Access, clock: Clock) -> bool:
        """Whether a writer knows, in all views that count, of what a reader did up to its step `last`."""
        views = [HAPPENED]
        others = component in self.lanes and component != access.component
        if others or self._copies(component, access.component):
            views.append(LANES)
        if access.asynchronous and component not in self.proxy_readers:
            views.append(self.view)
        return all(last <= _at(clock[view], component) for view in views)

    def last_write(self, cells: Cells) -> tuple[int, int]:
        """(the agent that wrote all of these cells and those around, -1 if several did; the last step)."""
        shadow, writes, who, last = cells.written
        if shadow is not self or writes != self.writes:
            where = cells.where if cells.around is None else cells.around
            writer = self.writer[where]
            who = int(writer[0]) if (writer == writer[0]).all() else -1
            last = int(self.written[where].max())
            cells.written = self, self.writes, who, last
        return who, last

    def _nothing_new(self, access: Access, clock: Clock) -> bool:
        """Whether one agent wrote all of these cells, and it is known in all views that may count."""
        who, last = self.last_write(access.cells)
        if who < 0 or last > clock[HAPPENED, who]:
            return False
        if not access.asynchronous:
            return who not in self.lanes or bool(last <= clock[LANES, who])
        views = [self.view, *([] if self.strict is None else [self.strict])]
        views += [LANES] if self._copies(access.component, who) else []
        return all(last <= clock[view, who] for view in views)

    def after_write(self, access: Access, clock: Clock) -> Iterator[Clash]:
        """Check an access against the last write."""
        if self._nothing_new(access, clock):
            return
        where = access.cells.where
        written, writer = self.written[where], self.writer[where]
        bad = written > clock[HAPPENED][writer]
        if bad.any():
            yield from self._clashes("race", access, self.record[where], bad, True)
        elif self.lanes and not access.asynchronous:  # another warp's lanes
            number, own = writer - self.lanes.start, access.component % len(self.lanes)
            other = (number >= 0) & (number < len(self.lanes)) & (number != own)
            alone = other & (written > clock[LANES][writer])
            if alone.any():
                yield from self._clashes("lane", access, self.record[where], alone, True)
        if access.asynchronous:
            generic = ~self.by_proxy[where] & ~bad
            unseen = generic & (written > clock[self.view][writer])
            if unseen.any():
                yield from self._clashes("proxy", access, self.record[where], unseen, True)
            elif self.strict is not None:
                unseen = generic & (written > clock[self.strict][writer])
                if unseen.any():
                    yield from self._clashes("strict", access, self.record[where], unseen, True)
            own = access.component - self.copied
            if self._copies(access.component, own):  # what other lanes of its warp have written
                alone = (writer == own) & (written > clock[LANES][own]) & ~(bad | unseen)
                alone &= _two_threads(self.record[where], access)
                if alone.any():
                    yield from self._clashes("lanes", access, self.record[where], alone, True)

    def _clashes(
        self, kind: str, access: Access, earlier: Any, bad: Any, write_first: bool
    ) -> Iterator[Clash]:
        """One for each pair of records."""
        places = np.flatnonzero(bad)
        later = np.broadcast_to(access.records, (access.cells.size,))
        pairs = (earlier[places] >> 10 << _EVENT_BITS) | (later[places] >> 10)
        _, first = np.unique(pairs, return_index=True)
        for i in places[first].tolist():
            yield Clash(kind, int(earlier[i]), int(later[i]), int(access.cells.at[i]), write_first)


def _two_threads(records: Any, access: Access) -> Any:
    """Whether other threads are on record than those of an access, for each cell."""
    return (records ^ access.records) & 1023 != 0


def _at(view: Any, component: int) -> int:
    return int(view[component]) if component < view.shape[0] else 0
