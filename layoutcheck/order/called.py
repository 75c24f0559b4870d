"""Runs of a kernel in the program's own calls, with the integers that its tensors hold there.

`called(kernel, calls, budget)` gives a run for each way in which blocks go, where branches and loops rest on
what memory holds: a sequence without queries, a list without blocks. Blocks are taken from all parts of the
grid, and those that do the same as one before are left out. What a block writes does not hold what it did: in
a call where one writes such a tensor no run is known.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from layoutcheck.dsl.lowered.arguments import Numbers
from layoutcheck.dsl.lowered.evaluate import launch_of
from layoutcheck.dsl.lowered.held import memories
from layoutcheck.dsl.lowered.machine import Launch
from layoutcheck.dsl.lowered.spaces import GLOBAL_STEP
from layoutcheck.order.budget import Budget, OutOfTime
from layoutcheck.order.events import WatchedKernel
from layoutcheck.order.runs import Cluster, Run
from layoutcheck.order.watched import Watched

SECONDS = 3.0  # of processor time, for what blocks do
_MOST_CALLS = 2
_EACH_AXIS = 4  # clusters along each axis of the grid


def called(
    kernel: WatchedKernel, calls: Sequence[Numbers | None], budget: Budget
) -> Iterator[tuple[str, Run]]:
    """(the call in words, a run). Raises OutOfTime only where `budget` is used up."""
    within = Budget(min(SECONDS, budget.left()))
    seen = set[tuple[object, ...]]()
    try:
        for call in [one for one in calls if one is not None and one.contents][:_MOST_CALLS]:
            given = kernel.launches(call, None).get(kernel.name)
            if given is None or not all(given[0].grid):
                continue
            launch = launch_of(kernel.operation, given)
            cluster = Cluster(replace(kernel, given=given, launch=launch), 0, within)
            for first in _spread(launch):
                there = replace(cluster, first=first)
                blocks = there.watch()
                if any(block.guessed or not block.complete or _writes(block, call) for block in blocks):
                    break
                way = tuple((event.meaning.op, event.turns) for block in blocks for event in block.events)
                if way not in seen:
                    seen.add(way)
                    yield call.told, Run(blocks, there, False)
    except OutOfTime:
        if budget.left() <= 0:
            raise


def _spread(launch: Launch) -> Iterator[tuple[int, int, int]]:
    """The first blocks of clusters in all parts of the grid, the outermost first."""
    axes = []
    for blocks, each in zip(launch.grid, launch.cluster, strict=True):
        last = max(0, blocks // each - 1)
        axes.append(sorted({last * i // (_EACH_AXIS - 1) * each for i in range(_EACH_AXIS)}))
    ends = [{axis[0], axis[-1]} for axis in axes]
    x, y, z = axes
    every = itertools.product(x, y, z)
    yield from sorted(every, key=lambda at: -sum(i in end for i, end in zip(at, ends, strict=True)))


def _writes(block: Watched, call: Numbers) -> bool:
    """Whether a block writes a tensor whose contents were taken for known."""
    held = memories(call.contents)
    written = (event.values[0] for event in block.events if event.meaning.kind in ("write", "atomic"))
    return any(int(np.asarray(address).flat[0]) // GLOBAL_STEP in held for address in written)
