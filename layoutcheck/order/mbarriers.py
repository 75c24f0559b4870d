"""Mbarriers: PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier"."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from layoutcheck.order.clocks import EARLIER, HAPPENED, Clock, earlier
from layoutcheck.order.problems import Party, Problem, Undecided, lanes_in
from layoutcheck.order.replay import Warp, World
from layoutcheck.order.waiting import Load, Mbarrier
from layoutcheck.order.watched import Event


class Mbarriers:
    """All mbarriers of the replay, by block and address."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.known: dict[tuple[int, int], Mbarrier] = {}

    def handlers(self) -> dict[str, Any]:
        """By kind of event."""
        return {
            "mbar_init": self.init, "mbar_arrive": self.arrive, "mbar_expect": self.expect,
            "mbar_wait": self.wait, "mbar_token": self.token, "mbar_invalid": self.invalidate,
        }  # fmt: skip

    def init(self, warp: Warp, index: int, event: Event, lanes: int) -> bool:
        """A new object in a memory word."""
        clocks = self.world.clocks
        for place, group in self.places(warp, event, lanes):
            count = event.number_of(1, warp.first + group[0])
            party = self.world.party(warp, index, group[0], place[1], 8)
            if not event.guess and not 1 <= count < 1 << 20:  # PTX ISA, mbarrier.init
                self.world.tell(Problem("count-out-of-range", None, party, [], {"count": count}))
            made = (warp.number, clocks.now(warp.number))
            barrier = self.known[place] = Mbarrier(clocks.new(), count, made, party, count)
            barrier.phases, barrier.guess = clocks.new(), event.guess
        return True

    def invalidate(self, warp: Warp, _index: int, event: Event, lanes: int) -> bool:
        """The word is ordinary memory again."""
        for place, _ in self.places(warp, event, lanes):
            self.known.pop(place, None)
        return True

    def arrive(self, warp: Warp, index: int, event: Event, lanes: int) -> bool:
        """Arrivals of each lane, with transaction bytes where the form has them."""
        clock = self.world.clocks.snapshot(warp.number)
        form = event.meaning.facts["form"]
        for barrier, group, party, block in self.met(warp, index, event, lanes):
            operand = (
                [event.number_of(1, warp.first + lane) for lane in group] if len(event.values) > 1 else []
            )
            barrier.guess |= event.guess
            if form == "tx":
                barrier.bytes += sum(operand)
                barrier.expected.append((party, sum(operand)))
            if block != warp.block:
                self.world.remote[block, warp.number] = (int(clock[HAPPENED, warp.number]), party)
                if event.meaning.facts.get("scope"):
                    self.world.narrow.setdefault((warp.block, block), party)
            count = len(group) if form == "tx" or not operand else sum(operand)
            if form == "drop":
                barrier.count -= count
            self.come(barrier, self._released(warp, block, event, clock), count, party)
        return True

    def _released(self, warp: Warp, block: int, event: Event, clock: Clock) -> Clock:
        """What an arrival hands over; in a replay by scopes only to blocks that its scope includes."""
        if not self.world.by_scopes or block == warp.block or not event.meaning.facts.get("scope"):
            return clock
        fenced = self.world.fenced.get(warp.number)
        return np.zeros_like(clock) if fenced is None else fenced

    def come(self, barrier: Mbarrier, clock: Clock, count: int, party: Party) -> None:
        """`count` arrivals at once."""
        if barrier.guess:
            return
        if count > barrier.pending:
            facts: dict[str, int | str] = {
                "count": barrier.count, "arrivals": barrier.count - barrier.pending + count,
                "phase": barrier.phase,
                "bytes": barrier.bytes,
            }  # fmt: skip
            self.world.tell(Problem("too-many-arrivals", barrier.maker, party, list(barrier.came), facts))
            count = barrier.pending
        barrier.gather(clock)
        barrier.pending -= count
        barrier.came.append(party)
        number = party.block * self.world.warps_each + party.warp
        barrier.arrivals[number] = int(clock[HAPPENED, number])
        if barrier.over:
            self.turn(barrier)

    def turn(self, barrier: Mbarrier) -> None:
        """A phase is over; copies that are still under way had not been announced."""
        if barrier.loads:
            load = barrier.loads[0]
            announced = barrier.expected[-1][0] if barrier.expected else barrier.came[-1]
            facts: dict[str, int | str] = {
                "expected": sum(size for _, size in barrier.expected),
                "missing_bytes": sum(x.size for x in barrier.loads),
                "phase": barrier.phase, "announced": barrier.expected[-1][1] if barrier.expected else 0,
            }  # fmt: skip
            self.world.tell(Problem("too-few-bytes", announced, load.who, [], facts))
        barrier.ended.append(barrier.came[-1] if barrier.came else None)
        # Bytes come at their own time.
        barrier.by_arrivals.append({} if barrier.expected else barrier.arrivals)
        barrier.arrivals = {}
        barrier.turn()
        self._passed(barrier)

    def _passed(self, barrier: Mbarrier) -> None:
        """Tell waits that another run may come to when the mbarrier is in a phase of their parity again.

        A phase that ends with the knowledge of a wait cannot have ended before it.
        """
        seen, left = earlier(barrier.past), []
        for wait in barrier.passed:
            warp, step, needs, who = wait
            if seen[warp] >= step:
                continue
            if barrier.phase > needs:
                facts: dict[str, int | str] = {"phase": needs + 1, "parity": (needs + 1) & 1}
                self.world.tell(Problem("phase-passed", barrier.ended[needs], who, [], facts))
            else:
                left.append(wait)
        barrier.passed = left

    def expecting(self, party: Party) -> Party | None:
        """Who announced the bytes that a wait waits for."""
        place = self._waited(party)
        barrier = self.known.get(place) if place is not None else None
        return barrier.expected[-1][0] if barrier is not None and barrier.expected else None

    def _waited(self, party: Party) -> tuple[int, int] | None:
        event = party.event
        if event.meaning.kind not in ("mbar_wait", "mbar_token"):
            return None
        return self.world.place(event.number_of(0, party.thread), event.meaning.space, party.block)

    def expect(self, warp: Warp, index: int, event: Event, lanes: int) -> bool:
        """More, or fewer, bytes of the current phase."""
        for barrier, group, party, _ in self.met(warp, index, event, lanes):
            size = sum(event.number_of(1, warp.first + lane) for lane in group)
            if event.meaning.facts["form"] == "complete_tx":
                size = -size
            barrier.bytes += size
            barrier.expected.append((party, size))
            if barrier.over and size < 0:
                self.turn(barrier)
        return True

    def wait(
        self, warp: Warp, index: int, event: Event, lanes: int, operands: tuple[int, int] = (0, 1)
    ) -> bool:
        """Until the phase of the given parity is over; copies complete now if that helps.

        `operands` are the numbers of those of the event that have the address and the parity.
        """
        if event.guess:
            raise Undecided(
                "the parity of this wait, which is loaded from shared memory, is not known", event
            )
        clocks = self.world.clocks
        found = []
        for barrier, group, party, _ in self.met(warp, index, event, lanes, operands[0]):
            if barrier.guess:
                raise Undecided("the count of its mbarrier rests on what only a run knows", event)
            parity = event.number_of(operands[1], warp.first + group[0]) & 1
            while barrier.phase & 1 == parity and barrier.pending == 0 and barrier.loads:
                barrier.deliver()
                if barrier.over:
                    self.turn(barrier)
            if barrier.phase & 1 == parity and (warp.number, index) not in barrier.granted:
                barrier.waiting[warp.number, index] = parity
                return False
            found.append((barrier, parity, party))
        for barrier, parity, party in found:
            over = barrier.over_for(earlier(clocks.known[warp.number]))
            past = barrier.granted.pop((warp.number, index), barrier.past)
            clocks.learn(warp.number, past[:, : clocks.known.shape[2]])
            # The fewest phases with which the wait returns, of those that the warp does not know of.
            needs = over + (over & 1 == parity)
            if barrier.far is not None and needs > barrier.far[0]:
                barrier.far = None
            if event.meaning.kind == "mbar_wait":
                barrier.passed.append((warp.number, clocks.now(warp.number), needs, party))
                if barrier.phase > needs:
                    self._passed(barrier)
        return True

    def token(self, warp: Warp, index: int, event: Event, lanes: int) -> bool:
        """A trial: it fails, unless the run is one in which all trials succeed."""
        if self.world.blocks[0].token:
            return self.wait(warp, index, event, lanes)
        return True

    def load(self, place: tuple[int, int], warp: Warp, party: Party, size: int) -> tuple[int, int] | None:
        """A copy that will complete here: the agent and the step of its writes."""
        barrier = self.find(place, warp, party)
        if barrier is None:
            return None
        if not barrier.fenced:
            self.world.tell(Problem("initialisation-not-fenced", barrier.maker, party))
        now = np.zeros_like(self.world.clocks.known[warp.number])
        now[EARLIER] = earlier(self.world.clocks.known[warp.number])
        barrier.gather(now)  # the phase does not end before the copy has begun
        barrier.issued += 1
        barrier.loads.append(Load(size, barrier.issued, party))
        return barrier.component, barrier.issued

    def find(self, place: tuple[int, int], warp: Warp, party: Party) -> Mbarrier | None:
        """The object that a warp uses; tells where there is none, or the warp cannot know of it."""
        barrier = self.known.get(place)
        if barrier is None:
            self.world.tell(Problem("not-initialised", None, party, [], {"address": place[1]}))
            return None
        maker, step = barrier.made
        if self.world.clocks.known[warp.number, HAPPENED, maker] < step:
            self.world.tell(Problem("initialisation-not-seen", barrier.maker, party))
        return barrier

    def fenced(self, warp: Warp) -> None:
        """A fence of initialisations: of all that this warp knows of."""
        known = self.world.clocks.known[warp.number, HAPPENED]
        for barrier in self.known.values():
            maker, step = barrier.made
            barrier.fenced = barrier.fenced or bool(known[maker] >= step)

    def places(
        self, warp: Warp, event: Event, lanes: int, operand: int = 0
    ) -> Iterator[tuple[tuple[int, int], list[int]]]:
        """The objects that the lanes name, each with its lanes."""
        value, groups = event.values[operand], dict[int, list[int]]()
        if isinstance(value, int):
            groups[value] = [*lanes_in(lanes)]
        else:
            each = value[warp.first : warp.first + 32].tolist()
            for lane in lanes_in(lanes):
                groups.setdefault(each[lane], []).append(lane)
        for address, group in groups.items():
            place = self.world.place(address, event.meaning.space, warp.block)
            if place is None:
                self.world.skip("mbarriers of blocks that are not simulated")
                continue
            yield place, group

    def met(
        self, warp: Warp, index: int, event: Event, lanes: int, operand: int = 0
    ) -> Iterator[tuple[Mbarrier, list[int], Party, int]]:
        """The mbarriers that the lanes use, each with its lanes, the first one as a party, and its block."""
        for place, group in self.places(warp, event, lanes, operand):
            party = self.world.party(warp, index, group[0], place[1], 8)
            barrier = self.find(place, warp, party)
            if barrier is not None:
                yield barrier, group, party, place[0]

    def describe(self, party: Party) -> dict[str, int | str]:
        """What a wait that never returns waits for."""
        event, place = party.event, self._waited(party)
        barrier = self.known.get(place) if place is not None else None
        if barrier is None:
            return {}
        return {
            "what": "mbarrier", "address": place[1] if place else 0, "count": barrier.count,
            "pending": barrier.pending, "bytes": barrier.bytes, "phase": barrier.phase,
            "parity": event.number_of(1, party.thread) & 1,
            "announced": barrier.expected[-1][1] if barrier.expected else 0,
        }  # fmt: skip
