"""Trip counts that depend on the problem's size: how often a pipeline's loop runs, few times and many.

    for extent, integer in variations(kernel, block): kernel.with_numbers(extent, integer)

A pipeline of S stages goes wrong at 0, 1, S - 1, S, S + 1 turns, or at one residue modulo S: the extents of
dynamic tensors, and integers, are all made the same multiple of what one turn takes, for 1 turn, S - 1 to
2 S - 1, and 4 S + 1. For 0 turns integers are made 0, and then everything half of what one turn takes; no
extent is made 0. S is estimated: half the mbarriers, or what cp.async.wait_group leaves open and two.
"""

from __future__ import annotations

from collections.abc import Iterator

from layoutcheck.order.events import Watched, WatchedKernel

EXTENT = 1024  # of every dynamic mode, where a turn's share of it is measured
_TURNING = ("bulk_load", "cp_async")
_MOST_STAGES = 8


def trips(blocks: list[Watched]) -> int:
    """How often the loops around asynchronous loads run, at most; 0 where none is in a loop."""
    kinds = (event for block in blocks for event in block.events if event.meaning.kind in _TURNING)
    return max((max(event.turns) + 1 for event in kinds if event.turns), default=0)


def stages(kernel: WatchedKernel, block: Watched) -> int:
    """The stages of the kernel's deepest pipeline, estimated."""
    mbarriers = sum(event.meaning.kind == "mbar_init" for event in block.events) // 2
    groups = [m.count + 2 for m in kernel.meanings.values() if m.kind == "cp_wait"]
    return max(2, min(_MOST_STAGES, max([mbarriers, *groups])))


def wanted(count: int) -> list[int]:
    """The trip counts to try for so many stages, the most telling first."""
    return list(dict.fromkeys([1, count, count + 1, count - 1, 4 * count + 1, *range(count, 2 * count)]))


def variations(kernel: WatchedKernel, block: Watched) -> Iterator[tuple[int, int]]:
    """Dynamic extents and integers that give other trip counts than `block`'s; none where they are static."""
    integers = any(kind in ("i32", "i64") for kind in kernel.types)
    if not integers and not any("?" in kind for kind in kernel.types):
        return
    equal = kernel.with_numbers(EXTENT, EXTENT)
    if equal is None:
        return
    turns = trips([equal.watch(block.launch.index, block.token)])
    if turns < 2:
        return
    share = max(1, EXTENT // turns)
    first, *others = (share * count for count in wanted(stages(kernel, block)))
    yield first, first
    if integers:
        yield EXTENT, 0
    if share > 1:
        yield share // 2, share // 2
    yield from zip(others, others, strict=True)
