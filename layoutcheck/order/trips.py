"""Trip counts that depend on the problem's size: how often a pipeline's loop runs, few times and many.

    for extent, integer in variations(kernel, block, budget): kernel.with_numbers(extent, integer)

A pipeline of S stages goes wrong at 0, 1, S - 1, S, S + 1 turns, or at one residue modulo S: the extents of
dynamic tensors, and integers, are all made the same multiple of what one turn takes, for 1 turn, S - 1 to
2 S - 1, and 4 S + 1. For 0 turns integers are made 0, and then everything half of what one turn takes; no
extent is made 0. S is estimated: half the mbarriers, or what cp.async.wait_group leaves open and two.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from math import prod

from layoutcheck.dsl.lowered.arguments import Extent, Unequal
from layoutcheck.dsl.lowered.needed import Needed
from layoutcheck.order.budget import Budget
from layoutcheck.order.contents import stored
from layoutcheck.order.events import WatchedKernel
from layoutcheck.order.meaning import Meaning
from layoutcheck.order.recorder import HANDED_OUT
from layoutcheck.order.watched import Watched
from layoutcheck.sources.mlir import Block, Operation

EXTENT = 1024  # of every dynamic mode, where a turn's share of it is measured
# The same where a turn takes more: the tensor is promised to be a multiple of all blocks' tiles.
LARGE_EXTENT = 1 << 20
_TURNING = ("bulk_load", "cp_async")
_DECIDING = ("read", "write", "atomic", "st_async", "mbar_token", "mbar_wait")
_MOST_STAGES = 8
MOST_TURNS = 20  # of a loop over tiles: what drifts by one arrival in each phase goes wrong within them
_TRIALS = 6  # of grids
_SHARE = 4  # turns of a loop that goes on by the size of the grid: two stages, used twice
_TRIED = 3  # smaller grids
_FEW_TILES = (256, 512)  # extents of a problem of few tiles, which often has few k, too
GRID = "sreg.nctaid"


def with_integers(kernel: WatchedKernel) -> bool:
    """Whether the kernel is given integers, which the host may have from anywhere."""
    return any(kind in ("i32", "i64") for kind in kernel.types)


def trips(blocks: list[Watched]) -> int:
    """How often the loops around asynchronous loads run, at most; 0 where none is in a loop."""
    kinds = (event for block in blocks for event in block.events if event.meaning.kind in _TURNING)
    return max((max(event.turns) + 1 for event in kinds if event.turns), default=0)


def left_out(usual: list[Watched], now: list[Watched]) -> tuple[int, int] | None:
    """How often the longest loop turned of those that turn less now, and its turns now; None for no such."""
    old, new = _by_operation(usual), _by_operation(now)
    return max(((many, new[op]) for op, many in old.items() if many > new[op]), default=None)


def _by_operation(blocks: list[Watched]) -> Counter[Operation | None]:
    """The turns of the loop around each operation, at most, of all around it."""
    found = Counter[Operation | None]()
    for event in (event for block in blocks for event in block.events if event.turns):
        found[event.meaning.op] = max(found[event.meaning.op], max(event.turns) + 1)
    return found


def stages(kernel: WatchedKernel, block: Watched) -> int:
    """The stages of the kernel's deepest pipeline, estimated."""
    mbarriers = sum(event.meaning.kind == "mbar_init" for event in block.events) // 2
    groups = [m.count + 2 for m in kernel.meanings.values() if m.kind == "cp_wait"]
    return max(2, min(_MOST_STAGES, max([mbarriers, *groups])))


def wanted(count: int) -> list[int]:
    """The trip counts to try for so many stages, the most telling first."""
    return list(dict.fromkeys([1, count, count + 1, count - 1, 4 * count + 1, *range(count, 2 * count)]))


