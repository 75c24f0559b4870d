"""`run(blocks, transfers)`: replay the events of the blocks of a cluster; what is not ordered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from layoutcheck.order.accesses import Accesses
from layoutcheck.order.budget import Budget, OutOfTime
from layoutcheck.order.clocks import HAPPENED
from layoutcheck.order.contents import Words
from layoutcheck.order.diagnose import diagnose, timeline
from layoutcheck.order.global_memory import GlobalMemory
from layoutcheck.order.groups import AsyncCopies
from layoutcheck.order.mbarriers import Mbarriers
from layoutcheck.order.problems import Party, Problem, Undecided
from layoutcheck.order.registers import Registers
from layoutcheck.order.rendezvous import Rendezvous
from layoutcheck.order.replay import FULL, Stopped, Warp, World
from layoutcheck.order.tensor_cores import TensorCores
from layoutcheck.order.watched import Event, Watched
from layoutcheck.sources.mlir import Operation

LOOK_AHEAD = 4000  # events that lanes not waiting may be ahead of the waiting lanes of their warp
_LEFT_OUT = (  # where its place or condition is not known
    "cp_async", "wgmma", "bulk_store", "st_async", "tc_mma", "tc_copy", "tmem_read", "tmem_write",
    "tmem_wait", "tmem_free",
)  # fmt: skip
_ANYWHERE = ("elect", "warp_sync", "cp_commit", "cp_wait", "bulk_commit", "bulk_wait", "fence", "fence_proxy")
# What orders a warp's lanes.
_MEETING = ("barrier", "barrier_arrive", "warp_sync", "cluster_arrive", "cluster_wait")
_GIVING = (*_MEETING, "mbar_arrive", "cp_arrive")
# What is told of the mbarrier that another warp waits at.
_OF_OTHER = ("address", "count", "pending", "bytes", "phase")

Handler = Callable[[Warp, int, Event, int], bool]


@dataclass(slots=True)
class Outcome:
    """What a replay found. `stopped` says why it could not go on, "" where every warp came to its end."""

    problems: list[Problem]
    events: int
    skipped: dict[str, int] = field(default_factory=dict)
    stopped: str = ""
    undecided: Undecided | None = None
    past_cut: bool = False  # it stopped with some warp behind a loop that was cut
    agree: bool = True  # what was loaded is what had been stored
    trying: bool = False  # it stopped with some warp at a trial that a run need not wait for
    stuck: frozenset[tuple[int, Operation | None, tuple[int, ...]]] = frozenset()  # who waits where, when
    behind: frozenset[int] = frozenset()  # the warps behind a loop that was cut
    narrow: dict[tuple[int, int], Party] = field(default_factory=dict)  # that of `World`
    compared: bool = False  # also what is stored by one statement, by what it loads from global memory


class Engine:
    """Runs the warps in turn; `backwards` begins with the last."""

    def __init__(
        self, blocks: list[Watched], transfers: dict[str, tuple[int, int]], backwards: bool, budget: Budget,
        gathers: bool = False, by_scopes: bool = False,
    ) -> None:  # fmt: skip
        self.budget = budget
        self.world = World(blocks, transfers, budget)
        self.world.by_scopes, self.gathers = by_scopes, gathers
        self.accesses = Accesses(self.world)
        self.mbarriers = Mbarriers(self.world)
        self.globally = GlobalMemory(self.world)
        self.registers = Registers(self.world)
        self.copies = AsyncCopies(self.world, self.mbarriers, self.globally)
        self.tensors = TensorCores(self.world, self.mbarriers, self.registers)
        self.meeting = Rendezvous(self.world)
        self.words = Words()
        self.backwards = backwards
        self.handlers: dict[str, Handler] = {
            **self.mbarriers.handlers(), **self.copies.handlers(), **self.meeting.handlers(),
            **self.tensors.handlers(),
            "unknown": self._unknown, "fence": self._fence,
        }  # fmt: skip

    def run(self) -> Outcome:
        """Run until every warp has exited, or none can go on."""
        stopped, undecided = "", None
        try:
            stopped = "" if self._all_exit() else "deadlock"
            for warp in self.world.warps:
                self.accesses.flush(warp)
            self._peers()
            if stopped:
                self._deadlock()
        except Stopped:
            stopped = "undefined"
        except OutOfTime:
            stopped = "time"
        except Undecided as error:
            stopped, undecided = str(error), error
        return self._outcome(stopped, undecided)

    def _all_exit(self) -> bool:
        """Run the warps in turn; whether all come to their end."""
        order = self.world.warps[:: -1 if self.backwards else 1]
        while not all(warp.exited for warp in order):
            moved = [self._advance(warp) for warp in order]
            if not any(moved):
                return False
        return True

    def _outcome(self, stopped: str, undecided: Undecided | None) -> Outcome:
        world = self.world
        for problem in world.problems.values():
            diagnose(world, problem)
            problem.timeline = timeline(world, problem)
        waits = {w.number: w.waits.event for w in world.warps if not w.exited and w.waits is not None}
        behind = self._past_cuts()
        return Outcome(
            list(world.problems.values()),
            len(world.events),
            world.skipped,
            stopped,
            undecided,
            past_cut=bool(stopped and behind),
            agree=not world.contradicted,
            trying=any(event.meaning.kind == "mbar_token" for event in waits.values()),
            stuck=frozenset((number, event.meaning.op, event.turns) for number, event in waits.items()),
            behind=behind,
            narrow=world.narrow,
            compared=world.compared,
        )

    def _past_cuts(self) -> frozenset[int]:
        """The warps that have left a loop that would go on: what others wait for may come from there."""
        found = set[int]()
        for number, block in enumerate(self.world.blocks):
            loops = _Loops({loop: len(turns) for loop, turns in block.cut})
            for warp in self.world.warps if block.cut else ():
                if warp.block == number:
                    met = [self.world.events[index] for index, _ in warp.todo]
                    left = loops.around(met[: warp.at]) - loops.around(met[warp.at :])
                    if left & block.cut:
                        found.add(warp.number)
        return frozenset(found)

    def _advance(self, warp: Warp) -> bool:
        """Run a warp as far as it goes; whether it went anywhere."""
        if warp.exited:
            return False
        moved, blocked, at = False, 0, warp.at
        todo = warp.todo
        warp.waits = None
        while at < len(todo):
            index, lanes = todo[at]
            if not blocked and not warp.done and (ahead := self.accesses.follow(warp, at)) > at:
                self.budget.check()
                moved, at, warp.at = True, ahead, ahead
                continue
            if at in warp.done:
                at += 1
                if not blocked:
                    warp.done.discard(at - 1)
                    warp.at = at
                continue
            if lanes & blocked:
                blocked |= lanes
            elif self._execute(warp, index, lanes):
                moved = True
                if blocked:
                    warp.done.add(at)
                else:
                    warp.at = at + 1
            else:
                if not blocked and warp.waits is None:
                    warp.waits = self.world.party(warp, index, (lanes & -lanes).bit_length() - 1)
                blocked |= lanes
            at += 1
            if blocked == FULL or at - warp.at > LOOK_AHEAD:
                return moved
        if not blocked:
            self.accesses.flush(warp)
            warp.exited = True
            self.world.exits[warp.number] = self.world.clocks.known[warp.number, HAPPENED].copy()
            self.copies.leave(warp)
            self.meeting.leave(warp)
            moved = True
        return moved

    def _execute(self, warp: Warp, index: int, lanes: int) -> bool:
        """One event; False where the warp has to wait."""
        self.budget.check()
        event = self.world.events[index]
        if event.meaning.reads or event.meaning.sets or event.meaning.after:
            self.registers.see(warp, index, lanes)
        if event.meaning.kind == "registers":
            return True
        if event.words:
            self.world.contradicted |= not self.words.see(event, warp.first, lanes)
        handler = self.handlers.get(event.meaning.kind)
        if handler is None:
            if event.meaning.space == "gmem":
                if event.meaning.kind == "write":
                    self.globally.store(warp, index, lanes)
                elif event.meaning.kind == "read":
                    self.globally.read(warp, index, lanes)
            else:
                self.accesses.add(warp, index, lanes)
            return True
        kind = event.meaning.kind
        if event.guarded or (event.doubt and not (event.gathers and (self.gathers or kind == "bulk_load"))):
            if kind in _LEFT_OUT and "bar" not in event.meaning.facts:
                self.world.skip(
                    "asynchronous accesses at addresses, or under conditions, that only a run knows"
                )
                return True
            if event.guarded or kind not in _ANYWHERE:
                raise Undecided("whether or where it happens depends on values that each thread loads", event)
        self.accesses.flush(warp)
        if event.meaning.kind in _GIVING:
            self._give(warp, event, lanes)
        return handler(warp, index, event, lanes)

    def _give(self, warp: Warp, event: Event, lanes: int) -> None:
        """What the lanes have written is given to others, but not what lanes wrote that do not arrive."""
        loose = self.world.loose
        if event.meaning.kind in _MEETING or not loose.get(warp.number, 0) & ~lanes:
            loose.pop(warp.number, None)
            self.world.clocks.meet(warp.number)

    def _unknown(self, _warp: Warp, _index: int, event: Event, _lanes: int) -> bool:
        raise Undecided(f"'{event.meaning.facts.get('name', '?')}' is not modelled", event)

    def _fence(self, warp: Warp, _index: int, _event: Event, _lanes: int) -> bool:
        self.world.fenced[warp.number] = self.world.clocks.snapshot(warp.number)
        return True

    def _peers(self) -> None:
        """Accesses of another block's shared memory: some warp of it must know of them when it exits."""
        world = self.world
        for (block, number), (step, who) in world.remote.items():
            own = [w for w in world.warps if w.block == block]
            if all(w.exited for w in own) and not any(world.exits[w.number][number] >= step for w in own):
                world.tell(Problem("peer-gone", None, who, [], {"block": block}))
        for (block, _), barrier in self.mbarriers.known.items():
            if barrier.far is not None and all(w.exited for w in world.warps if w.block == block):
                _, warp, step, who = barrier.far
                if self.meeting.cluster_steps.get(warp, 0) < step:
                    world.tell(Problem("commit-not-awaited", None, who, [], {"block": block}))

    def _deadlock(self) -> None:
        """Nobody can go on: tell who waits for what."""
        stuck = [warp for warp in self.world.warps if not warp.exited and warp.waits is not None]
        parties: list[Party] = []
        seen = set()
        for warp in stuck:
            assert warp.waits is not None
            key = warp.waits.event.meaning.op
            if key not in seen:
                seen.add(key)
                parties.append(warp.waits)
        if not parties:
            return
        waits = sorted(
            ((one, self.mbarriers.describe(one)) for one in parties), key=lambda one: _says_little(one[1])
        )
        parties, found = [one for one, _ in waits], [facts for _, facts in waits]
        first = parties[0]
        facts = {"warps": len(stuck), **found[0], **self.meeting.describe(first)}
        for at, other in enumerate(found):
            if other and other["address"] != facts.get("address"):
                facts |= {"other": at, **{f"other_{name}": other[name] for name in _OF_OTHER}}
                break
        expected = self.mbarriers.expecting(first)
        if facts.get("what") == "mbarrier" and facts["pending"] == 0 and expected is not None:
            self.world.tell(Problem("bytes-never-arrive", expected, first, parties, facts))
        else:
            self.world.tell(Problem("deadlock", None, first, parties, facts))


