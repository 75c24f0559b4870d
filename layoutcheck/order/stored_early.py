"""Bulk and TMA stores of shared memory of which nothing has written a byte by then.

    stored_early(kernel, blocks, transfers, budget) -> problems

The order is that of one replay of the block: if all accesses are in order, every replay has the same one. A
store from the other buffer of two, or from the next stage, takes in its first turn what the block before left
there. Nothing is told where a byte of the box was written: the rest of it may be beyond the tensor's end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from layoutcheck.copies.offsets import IntArray
from layoutcheck.dsl.lowered import spaces
from layoutcheck.order.budget import Budget, OutOfTime
from layoutcheck.order.events import WatchedKernel
from layoutcheck.order.meaning import IN_SHARED
from layoutcheck.order.never_written import KIND, unseen, width_of
from layoutcheck.order.problems import Party, Problem
from layoutcheck.order.unread import InTurn
from layoutcheck.order.watched import Event, Watched, lanes_of

SECONDS = 2.0  # of processor time
_SPAN = 1 << 18  # bytes of shared memory


def stored_early(
    kernel: WatchedKernel, blocks: list[Watched], transfers: dict[str, tuple[int, int]], budget: Budget
) -> list[Problem]:
    """One problem for each operation that does; none where a write may go anywhere."""
    block = blocks[0]
    if len(blocks) > 1 or not block.complete or block.guessed or unseen(kernel):
        return []
    threads = block.launch.threads
    program = ((event, np.flatnonzero(lanes_of(event, threads))) for event in block.events)
    if not any(_early(block, program, transfers)):
        return []
    turns = InTurn(block, transfers, Budget(min(SECONDS, budget.left())))
    try:
        if turns.run().stopped:
            return []
    except OutOfTime:
        return []
    executed = (
        (event, first + np.flatnonzero(lanes >> np.arange(32) & 1)) for event, first, lanes in turns.order
    )
    found: dict[object, Problem] = {}
    for event, thread, at, size in _early(block, executed, transfers):
        problem = Problem(KIND, Party(event, 0, thread, at, size), None)
        problem.facts |= {"bytes": size, "early": True}
        found.setdefault(event.meaning.op, problem)
    return list(found.values())


def _early(
    block: Watched, order: Iterable[tuple[Event, IntArray]], transfers: Mapping[str, tuple[int, int]]
) -> Iterator[tuple[Event, int, int, int]]:
    """The stores, each with its thread, the first byte and their number, of what is executed in an order."""
    written, threads = np.zeros(_SPAN, bool), block.launch.threads
    for event, lanes in order:
        meaning = event.meaning
        if meaning.space not in IN_SHARED or not lanes.size:
            continue
        width = width_of(event, transfers, _SPAN)
        known = meaning.kind == "bulk_store"
        size = (_bytes(block, event) or 0) if known else width
        if not size:
            continue
        if event.doubt or event.guarded:
            return
        for at in np.unique(event.numbers(0, threads)[lanes] & (spaces.SHARED_BYTES - 1)).tolist():
            if not known:
                written[at : at + size] = True
            elif not written[at : at + size].any():
                yield event, int(lanes[0]), at, size


def _bytes(block: Watched, event: Event) -> int | None:
    """What a bulk store takes; None where that is not known."""
    if event.meaning.facts.get("tensor"):
        return event.meaning.size or block.box_bytes(event)
    return event.meaning.size or (None if event.bulk is None else int(np.max(event.bulk[0])))
