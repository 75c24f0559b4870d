"""An order in which the warps of a block can run: which events, by which warps, one after the other.

Without mbarriers all warps take part in the same barriers, and the program's order for the whole block is
one. With them, warps wait for each other: the engine of `order` runs them, and what it executes is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from layoutcheck.dsl.lowered.record import Mask
from layoutcheck.order.budget import Budget
from layoutcheck.order.engine import Engine
from layoutcheck.order.replay import Warp
from layoutcheck.order.watched import Event, Watched
from layoutcheck.provenance.follow import MMA

_WAITS = ("mbar_wait", "mbar_token", "barrier_arrive")
# PTX ISA, tensormap.cp_fenceproxy: from shared memory to global memory. No element changes its place.
_HARMLESS = re.compile(r"tensormap\.cp_fenceproxy\.global\.shared")
_GROUP = 4  # warps that are put together where they do the same

_PASSED = ("read", "write", "atomic", "matrix_read", "matrix_write", "registers", "fence")


class _Logged(Engine):
    """An engine that says what it executes; accesses are not checked against one another."""

    def __init__(self, blocks: list[Watched], transfers: dict[str, tuple[int, int]], budget: Budget) -> None:
        super().__init__(blocks, transfers, False, budget)
        self.log: list[tuple[Warp, list[tuple[int, int]]]] = []
        for kind in (*_PASSED, MMA):
            self.handlers[kind] = lambda _warp, _index, _event, _lanes: True

    def _unknown(self, warp: Warp, index: int, event: Event, lanes: int) -> bool:
        named = str(event.meaning.facts.get("name", ""))
        return bool(_HARMLESS.match(named)) or super()._unknown(warp, index, event, lanes)

    def _advance(self, warp: Warp) -> bool:
        self.log.append((warp, []))
        return super()._advance(warp)

    def _execute(self, warp: Warp, index: int, lanes: int) -> bool:
        event = self.world.events[index]
        kind = event.meaning.kind
        passed = kind in _PASSED and kind in self.handlers and (event.doubt or event.guarded)
        done = kind == MMA or bool(passed) or super()._execute(warp, index, lanes)
        if done:
            self.log[-1][1].append((index, lanes))
        return done


def schedule(
    blocks: list[Watched], transfers: dict[str, tuple[int, int]], budget: Budget
) -> Iterator[tuple[int, int, Mask | None]]:
    """(block, event's number, threads): what is executed, in order. Threads are None for the event's own.

    Raises OutOfTime, and Undecided where the order rests on what only a run knows.
    """
    waits = any(event.meaning.kind in _WAITS for block in blocks for event in block.events)
    if len(blocks) == 1 and not waits:
        for event in blocks[0].events:
            yield 0, event.number, None
        return
    engine = _Logged(blocks, transfers, budget)
    outcome = engine.run()
    if outcome.undecided is not None:
        raise outcome.undecided
    yield from _merged(engine, blocks[0].launch.threads)


def _merged(engine: _Logged, threads: int) -> Iterator[tuple[int, int, Mask | None]]:
    """The log, with neighbouring warps of a group that did the same put together."""
    at, log = 0, [one for one in engine.log if one[1]]
    while at < len(log):
        warp, did = log[at]
        together = [warp]
        group = warp.first // (32 * _GROUP)
        for n in range(at + 1, len(log)):
            other, same = log[n]
            if same != did or other.block != warp.block or other.first // (32 * _GROUP) != group:
                break
            together.append(other)
        for index, lanes in did:
            mask = np.zeros(threads, bool)
            for one in together:
                own = min(32, threads - one.first)
                mask[one.first : one.first + own] = (lanes >> np.arange(own) & 1).astype(bool)
            event = engine.world.events[index]
            yield warp.block, event.number, mask
        at += len(together)
