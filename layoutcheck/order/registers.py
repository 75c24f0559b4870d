"""Registers of tensor cores in the replay, accessed without the wait or the fence that they need.

PTX ISA, wgmma.fence, wgmma.wait_group, tcgen05.wait; which operations access them: `accumulators`, `loads`.
"""

from __future__ import annotations

from layoutcheck.order.clocks import HAPPENED
from layoutcheck.order.problems import Party, Problem
from layoutcheck.order.replay import Warp, World
from layoutcheck.sources.mlir import Operation


class Registers:
    """What each warp did to registers that wgmma has not given back, or has not been given."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.issued: dict[tuple[int, Operation], tuple[int, Party]] = {}  # (warp, wgmma) -> its step
        self.changed: dict[tuple[int, Operation], Party] = {}
        self.fenced: set[int] = set()

    def see(self, warp: Warp, index: int, lanes: int) -> None:
        """An operation that reads or writes registers of a wgmma."""
        world = self.world
        meaning = world.events[index].meaning
        party = world.party(warp, index, (lanes & -lanes).bit_length() - 1)
        known = world.clocks.known[warp.number, HAPPENED]
        for op in meaning.reads:
            step, maker = self.issued.get((warp.number, op), (0, None))
            if maker is not None and maker.event.meaning.kind == "tmem_read":
                component = world.clocks.tensor_loads(warp.number)
                if step > known[component]:
                    world.tell(Problem("load-before-wait", None, maker))
            elif step > known[world.clocks.wgmma(warp.number)]:
                world.tell(Problem("accumulator-before-wait", maker, party))
        for op in meaning.sets:
            self.changed[warp.number, op] = party
        for op in meaning.after:
            step = self.issued.get((warp.number, op), (0, None))[0]
            world.clocks.learn_step(warp.number, world.clocks.tensor_loads(warp.number), step)

    def load(self, warp: Warp, index: int, step: int) -> None:
        """A tcgen05.ld of the warp."""
        party = self.world.party(warp, index)
        assert party.event.meaning.op is not None
        self.issued[warp.number, party.event.meaning.op] = step, party

    def multiply(self, warp: Warp, index: int, step: int) -> None:
        """A wgmma of the warp: its registers must stand behind a fence."""
        party = self.world.party(warp, index)
        op = party.event.meaning.op
        assert op is not None
        changed = self.changed.pop((warp.number, op), None)
        if changed is not None or warp.number not in self.fenced:
            self.world.tell(Problem("registers-not-fenced", changed, party))
        self.issued[warp.number, op] = step, party

    def fence(self, warp: Warp) -> None:
        """wgmma.fence."""
        self.fenced.add(warp.number)
        for key in [key for key in self.changed if key[0] == warp.number]:
            del self.changed[key]
