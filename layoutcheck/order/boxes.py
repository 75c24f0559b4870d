"""TMA and bulk loads that bring nothing of a tensor, or in every turn of a loop the same.

    outside_boxes(kernel, block, calls, budget) -> problems
    loaded_again(block) -> problems

A load brings zeros if every box of a tile lies wholly outside of the tensor. It is told if in one turn of the
outermost of several loops (a tile of the output) all of its boxes are outside, and in another one is not.
Single boxes outside are usual: of a tile that hangs over, a part may be beyond the end. So are blocks outside
in every turn, where a cluster does not divide the tiles. Only numbers that belong together count: those of a
kernel without dynamic extents, or of the calls that the program makes. Loads whose coordinates rest on loaded
values are not looked at, nor those by maps of im2col.

A loop that loads one tile of Q after the other, and each time the first tile of its sums, has lost an index.
Told is a load whose source stays the same in all turns of all loops around it, next to another load of the
same loop whose source changes, and whose tensor has more than it loads. Not where the source follows from
the turn, as one for every n turns does: with other numbers it would change.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from layoutcheck.dsl.lowered.arguments import INTEGER, Numbers
from layoutcheck.dsl.lowered.record import Number
from layoutcheck.dsl.lowered.spaces import GLOBAL_STEP
from layoutcheck.dsl.lowered.values import for_all
from layoutcheck.order.budget import Budget
from layoutcheck.order.events import WatchedKernel
from layoutcheck.order.problems import Party, Problem, party_of
from layoutcheck.order.watched import Event, Watched, first_thread
from layoutcheck.sources.mlir import Operation, each_once

KIND = "box-outside"
_INTEGERS = ("i32", "i64")
_MOST_CALLS = 4  # that are followed


def outside_boxes(
    kernel: WatchedKernel, block: Watched, calls: Iterable[Numbers | None], budget: Budget
) -> list[Problem]:
    """One problem for each operation that does; `block` is the first one as launched. Raises OutOfTime."""
    dynamic = any("?" in kind or kind in _INTEGERS for kind in kernel.types)
    found = [] if dynamic or kernel.launch.rests != "static" else _told(kernel, block)
    for numbers in itertools.islice(calls, _MOST_CALLS):
        called = None if numbers is None else kernel.with_numbers(numbers, INTEGER)
        if called is not None:
            found += _told(called, called.watch(block.launch.index, budget=budget))
    return found


def _told(kernel: WatchedKernel, block: Watched) -> list[Problem]:
    tiles: dict[Operation, dict[int, list[Problem | None]]] = {}  # by turn of the outermost loop
    for event in block.events:
        op = event.meaning.op
        if op is not None and len(event.meaning.box) > 1 and len(event.turns) > 1:
            tiles.setdefault(op, {}).setdefault(event.turns[0], []).append(_outside(event, block))
    first = (_first(turns) for turns in tiles.values())
    return [problem for problem in first if problem is not None]


def _first(turns: Mapping[int, Sequence[Problem | None]]) -> Problem | None:
    """Of the boxes by turn, the first of a turn in which all are outside; None without both kinds."""
    outside = [boxes[0] for boxes in turns.values() if all(boxes)]
    return outside[0] if len(outside) < len(turns) and outside else None


def _outside(event: Event, block: Watched) -> Problem | None:
    """A box that lies wholly outside of a mode."""
    if not event.box or event.doubt or event.guarded:
        return None
    threads, thread = block.launch.threads, first_thread(event, block)
    at = [int(for_all(value, threads)[thread]) for value in event.box[1:]]
    one = block.map_of(event, thread)
    if one is None or one.corners is not None or len(one.dims) != len(at):
        return None
    for low, box, extent in zip(at, one.box, one.dims, strict=True):
        if low >= extent or low + box <= 0:
            facts: dict[str, int | str] = {"coordinate": low, "box": box, "extent": extent}
            return Problem(KIND, Party(event, 0, thread), None, facts=facts)
    return None


_AGAIN = "loaded-again"
_LEAST_TURNS = 3  # turns


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
        elif len({event.turns[-1] for event in met}) >= _LEAST_TURNS:
            same.append((op, met))
    return [
        Problem(_AGAIN, party_of(met[0], block), None, facts={"turns": len(met)})
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
