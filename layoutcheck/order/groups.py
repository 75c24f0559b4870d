"""Asynchronous copies: cp.async, bulk and TMA copies, and the fences between the proxies.

PTX ISA: "Data Movement and Conversion Instructions: Asynchronous copy"; "Memory Consistency Model: Proxies".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from layoutcheck.dsl.lowered import spaces
from layoutcheck.order.clashes import report
from layoutcheck.order.clocks import HAPPENED
from layoutcheck.order.global_memory import GlobalMemory
from layoutcheck.order.mbarriers import Mbarriers
from layoutcheck.order.meaning import space_of
from layoutcheck.order.problems import Party, Problem, Undecided, lanes_in
from layoutcheck.order.replay import Warp, World
from layoutcheck.order.shadow import Access, Cells
from layoutcheck.order.waiting import Groups
from layoutcheck.order.watched import Event


class AsyncCopies:
    """Groups of every warp, and the accesses of what they hold."""

    def __init__(self, world: World, mbarriers: Mbarriers, globally: GlobalMemory) -> None:
        self.world, self.mbarriers, self.globally = world, mbarriers, globally
        self.cp: dict[int, Groups] = {}
        self.bulk: dict[int, dict[int, Groups]] = {}  # warp -> lane that issues -> groups
        self.sources: dict[int, Party] = {}  # warp -> its last bulk store

    def handlers(self) -> dict[str, Any]:
        """By kind of event."""
        return {
            "cp_async": self.copy, "cp_commit": self.commit, "cp_wait": self.wait, "cp_arrive": self.arrive,
            "bulk_load": self.load, "bulk_store": self.store, "bulk_commit": self.bulk_commit,
            "bulk_wait": self.bulk_wait, "bulk_peer": self.peer, "st_async": self.send,
            "fence_proxy": self.fence,
            "fence_init": self.fence_init,
        }  # fmt: skip

    def copy(self, warp: Warp, index: int, event: Event, lanes: int) -> bool:
        """cp.async: written in the generic proxy, at a time of its own."""
        world = self.world
        groups = self.cp.setdefault(warp.number, Groups())
        groups.pending = True
        cells, records = list[int](), list[int]()
        for lane in lanes_in(lanes):
            address = event.number_of(0, warp.first + lane)
            place = world.place(address, event.meaning.space, warp.block)
            if place is None:
                continue
            found = world.cells(place[1], event.meaning.size, place[0])
            cells += found.at
            records += [index << 10 | (warp.first + lane)] * found.size
        if cells:
            access = Access(
                Cells(np.array(cells, np.int64)), np.array(records, np.int64),
                world.clocks.copies(warp.number), groups.step, False,
            )  # fmt: skip
            report(world, world.shared.write(access, world.clocks.known[warp.number]))
        return True

    def commit(self, warp: Warp, _index: int, _event: Event, _lanes: int) -> bool:
        """cp.async.commit_group."""
        self.cp.setdefault(warp.number, Groups()).commit()
        return True

    def wait(self, warp: Warp, _index: int, event: Event, _lanes: int) -> bool:
        """cp.async.wait_group, wait_all."""
        groups = self.cp.setdefault(warp.number, Groups())
        if event.meaning.facts.get("all"):
            groups.commit()
        self._learn_copies(warp, groups.done(event.meaning.count))
        return True

    def _learn_copies(self, warp: Warp, step: int) -> None:
        """The copies are done, in the generic proxy: a fence must follow before asynchronous reads."""
        row = self.world.clocks.known[warp.number, HAPPENED]
        component = self.world.clocks.copies(warp.number)
        row[component] = max(int(row[component]), step)

    def arrive(self, warp: Warp, index: int, event: Event, lanes: int) -> bool:
        """cp.async.mbarrier.arrive: an arrival when all copies issued before are done."""
        groups = self.cp.setdefault(warp.number, Groups())
        clocks = self.world.clocks
        clock = clocks.snapshot(warp.number)
        clock[HAPPENED, clocks.copies(warp.number)] = groups.cut()
        for barrier, group, party, _ in self.mbarriers.met(warp, index, event, lanes):
            if not _said(event.meaning.facts.get("noinc", "")):
                barrier.pending += len(group)
            self.mbarriers.come(barrier, clock, len(group), party)
        return True

    def load(self, warp: Warp, index: int, event: Event, lanes: int) -> bool:
        """A bulk or TMA load: written by the asynchronous proxy, complete on an mbarrier."""
        world, facts = self.world, event.meaning.facts
        for lane in self._issuing(warp, index, event, lanes):
            thread = warp.first + lane
            size = self._size(warp, event, thread)
            self.globally.load(warp, index, thread)
            destination = world.place(event.number_of(0, thread), event.meaning.space, warp.block)
            place = world.place(event.number_of(1, thread), space_of(event.meaning.operands[1]), warp.block)
            if destination is None or place is None:
                world.skip("copies to blocks that are not simulated")
                continue
            targets = [(destination, place)]
            if facts.get("multicast") or facts.get("everywhere"):
                mask = event.number_of(2, thread) & 0xFFFF if facts.get("multicast") else 0xFFFF
                blocks = [world.ranks[r] for r in range(16) if mask >> r & 1 and r in world.ranks]
                targets = [
                    ((b, destination[1]), (self._signalled(b, place[0], bool(facts.get("pair"))), place[1]))
                    for b in blocks
                ]
            for (block, offset), target in targets:
                self._bring(warp, index, lane, size, (block, offset), target)
        return True

    def _bring(
        self, warp: Warp, index: int, lane: int, size: int, to: tuple[int, int], bar: tuple[int, int],
        source: int | None = None,
    ) -> None:  # fmt: skip
        """Bytes are read at `source`, if given, and written to (block, offset), complete on an mbarrier."""
        world, record = self.world, index << 10 | (warp.first + lane)
        found = self.mbarriers.load(bar, warp, world.party(warp, index, lane, to[1], size), size)
        if found is None:
            return
        clock = world.clocks.known[warp.number]
        if source is not None:
            read = Access(world.cells(source, size, warp.block), record, *found, True)
            report(world, world.shared.read(read, clock))
        write = Access(world.cells(to[1], size, to[0]), record, *found, True)
        report(world, world.shared.write(write, clock))

    def _signalled(self, block: int, named: int, pair: bool) -> int:
        """The block whose mbarrier a multicast copy completes on.

        It is the block that receives, or with `.cta_group::2` the one of its pair whose rank is even (or odd)
        as that of the mbarrier's block (PTX ISA, cp.async.bulk.tensor).
        """
        if not pair:
            return block
        rank, other = (self.world.blocks[b].launch.rank for b in (block, named))
        return self.world.ranks.get(rank & ~1 | other & 1, block)

    def send(self, warp: Warp, index: int, event: Event, lanes: int) -> bool:
        """st.async: each lane writes to a block of the cluster, and completes on that block's mbarrier."""
        world, size = self.world, event.meaning.size
        for lane in lanes_in(lanes):
            thread = warp.first + lane
            destination, place = (
                world.place(event.number_of(i, thread), event.meaning.space, warp.block) for i in range(2)
            )
            if destination is None or place is None:
                world.skip("copies to blocks that are not simulated")
                continue
            self._bring(warp, index, lane, size, destination, place)
        return True

    def _issuing(self, warp: Warp, index: int, event: Event, lanes: int) -> tuple[int, ...]:
        """The lanes that start a copy: all that execute it in PTX, one for a TMA copy of the DSL's."""
        chosen = lanes_in(lanes)
        if event.meaning.facts.get("tensor") and not event.meaning.facts.get("each"):
            return chosen[:1]
        places = {event.number_of(0, warp.first + lane) for lane in chosen}
        if len(chosen) > len(places):
            party = self.world.party(warp, index, chosen[0])
            self.world.tell(Problem("copied-by-many", None, party, [], {"lanes": len(chosen)}))
        return chosen

    def _size(self, warp: Warp, event: Event, thread: int) -> int:
        facts = event.meaning.facts
        if event.meaning.size:
            return event.meaning.size
        if facts.get("tensor"):
            found = self.world.transfers.get(event.meaning.site)
            if found is None:
                box = self.world.blocks[warp.block].box_bytes(event, thread)
                if box is None:
                    raise Undecided("the bytes of this TMA copy are not known", event)
                return box
            size, parts = found
            if facts.get("multicast"):  # each block brings its part of the tile to all
                size //= parts or max(1, (event.number_of(2, thread) & 0xFFFF).bit_count())
            return size
        return event.number_of(-2, thread)

    def store(self, warp: Warp, index: int, event: Event, lanes: int) -> bool:
        """A bulk or TMA store: the source is read by the asynchronous proxy."""
        world, clocks = self.world, self.world.clocks
        for lane in self._issuing(warp, index, event, lanes):
            thread = warp.first + lane
            groups = self.bulk.setdefault(warp.number, {}).setdefault(lane, Groups())
            groups.pending = True
            size = self._size(warp, event, thread)
            place = world.place(event.number_of(0, thread), event.meaning.space, warp.block)
            if place is None:
                continue
            party = world.party(warp, index, lane, place[1], size)
            self.sources[warp.number] = party
            cells = world.cells(place[1], size, place[0])
            access = Access(cells, index << 10 | thread, clocks.bulk_reads(warp.number), groups.step, True)
            report(world, world.shared.read(access, clocks.known[warp.number]))
            self.globally.store_in_bulk(warp, index, thread, groups.step)
        return True

    def bulk_commit(self, warp: Warp, _index: int, _event: Event, lanes: int) -> bool:
        """cp.async.bulk.commit_group of each lane."""
        for lane, groups in self.bulk.get(warp.number, {}).items():
            if lanes >> lane & 1:
                groups.commit()
        return True

    def bulk_wait(self, warp: Warp, _index: int, event: Event, lanes: int) -> bool:
        """cp.async.bulk.wait_group: the sources are read, and without `.read` the destinations written."""
        clocks = self.world.clocks
        for lane, groups in self.bulk.get(warp.number, {}).items():
            if lanes >> lane & 1:
                done = groups.done(event.meaning.count)
                clocks.learn_step(warp.number, clocks.bulk_reads(warp.number), done, by_lane=True)
                if not event.meaning.facts.get("read"):
                    clocks.learn_step(warp.number, clocks.bulk_writes(warp.number), done)
        return True

    def peer(self, warp: Warp, index: int, event: Event, lanes: int) -> bool:
        """cp.async.bulk from shared memory to that of another block, complete on that block's mbarrier."""
        world = self.world
        for lane in self._issuing(warp, index, event, lanes):
            thread = warp.first + lane
            size = self._size(warp, event, thread)
            to = world.place(event.number_of(0, thread), event.meaning.space, warp.block)
            bar = world.place(event.number_of(1, thread), space_of(event.meaning.operands[1]), warp.block)
            source = event.number_of(-1, thread) & (spaces.SHARED_BYTES - 1)
            if to is None or bar is None:
                world.skip("copies to blocks that are not simulated")
                continue
            self._bring(warp, index, lane, size, to, bar, source)
        return True

    def fence(self, warp: Warp, _index: int, event: Event, lanes: int) -> bool:
        """fence.proxy.async and its forms for one state space."""
        proxy = event.meaning.facts.get("proxy", "async")
        if proxy.startswith("async"):
            self.mbarriers.fenced(warp)
            left = min(32, self.world.threads - warp.first)
            strict = lanes == (1 << left) - 1
            self.world.clocks.fence(warp.number, "global" not in proxy, "shared" not in proxy, strict)
        return True

    def fence_init(self, warp: Warp, _index: int, _event: Event, _lanes: int) -> bool:
        """fence.mbarrier_init: a release for a relaxed arrival that follows (ptxas emits nothing)."""
        self.mbarriers.fenced(warp)
        self.world.fenced[warp.number] = self.world.clocks.snapshot(warp.number)
        return True

    def leave(self, warp: Warp) -> None:
        """A warp exits: the sources of its bulk stores must have been read."""
        for groups in self.bulk.get(warp.number, {}).values():
            last = groups.step if groups.pending else groups.done(0)
            component = self.world.clocks.bulk_reads(warp.number)
            if self.world.clocks.known[warp.number, HAPPENED, component] < last:
                self.world.tell(Problem("exit-while-copied", None, self.sources[warp.number]))


def _said(attribute: str) -> bool:
    return attribute not in ("", "false") and not attribute.startswith(("0 ", "false"))
