"""The last block of the grid, or the blocks of its last cluster, where they do something else than the first.

    last_blocks(kernel, calls, budget) -> (words, kernel, run)

Where sizes are not whole tiles, predicates fail in the last tile alone: lanes leave a branch out, threads do
not arrive. The grid is that of the program's own calls, or the kernel's if no number of the host decides on
it: a tail of numbers that were made up says nothing. Not followed are blocks whose loops or branches rest on
what memory holds, or that ask a scheduler for tiles.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from layoutcheck.dsl.lowered.arguments import INTEGER, Numbers
from layoutcheck.order.budget import Budget, OutOfTime
from layoutcheck.order.events import WatchedKernel
from layoutcheck.order.runs import Cluster, Run
from layoutcheck.order.watched import Watched

SECONDS = 2.0  # of processor time
_MOST_CALLS = 2
_NUMBER = re.compile(r"\?|\A(?:i[0-9]+|index)\Z")


def last_blocks(
    kernel: WatchedKernel, calls: Sequence[Numbers | None], budget: Budget
) -> Iterator[tuple[str, WatchedKernel, Run]]:
    """Each with the block and the call in words. Raises OutOfTime only where `budget` is used up."""
    within = Budget(min(SECONDS, budget.left()))
    try:
        for call, launched in _launched(kernel, calls):
            first = Cluster(launched, 0, within)
            last = replace(first, first=_last(launched))
            if last.first == first.first:
                continue
            blocks = last.watch()
            sure = all(block.complete and not block.guessed and not block.cut for block in blocks)
            if sure and _way(blocks) != _way(first.watch()):
                where = f"block ({','.join(map(str, last.first))}), the last of the grid"
                yield f"{where}{call and f', of {call}'}", launched, Run(blocks, last, False)
    except OutOfTime:
        if budget.left() <= 0:
            raise


def _launched(kernel: WatchedKernel, calls: Sequence[Numbers | None]) -> Iterator[tuple[str, WatchedKernel]]:
    """The kernel as it is launched, with the call's numbers in words."""
    if kernel.launch.known and not any(map(_NUMBER.search, kernel.types)):
        yield "", kernel
        return
    for call in [one for one in calls if one is not None][:_MOST_CALLS]:
        if (launched := kernel.with_numbers(call, INTEGER)) is not None:
            yield call.name, launched


def _last(kernel: WatchedKernel) -> tuple[int, int, int]:
    """The first block of the last cluster."""
    x, y, z = (
        (blocks // each - 1) * each
        for blocks, each in zip(kernel.launch.grid, kernel.launch.cluster, strict=True)
    )
    return x, y, z


def _way(blocks: list[Watched]) -> list[tuple[object, ...]]:
    """What each block does, and which threads do it."""
    return [
        (event.meaning.op, event.turns, None if event.mask is None else event.mask.tobytes())
        for block in blocks
        for event in block.events
    ]
