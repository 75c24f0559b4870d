"""Where warps meet: barriers of a block, of a warp, of a cluster; elections.

PTX ISA, "Parallel Synchronization and Communication Instructions": barrier{.cta}, bar.warp.sync,
barrier.cluster, elect.sync.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from layoutcheck.order.clocks import EARLIER, HAPPENED, Clock, earlier, merged
from layoutcheck.order.problems import Party, Problem, Undecided, of_lanes
from layoutcheck.order.replay import Warp, World
from layoutcheck.order.waiting import NamedBarrier
from layoutcheck.order.watched import Event


class Rendezvous:
    """The named barriers of every block, and the barrier of the cluster."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.barriers: dict[tuple[int, int], NamedBarrier] = {}
        self.released: dict[int, int] = {}  # warp -> number of the event that has let it through
        self.cluster: list[Clock] = []
        self.cluster_phase = 0
        self.cluster_came: set[int] = set()
        self.cluster_waits: dict[int, int] = {}  # warp -> the phase that its wait needs
        self.cluster_past: Clock | None = None
        self.cluster_steps: dict[int, int] = {}  # warp -> its step when it last arrived

    def handlers(self) -> dict[str, Any]:
        """By kind of event."""
        return {
            "barrier": self.meet, "barrier_arrive": self.meet, "warp_sync": self.warp_sync,
            "elect": self.elect,
            "cluster_arrive": self.cluster_arrive, "cluster_wait": self.cluster_wait,
        }  # fmt: skip

    def meet(self, warp: Warp, index: int, event: Event, lanes: int) -> bool:
        """bar.sync and bar.arrive."""
        if self.released.get(warp.number) == index:
            del self.released[warp.number]
            return True
        if event.guess:
            raise Undecided("its number, or its count of threads, rests on what only a run knows", event)
        world, clocks = self.world, self.world.clocks
        number, threads = self._operands(event, warp, lanes)
        barrier = self.barriers.get((warp.block, number))
        if barrier is None:
            barrier = self.barriers[warp.block, number] = NamedBarrier(clocks.new())
        lane = (lanes & -lanes).bit_length() - 1
        party = world.party(warp, index, lane)
        if any(who == warp.number and what == index for who, what, _ in barrier.waiting):
            return False
        sync = event.meaning.kind == "barrier"
        facts: dict[str, int | str] = {"id": number}
        if clocks.known[warp.number, HAPPENED, barrier.component] < barrier.generation:
            other = barrier.last[0] if barrier.last else None
            world.tell(Problem("barrier-shared", other, party, [], facts))
        expected = threads or world.warps_each * 32
        if barrier.came and barrier.expected != expected:
            facts.update(first=barrier.expected, second=expected)
            world.tell(Problem("barrier-counts-differ", barrier.came[0], party, [], facts))
        if lanes != self._lanes_there(warp):
            world.tell(
                Problem("barrier-in-divergence", None, party, [], {**facts, "lanes": lanes.bit_count()})
            )
        barrier.expected, barrier.everybody = expected, threads == 0
        barrier.clocks.append(clocks.snapshot(warp.number))
        barrier.came.append(party)
        barrier.arrived += 32
        if sync:
            barrier.waiting.append((warp.number, index, party))
        if self._complete(warp.block, barrier) and sync:
            del self.released[warp.number]
            return True
        return not sync

    def _complete(self, block: int, barrier: NamedBarrier) -> bool:
        """Let everybody through if all have come. Without a count, who has exited is not waited for."""
        gone = 0
        if barrier.everybody:
            gone = 32 * sum(w.exited for w in self.world.warps if w.block == block)
        if not barrier.came or barrier.arrived + gone < barrier.expected:
            return False
        barrier.generation += 1
        joined, clocks = merged(barrier.clocks), self.world.clocks
        for number, index, _ in barrier.waiting:
            clocks.learn(number, joined)
            clocks.learn_step(number, barrier.component, barrier.generation)
            self.released[number] = index
        barrier.last, barrier.came = barrier.came, []
        barrier.clocks, barrier.waiting, barrier.arrived = [], [], 0
        return True

    def _operands(self, event: Event, warp: Warp, lanes: int) -> tuple[int, int]:
        """(the barrier's number, the threads that it waits for or 0 for all)."""
        thread = warp.first + (lanes & -lanes).bit_length() - 1
        values = [v if isinstance(v, int) else int(v[thread]) for v in event.values]
        facts = event.meaning.facts
        number = values.pop(0) if facts.get("id") and values else 0
        return number, values.pop(0) if values else 0

    def _lanes_there(self, warp: Warp) -> int:
        left = min(32, self.world.threads - warp.first)
        return (1 << left) - 1

    def warp_sync(self, _warp: Warp, _index: int, _event: Event, _lanes: int) -> bool:
        """A warp's lanes are one agent here; their accesses before and after it are apart."""
        return True

    def elect(self, warp: Warp, index: int, event: Event, lanes: int) -> bool:
        """elect.sync names all lanes: those who never come are waited for."""
        there = self._lanes_there(warp)
        if lanes != there and self._others_wait(warp, index, lanes):
            party = self.world.party(warp, index, (lanes & -lanes).bit_length() - 1)
            self.world.tell(of_lanes("elect-in-divergence", party, lanes, there))
        del event
        return True

    def _others_wait(self, warp: Warp, index: int, lanes: int) -> bool:
        """Whether the other lanes of the warp go on to wait for something."""
        kinds = ("mbar_wait", "mbar_token", "barrier", "cluster_wait", "elect", "warp_sync")
        return any(
            other & ~lanes and self.world.events[number].meaning.kind in kinds
            for number, other in warp.todo
            if number > index
        )

    def cluster_arrive(self, warp: Warp, index: int, event: Event, _lanes: int) -> bool:
        """barrier.cluster.arrive: a release; relaxed, it says what came before in time."""
        clock: Clock = self.world.clocks.snapshot(warp.number)
        if "relaxed" in (event.meaning.op.name if event.meaning.op is not None else ""):
            done, clock = earlier(clock), self.world.fenced.get(warp.number, np.zeros_like(clock)).copy()
            clock[EARLIER] = done[: clock.shape[1]]
        self.cluster.append(clock)
        self.cluster_came.add(warp.number)
        self.cluster_steps[warp.number] = self.world.clocks.now(warp.number)
        self.cluster_waits[warp.number] = self.cluster_phase + 1
        self._turn_cluster()
        del index
        return True

    def _turn_cluster(self) -> None:
        missing = [w for w in self.world.warps if not w.exited and w.number not in self.cluster_came]
        if missing or not self.cluster_came:
            return
        self.cluster_phase += 1
        past = merged(self.cluster) if self.cluster else None
        if past is not None:
            self.cluster_past = past if self.cluster_past is None else merged([past, self.cluster_past])
        self.cluster, self.cluster_came = [], set()

    def cluster_wait(self, warp: Warp, _index: int, _event: Event, _lanes: int) -> bool:
        """barrier.cluster.wait: an acquire."""
        if self.cluster_phase < self.cluster_waits.get(warp.number, 0):
            return False
        if self.cluster_past is not None:
            self.world.clocks.learn(warp.number, self.cluster_past)
        return True

    def leave(self, warp: Warp) -> None:
        """A warp has exited."""
        for (block, _), barrier in self.barriers.items():
            if block == warp.block and barrier.everybody:
                self._complete(block, barrier)
        self._turn_cluster()

    def describe(self, party: Party) -> dict[str, int | str]:
        """What a barrier that never completes waits for."""
        for (block, number), barrier in self.barriers.items():
            if block == party.block and any(who.event is party.event for _, _, who in barrier.waiting):
                counts = {"expected": barrier.expected, "arrived": barrier.arrived}
                return {"what": "barrier", "id": number, **counts}
        return {"what": "cluster"} if party.event.meaning.kind == "cluster_wait" else {}
