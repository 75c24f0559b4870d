"""`Accesses`: ordinary reads and writes of warps, checked against a shadow of shared memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from layoutcheck.dsl.lowered import spaces
from layoutcheck.dsl.lowered.loops import rests_freely
from layoutcheck.order.clashes import report
from layoutcheck.order.clocks import SHARED, earlier
from layoutcheck.order.problems import Party, Problem
from layoutcheck.order.replay import FULL, Warp, World
from layoutcheck.order.shadow import Access, Cells, Clash, Shadow
from layoutcheck.order.unused import given_to_lanes
from layoutcheck.order.watched import Event
from layoutcheck.sources.mlir import Operation

_WRITING = ("write", "matrix_write", "atomic")
_LANES = np.arange(32, dtype=np.int64)
_OWN = "values that each thread loads from"
# (whether it writes, cells, records), or the number of an event of all lanes in the place of its cells.
_Kept = tuple[bool, Any, Any]


class Accesses:
    """Plain accesses of warps, gathered while a clock stands still, then checked at once."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.kept: dict[int, list[_Kept]] = {}  # of each warp
        self.perhaps: dict[int, list[_Kept]] = {}  # stores that may happen
        self._unsure: Shadow | None = None  # who wrote each cell last, if it happened
        self._cells: dict[int, Any] = {}
        self._quick: dict[int, bool] = {}  # events in which warps do no more than this: whether they write
        self._joined: dict[tuple[int, ...], Any] = {}  # the cells of events that warps execute one by one
        self._owner: Any = None  # of each cell, the record of who wrote it since the last synchronisation
        self._readers: Any = None
        self._written: Any = None
        self._given: dict[Operation, bool] = {}  # whether what it loads goes to other lanes
        self._own: set[int] = set()  # events in which every thread reaches its own block's memory
        self._threads = np.arange(world.threads, dtype=np.int64)

    def add(self, warp: Warp, index: int, lanes: int) -> None:
        """One event of a warp."""
        event = self.world.events[index]
        cells = self._cells_of(index, event, warp.block)
        if cells is None:
            return
        write, sure = event.meaning.kind in _WRITING, not event.guarded
        if sure and (write or event.meaning.kind == "read"):  # ldmatrix waits for all lanes of the warp
            self.world.loose[warp.number] = lanes | self.world.loose.get(warp.number, 0)
        matrix = event.meaning.kind.startswith("matrix")
        if sure and lanes == FULL and index in self._own and not matrix:
            self.kept.setdefault(warp.number, []).append((write, index, None))
            meaning = event.meaning
            if not (meaning.reads or meaning.sets or meaning.after or event.words):
                self._quick[index] = write
            return
        mine = cells[warp.first : warp.first + 32]
        own = np.arange(warp.first, warp.first + len(mine), dtype=np.int64)
        chosen = (lanes >> _LANES[: len(mine)] & 1).astype(bool)
        if matrix:
            chosen[event.meaning.count :] = False
        chosen &= mine[:, 0] >= 0
        if not chosen.any():
            return
        picked = mine[chosen]
        if index not in self._own:
            self._of_peers(warp, index, picked[:, 0], np.flatnonzero(chosen))
        records = np.repeat(own[chosen] | (index << 10), picked.shape[1])
        kept = self.kept if sure else self.perhaps
        kept.setdefault(warp.number, []).append((write, picked.ravel(), records))

    def follow(self, warp: Warp, at: int) -> int:
        """Take what comes next of a warp while all of its lanes do what `add` has seen of others; the end."""
        todo, quick, first = warp.todo, self._quick, at
        kept = self.kept.setdefault(warp.number, [])
        while at < len(todo) and (one := todo[at])[1] == FULL and one[0] in quick:
            kept.append((quick[one[0]], one[0], None))
            at += 1
        if at > first:
            self.world.loose[warp.number] = FULL
        return at

    def _of_peers(self, warp: Warp, index: int, cells: Any, lanes: Any) -> None:
        """Accesses of other blocks' shared memory: each block must have begun, and must not be over."""
        world = self.world
        targets = cells // (world.span // world.cell)
        for block in np.unique(targets[targets != warp.block]).tolist():
            at = int(np.flatnonzero(targets == block)[0])
            size = world.events[index].meaning.size
            who = world.party(warp, index, int(lanes[at]), world.address_of(int(cells[at])), size)
            world.remote[block, warp.number] = (world.clocks.now(warp.number), who)
            first = block * world.warps_each
            heard_of = earlier(world.clocks.known[warp.number])[first : first + world.warps_each]
            if not heard_of.any():
                world.tell(Problem("peer-not-begun", None, who, [], {"block": block}))

    def flush(self, warp: Warp) -> None:
        """Check and keep what was gathered."""
        gathered, perhaps = self.kept.pop(warp.number, ()), self.perhaps.pop(warp.number, ())
        if not gathered and not perhaps:
            return
        world = self.world
        clock, step = world.clocks.known[warp.number], world.clocks.now(warp.number)
        parts = [
            list(self._parts(warp, [one for w, *one in gathered if w == write])) for write in (False, True)
        ]
        reads, writes = ([np.concatenate(column) for column in zip(*one, strict=True)] for one in parts)
        if reads and writes:
            meet = self._meet(reads[0], writes[0])
            kept = [(write, one) for write, *one in gathered if write or meet]
            self._between_lanes(
                [(w, cells, r) for w, one in kept for cells, r in self._parts(warp, [one], 1)]
            )
        for write, access in ((False, reads), (True, writes)):
            if not access:
                continue
            cells, records = access
            one = Access(Cells(cells), records, warp.number, step, False)
            check = world.shared.write if write else world.shared.read
            report(world, check(one, clock))
            if self._unsure is not None:
                report(world, self._plain(self._unsure.after_write(one, clock)))
        for _, cells, records in perhaps:
            access = Access(Cells(cells), records, warp.number, step, False)
            report(world, self._plain(world.shared.write(access, clock, keep=False)))
            self._unsure = self._unsure or Shadow(world.shared.size, SHARED, None)
            list(self._unsure.write(access, clock))  # of two that may happen nothing is said

    def _plain(self, clashes: Iterator[Clash]) -> Iterator[Clash]:
        """Those of no order between accesses of threads."""
        for one in clashes:
            kinds = {self.world.events[record >> 10].meaning.kind for record in (one.earlier, one.later)}
            if one.kind == "race" and kinds <= {"read", "write"}:
                yield one

    def _may(self, event: Event, block: int) -> bool:
        """Whether it is a store whose only unknown is a condition on what its own thread has loaded."""
        watched, op = self.world.blocks[block], event.meaning.op
        if event.meaning.kind != "write" or op is None or event.meaning.space != "smem":
            return False
        around = watched.undecided.intersection(op.around())
        free = all(one.name == "scf.if" and rests_freely(one.operands[0]) for one in around)
        why = watched.reasons.read(event.rests)
        return free and all(kind != "uniform" and words.startswith(_OWN) for kind, words in why)

    def _parts(self, warp: Warp, kept: list[Any], most: int = 256) -> Iterator[tuple[Any, Any]]:
        """(cells, records) of what a warp has kept, in order; of at most so many events at once."""
        whole: list[int] = []
        behind: Any = (None, ())
        for cells, records in [*kept, behind]:
            last = whole and (records is not None or self._cells[cells].shape != self._cells[whole[0]].shape)
            if last or len(whole) == most:
                at = slice(warp.first, warp.first + 32)
                found, many = self._of_all(tuple(whole))[:, at], self._cells[whole[0]].shape[1]
                events = np.array(whole, np.int64)[:, None] << 10
                yield found.ravel(), np.repeat((events | self._threads[at]).ravel(), many)
                whole.clear()
            if records is None:
                whole.append(cells)
            elif cells is not None:
                yield cells, records

    def _of_all(self, events: tuple[int, ...]) -> Any:
        """[event, thread, cells of one access], kept for the warps that come by next."""
        if events not in self._joined:
            if len(self._joined) > 64:
                self._joined.clear()
            self._joined[events] = np.stack([self._cells[index] for index in events])
        return self._joined[events]

    def _meet(self, reads: Any, writes: Any) -> bool:
        """Whether any cell is read and written."""
        if self._written is None:
            self._written = np.zeros(self.world.shared.size, bool)
        self._written[writes] = True
        found = bool(self._written[reads].any())
        self._written[writes] = False
        return found

    def _between_lanes(self, gathered: list[tuple[bool, Any, Any]]) -> None:
        """One place, two lanes of a warp, one of them a store, with no synchronisation between."""
        size = self.world.shared.size
        if self._owner is None:
            self._owner, self._readers = np.full(size, -1, np.int64), np.full((2, size), -1, np.int64)
        owner, readers = self._owner, self._readers  # of a place that lanes have read the last and the first
        for write, cells, records in gathered:
            self._other_lane(owner[cells], cells, records)
            if not write:
                if self.world.events[int(records[0]) >> 10].meaning.kind == "read":
                    readers[0, cells], readers[1, cells[::-1]] = records, records[::-1]
                continue
            for reader in readers[:, cells]:
                self._other_lane(reader, cells, records, read=True)
            owner[cells] = records
        for write, cells, _ in gathered:
            if write:
                owner[cells] = -1
            else:
                readers[:, cells] = -1

    def _other_lane(self, before: Any, cells: Any, records: Any, read: bool = False) -> None:
        """Tell the first access after another lane's: a load, or a store of what that lane has `read`."""
        world = self.world
        bad = np.flatnonzero((before >= 0) & ((before ^ records) & 1023 != 0))
        if not bad.size:
            return
        both = int(before[bad[0]]), int(records[bad[0]])
        if (world.events[both[1] >> 10].meaning.kind in _WRITING) != read:
            return
        address = world.address_of(int(cells[bad[0]]))
        parties = [
            Party(world.events[r >> 10], world.block_of[r >> 10], r & 1023, address, world.cell) for r in both
        ]
        op = parties[0].event.meaning.op
        if read and op is not None and op not in self._given:
            self._given[op] = given_to_lanes(op)
        if not (read and op is not None and self._given[op]):
            world.tell(Problem("lanes", parties[0], parties[1]))

    def _cells_of(self, index: int, event: Event, block: int) -> Any:
        """[thread, cells of one access], -1 in front where a thread's address is not in shared memory."""
        if index in self._cells:
            return self._cells[index]
        world = self.world
        meaning = event.meaning
        found: Any = None
        if event.doubt or event.guarded:
            world.skip("accesses at addresses, or under conditions, that only a run knows")
        if not event.doubt and (not event.guarded or self._may(event, block)):
            address = event.numbers(0, world.threads)
            space = meaning.space if meaning.space != "generic" else spaces.space_of(0, int(address[0]))
            if space in ("smem", "dsmem"):
                rank = (address & ((1 << 42) - 1)) >> 24
                offset = address & (spaces.SHARED_BYTES - 1)
                known = world.rank_table[np.minimum(rank, 255)]
                many = max(1, meaning.size // world.cell)
                first = known * (world.span // world.cell) + offset // world.cell
                found = first[:, None] + np.arange(many, dtype=np.int64)[None, :]
                outside = (known < 0) | (offset + meaning.size > world.span) | (offset < 0)
                if outside.any():
                    found = np.where(outside[:, None], -1, found)
                elif (known == block).all():
                    self._own.add(index)
        self._cells[index] = found
        return found