def variations(kernel: WatchedKernel, block: Watched, budget: Budget) -> Iterator[tuple[int, int]]:
    """Dynamic extents and integers that give other trip counts than `block`'s; none where they are static.

    Raises OutOfTime.
    """
    integers = with_integers(kernel)
    if not integers and not any("?" in kind for kind in kernel.types):
        return
    turning = replace(kernel, meanings={op: m for op, m in kernel.meanings.items() if m.kind in _TURNING})
    for extent in (EXTENT, LARGE_EXTENT):
        equal = turning.with_numbers(extent, extent)
        if equal is None:
            return
        turns = trips([equal.watch(block.launch.index, block.token, budget)])
        if turns > 1:  # 0: no more tiles than what is loaded before the loop
            break
    if turns < 2:
        return
    share = max(1, extent // turns)
    first, *others = (share * count for count in wanted(stages(kernel, block)))
    yield first, first
    if integers:
        yield extent, 0
    if share > 1:
        yield share // 2, share // 2
    yield from zip(others, others, strict=True)


def persistent(kernel: WatchedKernel, block: Watched, budget: Budget) -> Iterator[WatchedKernel]:
    """The kernel on a smaller grid, on which a loop that goes on by the grid's size turns `_SHARE` times.

    Such a grid is an integer's (of multiprocessors, most often), or the first extent of a tensor other than
    those that the loop goes through. None where no loop turns more often than in `block`. Raises OutOfTime.
    """
    usual = kernel.with_numbers(EXTENT, EXTENT)
    if usual is None or not any(around.name == "scf.for" for op in kernel.meanings for around in op.around()):
        return
    few, tried = EXTENT // _SHARE, 0
    given: list[tuple[Extent, int]] = [(EXTENT, few)]
    given += [(Unequal(i, (few, EXTENT), EXTENT), EXTENT) for i in range(kernel.arguments)]
    for numbers in given:
        found = kernel.with_numbers(*numbers)
        if found is None or prod(found.launch.grid) >= prod(usual.launch.grid):
            continue
        if _turns(found.watch(block.launch.index, block.token, budget)) > _turns(block):
            yield found
            return
        tried += 1
        if tried == _TRIED:
            return


def fewer_blocks(kernel: WatchedKernel, block: Watched, budget: Budget) -> WatchedKernel | None:
    """The kernel on a smaller grid, where the grid is a number, and a loop that goes on by its size.

    There are few tiles then, and the loop turns up to `_SHARE` times; None where no loop turns more often
    than in `block`. Raises OutOfTime.
    """
    if kernel.tiles() or not any(GRID in op.name for op in kernel.operation.walk()):
        return None
    index = block.launch.index
    for extent in _FEW_TILES:
        small = kernel.with_numbers(extent, extent)
        if small is None:
            return None
        alone = _turns(on_grid(small, 1).watch(index, block.token, budget))
        fewer = on_grid(small, -(-alone // _SHARE))
        if _turns(fewer.watch(index, block.token, budget)) > _turns(block):
            return fewer
    return None


def on_grid(kernel: WatchedKernel, clusters: int) -> WatchedKernel:
    """The kernel on a grid of so many clusters along its longest axis."""
    grid, each = list(kernel.launch.grid), kernel.launch.cluster
    axis = max(range(3), key=lambda i: grid[i])
    grid[axis] = clusters * each[axis]
    return replace(kernel, launch=replace(kernel.launch, grid=(grid[0], grid[1], grid[2])))


def outline(kernel: WatchedKernel) -> dict[Operation, Meaning]:
    """Enough of what the kernel does to see whether it can be followed: of each block one operation at least.

    Waits and what may decide (`contents`) are kept whole.
    """
    met = set[Block | None]()  # in which something is kept
    found = {}
    for op, meaning in kernel.meanings.items():
        if meaning.kind in _DECIDING or op.parent not in met:
            found[op] = meaning
            met.add(op.parent)
    return found


def turning(kernel: WatchedKernel, blocks: list[Watched]) -> dict[Operation, Meaning]:
    """Enough to see how often outermost loops and loops over tiles turn, where that does not need more.

    One operation of each such loop, met in every turn if there is one, and what decides: loads, trials, and
    the stores of what is loaded (`blocks` are a run with given contents, if one is known).
    """
    tiles, of_loop = set(kernel.tiles()), defaultdict[Operation, dict[Block | None, Operation]](dict)
    for op in kernel.meanings:
        loops = [one for one in op.around() if one.name in ("scf.for", "scf.while")]
        loop = next((one for one in loops if one in tiles or one is loops[-1]), None)
        if loop is not None:
            of_loop[loop].setdefault(op.parent, op)
    chosen = list[Operation]()
    for loop, ops in of_loop.items():
        own = next((ops[block] for block in loop.regions[-1].blocks if block in ops), None)
        chosen += [own] if own is not None else ops.values()
    stores = {e.meaning.op for block in blocks for e in block.events if e.words and e.meaning.kind != "read"}
    roots = [(op, [*m.needs, *stored(op, m)], []) for op, m in kernel.meanings.items() if op in stores]
    around = [(above, [], []) for op in chosen if (above := op.parent_operation) is not None]
    needed = Needed(kernel.operation, [*roots, *around]).operations
    decide = {op: m for op, m in kernel.meanings.items() if op in needed}
    return {**{op: Meaning("turn", op=op) for op in chosen}, **decide}


def _turns(block: Watched) -> int:
    """How often its outermost loops turn, at most."""
    return max((event.turns[0] + 1 for event in block.events if event.turns), default=1)


def ending(
    kernel: WatchedKernel,
    blocks: list[Watched],
    watch: Callable[[WatchedKernel], list[Watched] | None],
    budget: Budget,
) -> WatchedKernel | None:
    """The kernel launched so that its loops over tiles end by themselves, after `MOST_TURNS` turns at most.

    The grid is made smaller or larger; where extents are dynamic, they are of two turns of the inner loop,
    or, where these make one tile, `EXTENT`, all equal as what is multiplied has to be. None where there is no
    such loop, or it has one turn on every grid; where no such grid is found, a kernel that is cut later.
    `watch` follows a kernel for `MOST_TURNS` turns; None where it cannot be followed. Raises OutOfTime.
    """
    if not kernel.tiles() or not blocks[0].complete:
        return None
    first = next(variations(kernel, blocks[0], budget), None)
    sizes = [(2 * first[0], 2 * first[1]), (EXTENT, EXTENT)] if first is not None else []
    others = [one for size in sizes if (one := kernel.with_numbers(*size)) is not None]
    if any(sentence.startswith(HANDED_OUT) for sentence in blocks[0].assumed):
        return (others or [kernel])[0]  # as many tiles as are followed, on every grid
    for one in others or [kernel]:
        found = _on_some_grid(one, watch)
        if found is not None:
            return found
    return None


def _on_some_grid(
    kernel: WatchedKernel, watch: Callable[[WatchedKernel], list[Watched] | None]
) -> WatchedKernel | None:
    """The kernel on a grid on which it ends; itself where none is found, None for one turn on every grid."""
    axis = max(range(3), key=lambda i: kernel.launch.grid[i])
    many = max(1, kernel.launch.grid[axis] // kernel.launch.cluster[axis])  # clusters
    low = high = 0  # cut with low, not with high
    best, turns = kernel, 0
    for _ in range(_TRIALS):
        found = on_grid(kernel, many)
        ran = watch(found)
        if ran is None or not all(block.complete for block in ran):
            return None
        if ran[0].cut:
            low, many = many, (many + high) // 2 if high else 8 * many
        else:
            best, high = found, many
            turns = max((event.turns[0] + 1 for event in ran[0].events if event.turns), default=1)
            many = max(low + 1, -(-many * turns * 4 // (MOST_TURNS * 3)))
        if turns >= MOST_TURNS // 2 or high == low + 1:
            break
    return None if turns == 1 else best