def _says_little(wait: Mapping[str, int | str]) -> tuple[bool, bool]:
    """How little a wait for an mbarrier says of the cause of a deadlock.

    Least where all of a phase has arrived, then where a part of it has, or nothing ever.
    """
    pending, count = wait.get("pending", 1), wait.get("count", 1)
    return pending != 0, pending == count and wait.get("phase") != 0


class _Loops:
    """Which loops stand around events: of those given, each with how many stand around it."""

    def __init__(self, depths: Mapping[Operation, int]) -> None:
        self.depths = depths
        self.known: dict[Operation, list[tuple[Operation, int]]] = {}  # of the operations met so far

    def around(self, events: Iterable[Event]) -> set[tuple[Operation, tuple[int, ...]]]:
        """The loops that events are in, with the turns of the loops around each."""
        found = set[tuple[Operation, tuple[int, ...]]]()
        for event in events:
            op = event.meaning.op
            if op is not None and op not in self.known:
                self.known[op] = [(one, self.depths[one]) for one in op.around() if one in self.depths]
            for loop, depth in self.known[op] if op is not None else ():
                found.add((loop, event.turns[:depth]))
        return found


def run(
    blocks: list[Watched],
    transfers: dict[str, tuple[int, int]],
    backwards: bool = False,
    budget: Budget | None = None,
    gathers: bool = False,
    by_scopes: bool = False,
) -> Outcome:
    """Replay the blocks. `transfers` are those of `tma_transfers`, by their site in the traced module.

    `gathers`: cp.async is followed, too, where only what it reads is not known. `by_scopes`: arrivals at
    another block's mbarrier that release to their own block hand over nothing.

    Raises OutOfTime where the time does not even reach for the beginning.
    """
    return Engine(blocks, transfers, backwards, budget or Budget(), gathers, by_scopes).run()
