"""TMA loads of which every box of a tile lies wholly outside of the tensor: they bring zeros.

    outside_boxes(kernel, calls, budget) -> problems

A load is told if in one turn of the outermost of several loops (a tile of the output) all of its boxes are
outside, and in another turn one is not. Single boxes outside are usual: of a tile that hangs over, a part
may be beyond the end. So are blocks outside in every turn, where a cluster does not divide the tiles.

Only numbers that belong together count: those of a kernel without dynamic extents, or of the calls that the
program makes. Loads whose coordinates rest on loaded values are not looked at, nor those by maps of im2col.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

from layoutcheck.dsl.lowered.arguments import INTEGER, Numbers
from layoutcheck.order.budget import Budget
from layoutcheck.order.events import WatchedKernel
from layoutcheck.order.problems import Party, Problem
from layoutcheck.order.watched import Event, Watched, first_thread, for_all
from layoutcheck.sources.mlir import Operation

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
