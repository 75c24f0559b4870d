"""Stores of a block that none of its releases covers.

    uncovered(kernel, index, budget) -> keys of stores, or None where that is not known

A release, or a fence, covers what its thread did before, and what it knows of others through a barrier (PTX
ISA, Memory Consistency Model: Causality Order). One thread that releases without a barrier before it covers
its own stores alone. The block is replayed. A store is told if no release knows of it, and no acquire has
come before it (it may wait for readers). The lanes of a warp count as one. Nothing is known where a release
is not met, or a loop is cut.
"""

from __future__ import annotations

import re

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
"""Which store: the identity of its meaning, its turns, and the warp."""
_RELEASE = re.compile(r"release|acq_rel|seq_cst|\bsc\b|\A[5-7]\b")
_ACQUIRE = re.compile(r"acquire|acq_rel|seq_cst|\bsc\b|\A[467]\b")


def key(party: Party) -> Key:
    """That of a party's store."""
    return id(party.event.meaning), party.event.turns, party.warp


def uncovered(
    kernel: WatchedKernel, index: tuple[int, int, int], transfers: dict[str, tuple[int, int]], budget: Budget
) -> frozenset[Key] | None:
    """Stores to global memory of the block at `index`, the first of its cluster. Raises OutOfTime.

    `transfers` are those of `tma_transfers`.
    """
    blocks = Cluster(kernel, 0, budget, first=index).watch()
    if any(not block.complete or block.cut for block in blocks):
        return None
    met = {event.meaning.op for block in blocks for event in block.events}
    if any((_releases(m) or _acquires(m)) and m.op not in met for m in kernel.meanings.values()):
        return None
    engine = _Covering(blocks, transfers, budget)
    outcome = engine.run()
    return None if outcome.stopped or outcome.undecided is not None else engine.uncovered()


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
        self.stores: list[tuple[Key, int, int]] = []  # with the warp of the replay, and its step
        self.covered = np.zeros(
            len(self.world.warps), np.int32
        )  # the last step of each that a release knows of
        self.acquired: list[tuple[int, int]] = []  # (warp, step)

    def uncovered(self) -> frozenset[Key]:
        """The stores that no release knows of."""
        open_ = {store for store, warp, step in self.stores if self.covered[warp] < step}
        return frozenset(open_)

    def _execute(self, warp: Warp, index: int, lanes: int) -> bool:
        if not super()._execute(warp, index, lanes):
            return False
        event, clocks = self.world.events[index], self.world.clocks
        if event.meaning.kind == "write" and event.meaning.space in ("gmem", "generic") and warp.block == 0:
            known = clocks.known[warp.number, HAPPENED]
            if not any(known[other] >= step for other, step in self.acquired):
                store = id(event.meaning), event.turns, warp.first // 32
                self.stores.append((store, warp.number, clocks.now(warp.number)))
        if _releases(event.meaning):
            knows = clocks.snapshot(warp.number)[HAPPENED, : clocks.warps]
            np.maximum(self.covered, knows, out=self.covered)
        if _acquires(event.meaning):
            self.acquired.append((warp.number, clocks.now(warp.number)))
            clocks.snapshot(warp.number)
        return True
