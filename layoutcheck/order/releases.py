"""What of a block's accesses its releases cover, and which of them come after an acquire.

    handed(kernel, index, transfers, budget) -> {key of an access: Handed}, or None where that is not known

A release, or a fence, covers what its thread did before, and what it knows of others through a barrier (PTX
ISA, Memory Consistency Model: Causality Order). One thread that releases without a barrier before it covers
its own accesses alone; one that acquires without a barrier behind it orders its own alone. Accesses of two
blocks are ordered only if a release covers the first and an acquire comes before the second: `apart`.
A weak store of one thread behind a fence may set a flag, and counts as a strong one. A bulk store is covered
once its group has been waited for, without `.read`; whether a proxy fence stands before a bulk load is not
looked at.
The block is replayed, with both arms of branches by what only a run knows. The lanes of a warp count as one.
Nothing is known where a loop is cut, or something that orders stands in a loop that only a run enters.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from layoutcheck.order.budget import Budget
from layoutcheck.order.clocks import HAPPENED
from layoutcheck.order.engine import Engine
from layoutcheck.order.events import WatchedKernel
from layoutcheck.order.meaning import Meaning
from layoutcheck.order.problems import Party
from layoutcheck.order.replay import Warp
from layoutcheck.order.runs import Cluster
from layoutcheck.order.watched import Watched

Key = tuple[int, tuple[int, ...], int]
"""Which access: the identity of its meaning, its turns, and the warp."""


LOOKED_AT = ("read", "write", "bulk_load", "bulk_store")
_GLOBAL = ("gmem", "generic")


class Handed(NamedTuple):
    """Whether a release of the block covers an access, and whether an acquire comes before it."""

    released: bool
    acquired: bool


_RELEASE = re.compile(r"release|acq_rel|seq_cst|\bsc\b|\A[5-7]\b")
_ACQUIRE = re.compile(r"acquire|acq_rel|seq_cst|\bsc\b|\A[467]\b")


def key(party: Party) -> Key:
    """That of a party's access."""
    return id(party.event.meaning), party.event.turns, party.warp


def apart(first: Handed, second: Handed) -> bool:
    """Whether no release and acquire can order two accesses of two blocks, whichever comes first."""
    return not (first.released and second.acquired) and not (second.released and first.acquired)


def handed(
    kernel: WatchedKernel, index: tuple[int, int, int], transfers: dict[str, tuple[int, int]], budget: Budget
) -> dict[Key, Handed] | None:
    """Accesses of global memory of the block at `index`, the first of its cluster. Raises OutOfTime.

    `transfers` are those of `tma_transfers`.
    """
    blocks = Cluster(replace(kernel, both=True), 0, budget, first=index).watch()
    if any(not block.complete or block.cut for block in blocks):
        return None
    met = {event.meaning.op for block in blocks for event in block.events}
    undecided = {op for block in blocks for op in block.undecided}
    left = [op for op, m in kernel.meanings.items() if m.within or _releases(m) or _acquires(m)]
    if any(op not in met and not undecided.isdisjoint(op.around()) for op in left):
        return None
    engine = _Covering(blocks, transfers, budget)
    outcome = engine.run()
    return None if outcome.stopped or outcome.undecided is not None else engine.handed()


def _releases(meaning: Meaning) -> bool:
    return meaning.kind == "fence" or (meaning.kind == "atomic" and _matches(_RELEASE, meaning))


def _acquires(meaning: Meaning) -> bool:
    return meaning.kind == "fence" or (meaning.kind == "atomic" and _matches(_ACQUIRE, meaning))


def _matches(words: re.Pattern[str], meaning: Meaning) -> bool:
    return any(
        words.search(value)
        for name, value in meaning.facts.items()
        if re.search("ord|sem", name, re.IGNORECASE)
    )


class _Covering(Engine):
    """Replays blocks, and writes down what their releases know of."""

    def __init__(self, blocks: list[Watched], transfers: dict[str, tuple[int, int]], budget: Budget) -> None:
        super().__init__(blocks, transfers, False, budget)
        self.looked_at: list[tuple[Key, int, int, bool]] = []  # with the agent, its step, and "acquired"
        # The last step of each agent that a release knows of.
        self.covered = np.zeros(self.world.clocks.count, np.int32)
        self.acquired: list[tuple[int, int]] = []  # (warp, step)
        self.strong: list[tuple[int, int]] = []  # the same of strong accesses: a fence behind one acquires
        self.fences: list[tuple[int, int, Any]] = []  # the same of releases, and what each covers

    def handed(self) -> dict[Key, Handed]:
        """Of each access of the first block."""
        return {
            access: Handed(bool(self.covered[agent] >= step), acquired)
            for access, agent, step, acquired in self.looked_at
        }

    def _execute(self, warp: Warp, index: int, lanes: int) -> bool:
        if not super()._execute(warp, index, lanes):
            return False
        event, clocks = self.world.events[index], self.world.clocks
        kind, space = event.meaning.kind, event.meaning.space
        if kind in LOOKED_AT and (space in _GLOBAL or event.bulk is not None) and warp.block == 0:
            known = clocks.known[warp.number, HAPPENED]
            acquired = any(known[other] >= step for other, step in self.acquired)
            access = id(event.meaning), event.turns, warp.first // 32
            agent, step = warp.number, clocks.now(warp.number)
            if kind == "bulk_store":
                lane = (lanes & -lanes).bit_length() - 1
                agent, step = clocks.bulk_writes(agent), self.copies.bulk[agent][lane].step
            self.looked_at.append((access, agent, step, acquired))
        if _releases(event.meaning):
            self.fences.append((warp.number, clocks.now(warp.number), clocks.snapshot(warp.number)[HAPPENED]))
        alone = event.mask is not None and event.mask.sum() == 1
        flag = kind == "write" and space in _GLOBAL and alone
        if kind == "atomic" or flag:  # hands over what a fence covers
            known = clocks.known[warp.number, HAPPENED]
            for knows in [knows for other, step, knows in self.fences if known[other] >= step]:
                np.maximum(self.covered, knows[: self.covered.size], out=self.covered)
        if kind == "atomic":
            self.strong.append((warp.number, clocks.now(warp.number)))
        known = clocks.known[warp.number, HAPPENED]
        if _acquires(event.meaning) and any(known[other] >= step for other, step in self.strong):
            self.acquired.append((warp.number, clocks.now(warp.number)))
            clocks.snapshot(warp.number)
        return True
