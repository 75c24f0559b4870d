"""Bulk and TMA loads that bring the same bytes from global memory in every turn of a loop.

    loaded_again(block) -> problems

A loop that loads one tile of Q after the other, and each time the first tile of its sums, has lost an index.
Told is a load whose source stays the same in all turns of all loops around it, next to another load of the
same loop whose source changes, and whose tensor has more than it loads. Not where the source follows from
the turn, as one for every n turns does: with other numbers it would change.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from layoutcheck.dsl.lowered.record import Number
from layoutcheck.dsl.lowered.spaces import GLOBAL_STEP
from layoutcheck.order.problems import Problem, party_of
from layoutcheck.order.watched import Event, Watched, first_thread, for_all
from layoutcheck.sources.mlir import Operation, each_once

KIND = "loaded-again"
_LEAST = 3  # turns


def loaded_again(block: Watched) -> list[Problem]:
    """One problem for each operation that does."""
    events: dict[Operation, list[Event]] = defaultdict(list)
    for event in block.events:
        if event.meaning.kind == "bulk_load" and event.turns and event.meaning.op is not None:
            events[event.meaning.op].append(event)
    same: list[tuple[Operation, list[Event]]] = []
    changing = set[Operation | None]()
    for op, met in events.items():
        if any(event.doubt or event.guarded for event in met):
            continue
        if len({_source(event, block) for event in met}) > 1:
            changing.add(_loop(op))
        elif len({event.turns[-1] for event in met}) >= _LEAST:
            same.append((op, met))
    return [
        Problem(KIND, party_of(met[0], block), None, facts={"turns": len(met)})
        for op, met in same
        if (loop := _loop(op)) in changing and _has_more(met[0], block) and not _follows(met[0], loop)
    ]


def _loop(op: Operation) -> Operation | None:
    """The innermost loop around an operation."""
    return next((around for around in op.around() if around.name in ("scf.for", "scf.while")), None)


def _follows(event: Event, loop: Operation | None) -> bool:
    """Whether the source follows from the turn of the loop, whatever it was found to be."""
    meaning = event.meaning
    given = meaning.operands[: meaning.guard] if meaning.guard >= 0 else meaning.operands
    left = [*(meaning.box or given[-1:])]
    for value in each_once(left):
        if isinstance(value.owner, Operation):
            left += value.owner.operands
            left += [operand for op in value.owner.walk() for operand in op.operands if value.owner.regions]
        elif value.owner is not None and value.owner.parent.parent is loop:
            return True
    return False


def _numbers(values: Sequence[Number], event: Event, block: Watched) -> tuple[int, ...]:
    """Of the first thread that takes part."""
    threads, thread = block.launch.threads, first_thread(event, block)
    return tuple(int(for_all(value, threads)[thread]) for value in values)


def _source(event: Event, block: Watched) -> tuple[int, ...]:
    """Where it loads from: the tensor map and the coordinates of a box, or an address."""
    if event.box:
        return _numbers(event.box, event, block)
    return _numbers(event.bulk[1:], event, block) if event.bulk is not None else ()


def _has_more(event: Event, block: Watched) -> bool:
    """Whether the tensor that it loads from has more than that, as far as the host says."""
    if event.box:
        one = block.map_of(event, first_thread(event, block))
        return one is not None and int(np.prod(one.dims)) > int(np.prod(one.box))
    if event.bulk is None:
        return False
    size, address = _numbers(event.bulk, event, block)
    return block.launch.held.get(address // GLOBAL_STEP, 0) > size
