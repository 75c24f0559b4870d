"""Blocks that go another way than block 0, and problems that are not of whole tiles.

    other_blocks(kernel, calls, followed, budget, unchecked) -> (words, kernel, run)

Block 0 of whole tiles does not lack a barrier that a branch by the block's index, or a tail, leaves out. So
blocks are looked at side by side: which operations each comes to, with which threads, and how often. One
cluster of each way is followed.

The sizes are those of the program's own calls, or the kernel's if no number of the host decides on them. If
some do, one number for all extents and integers that leaves a tail, an odd multiple of what the types
promise, is tried, too. In a call, tensors of integers hold what they held there, unless a block writes them.
Not followed are blocks whose loops or branches rest on other things in memory.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.inttuple import flatten
from layoutcheck.dsl.lowered.arguments import INTEGER, Numbers, dynamic_layout
from layoutcheck.dsl.lowered.blocks import Index, all_of
from layoutcheck.dsl.lowered.held import memories
from layoutcheck.dsl.lowered.needed import Needed
from layoutcheck.dsl.lowered.removed import constant_of
from layoutcheck.dsl.lowered.shared_turns import ByBlock
from layoutcheck.dsl.lowered.spaces import GLOBAL_STEP
from layoutcheck.dsl.lowered.values import for_all
from layoutcheck.order.budget import Budget, OutOfTime
from layoutcheck.order.events import WatchedKernel
from layoutcheck.order.meaning import Meaning
from layoutcheck.order.runs import Cluster, Run
from layoutcheck.order.watched import Event, Watched, lanes_of
from layoutcheck.sources.mlir import Operation, Region

SECONDS = 2.0  # of processor time
_MOST_CALLS = 2
_MOST_WAYS = 8  # of one launch that are followed
_MOST_LANES = 1 << 14  # threads that are looked at side by side
_TAILED = 360  # an extent: a few tiles and part of one, for tiles of 16 to 256
_NUMBER = re.compile(r"\?|\A(?:i[0-9]+|index)\Z")
_NUMBERED = ("barrier", "barrier_arrive", "mbar_init", "mbar_arrive", "mbar_wait", "mbar_token")
OTHERS, LOOKED = "blocks that go another way than block (0,0,0)", "blocks were looked at"

Counted = frozenset[tuple[Any, int]]  # what a block comes to, with which threads, and how often
Way = tuple[Counted, ...]  # of the blocks of a cluster


def other_blocks(
    kernel: WatchedKernel, calls: Sequence[Numbers | None], followed: Sequence[Watched], budget: Budget,
    unchecked: set[str],
) -> Iterator[tuple[str, WatchedKernel, Run]]:  # fmt: skip
    """Each with the block and the sizes in words; what is not followed is added to `unchecked`.

    `followed` are the blocks of the first run. Raises OutOfTime only where `budget` is used up.
    """
    within = Budget(min(SECONDS, budget.left()))
    ways = Ways(kernel, within, followed)
    try:
        launches = list(_launched(kernel, calls))
        if not launches and ways.apart:
            unchecked.add(f"{OTHERS}: the grid is not known")
        for words, launched, call in launches:
            for at in ways.chosen(launched, unchecked):
                cluster = Cluster(launched, 0, within, first=at)
                blocks = cluster.watch()
                last = ", the last of the grid" if at == last_cluster(launched) != (0, 0, 0) else ""
                where = f"block ({','.join(map(str, at))}){last}{words}"
                if any(block.guessed or not block.complete or _writes(block, call) for block in blocks):
                    unchecked.add(f"{where}: it goes another way, and was not followed to its end")
                else:
                    yield where, launched, Run(blocks, cluster, False)
    except OutOfTime:
        unchecked.add(f"{OTHERS}: it takes too long")
        if budget.left() <= 0:
            raise


class Ways:
    """What blocks come to. `known`, and of `apart` alone `apart_known`, have been followed, however often."""

    def __init__(self, kernel: WatchedKernel, budget: Budget, followed: Sequence[Watched]) -> None:
        self.kernel, self.budget = kernel, budget
        self.known = {_met(tuple(way)) for way in (self._counted(followed, self._bodies),) if followed}
        self.apart_known = set[object]()
        self._programs: dict[int, dict[Any, Any]] = {}  # by the blocks that are looked at

    def chosen(self, launched: WatchedKernel, unchecked: set[str]) -> Iterator[Index]:
        """A cluster of each way of a launch, its first block. Raises OutOfTime.

        Of those in which the same happens more or less often few, or none.
        """
        own, held = launched is self.kernel, bool(launched.launch.memories)
        if not own:
            zero = self._of(launched, [(0, 0, 0)], self._bodies)
            if zero is None:
                unchecked.add("tails of other sizes: what happens there rests on what memory holds")
            elif self.known.isdisjoint(map(_met, zero)):
                self.known.update(map(_met, zero))
                yield 0, 0, 0
        places = self.places(launched) if self.apart else []
        if len(places) < 2:
            return
        found = self._of(launched, places, self.apart)
        if found is None:
            unchecked.add(f"{OTHERS}: what they do rests on what memory holds")
            return
        first = next(way for way, at in found.items() if at == (0, 0, 0))
        self.apart_known.add(_met(first))
        new = [way for way in found if _met(way) not in self.apart_known]
        often = [way for way in found if _met(way) in self.apart_known and way is not first]
        for way in [*new[:_MOST_WAYS], *often[: _MOST_WAYS if held else 1]]:
            self.apart_known.add(_met(way))
            yield found[way]
        if len(new) > _MOST_WAYS:
            unchecked.add(f"{OTHERS}: {_MOST_WAYS} of {len(new)} ways were followed")
        many = math.prod(launched.launch.grid) // math.prod(launched.launch.cluster)
        if len(places) < many:
            unchecked.add(f"{OTHERS}: {len(places):,} of {many:,} {LOOKED}")

    @cached_property
    def by(self) -> ByBlock:
        """What is made of the block's index."""
        return ByBlock(self.kernel.operation, Needed(self.kernel.operation, ()))

    @cached_property
    def _bodies(self) -> dict[Operation, Meaning]:
        """The first operation of each body."""
        first = {op.parent: op for op in reversed(list(self.kernel.meanings))}
        return {op: self.kernel.meanings[op] for op in reversed(first.values())}

    @cached_property
    def apart(self) -> dict[Operation, Meaning]:
        """Operations that not all blocks come to alike: of each body that the block's index decides on one.

        Where that one may be left out for other reasons, the first of each body within. And barriers and
        mbarriers whose number, count or parity is made of the block's index.
        """
        within = defaultdict[Region, list[Operation]](list)
        for op in self._bodies:
            if (region := self._decided(op)) is not None:
                within[region].append(op)
        chosen = set(self._numbered)
        for region, ops in within.items():
            own = [op for op in ops if op.parent in region.blocks]
            chosen.update(own or ops)
        return {op: m for op, m in self.kernel.meanings.items() if op in chosen}

    def _decided(self, op: Operation) -> Region | None:
        """The nearest region around an operation that the block's index decides on."""
        block = op.parent
        while block is not None:
            if self.by.decides(block.parent.parent):
                return block.parent
            block = block.parent.parent.parent
        return None

    @cached_property
    def _numbered(self) -> set[Operation]:
        found = set()
        for op, meaning in self.kernel.meanings.items():
            given = (_numbers_of(m, m.operands) for m in meaning.all if m.kind in _NUMBERED)
            if any(value in self.by.values for value in itertools.chain(*given)):
                found.add(op)
        return found

    def places(self, launched: WatchedKernel) -> list[Index]:
        """The first blocks of the clusters that are looked at, the first one first: all of a small grid."""
        each = launched.launch.cluster
        counts = [n // c for n, c in zip(launched.launch.grid, each, strict=True)]
        threads = math.prod(each) * launched.launch.threads
        most = _MOST_LANES // threads if launched.launch.threads % 32 == 0 else 1
        told = {constant + i for constant in self._constants for i in (-1, 0, 1)}
        axes: list[list[int]] = []
        for near in (max(counts), 3, 2, 1):
            axes = [
                sorted(i for i in {*range(near), *range(n - near, n), n // 2, *told} if 0 <= i < n)
                for n in counts
            ]
            if math.prod(map(len, axes)) <= most:
                break
        else:
            axes = [sorted({0, n - 1}) for n in counts]
        x, y, z = ([i * c for i in axis] for axis, c in zip(axes, each, strict=True))
        return list(all_of((x, y, z)))

    @cached_property
    def _constants(self) -> set[int]:
        """Numbers that something made of the block's index is compared with."""
        found = set()
        for op in self.kernel.operation.walk():
            if op.name == "arith.cmpi" and any(value in self.by.values for value in op.operands):
                found |= {constant_of(value) for value in op.operands} - {None}
        return {int(one) for one in found if one is not None}

    def _of(
        self, launched: WatchedKernel, places: Sequence[Index], looked_at: dict[Operation, Meaning]
    ) -> dict[Way, Index] | None:
        """The ways of the clusters at these places, the last of each first; block 0 stands for its own.

        None where they rest on what memory holds. Raises OutOfTime.
        """
        how = launched.launch
        ranges = ([range(i, i + n) for i, n in zip(at, how.cluster, strict=True)] for at in places)
        blocks = [(i, j, k) for x, y, z in ranges for k, j, i in itertools.product(z, y, x)]
        alone = how.threads % 32 != 0  # numbers of lanes are those of whole warps
        done = list[Counted]()
        for at in [(one,) for one in blocks] if alone else [tuple(blocks)]:
            programs = self._programs.setdefault(len(at), {})
            side = replace(launched, meanings=looked_at, programs=programs)
            block = replace(side, launch=replace(how, blocks=at)).watch(at[0], budget=self.budget)
            if block.guessed or not block.complete or any("differently" in note for note in block.notes):
                return None
            done += self._counted([block], looked_at, len(at))
        each = math.prod(how.cluster)
        clusters = [tuple(done[i : i + each]) for i in range(0, len(done), each)]
        found = dict(zip(clusters, places, strict=True))
        found[clusters[0]] = places[0]
        return dict(reversed(found.items()))

    def _counted(
        self, looked: Sequence[Watched], looked_at: dict[Operation, Meaning], sides: int = 1
    ) -> list[Counted]:
        """What each block comes to of these operations; each of `looked` has so many side by side."""
        found = list[Counted]()
        for side in looked:
            threads = side.launch.threads // sides
            each = [Counter[Any]() for _ in range(sides)]
            lanes: dict[int, list[bytes]] = {}  # by the mask, which many events share
            for event in side.events:
                if event.meaning.op not in looked_at:
                    continue
                if id(event.mask) not in lanes:
                    rows = lanes_of(event, threads * sides).reshape(sides, threads)
                    lanes[id(event.mask)] = [row.tobytes() if row.any() else b"" for row in rows]
                numbers = _rows(event, sides, threads) if event.meaning.op in self._numbered else [()] * sides
                for counter, own, given in zip(each, lanes[id(event.mask)], numbers, strict=True):
                    if own:
                        counter[event.meaning.op, own, given] += 1
            found += [frozenset(counter.items()) for counter in each]
        return found


def _numbers_of(meaning: Meaning, values: Sequence[Any]) -> Sequence[Any]:
    """Of an operation's operands those that are no address."""
    return values[meaning.kind.startswith("mbar") :]


def _rows(event: Event, blocks: int, threads: int) -> list[tuple[bytes, ...]]:
    """The numbers of an event, of each block."""
    on = lanes_of(event, blocks * threads)
    given = [
        np.where(on, for_all(value, blocks * threads), 0).reshape(blocks, threads)
        for value in _numbers_of(event.meaning, event.values)
    ]
    return [tuple(one[i].tobytes() for one in given) for i in range(blocks)]


def _met(way: Way) -> tuple[frozenset[Any], ...]:
    """What the blocks of a way come to, however often."""
    return tuple(frozenset(what for what, _ in block) for block in way)


def _launched(
    kernel: WatchedKernel, calls: Sequence[Numbers | None]
) -> Iterator[tuple[str, WatchedKernel, Numbers | None]]:
    """The kernel as it is launched, with the call's or the made-up numbers in words, and the call."""
    dynamic = any(map(_NUMBER.search, kernel.types))
    if not dynamic and kernel.launch.known:
        yield "", kernel, None
    kernel = replace(kernel, whole=False)
    for call in [one for one in calls if one is not None and (dynamic or one.contents)][:_MOST_CALLS]:
        if (launched := kernel.with_numbers(call, INTEGER)) is not None:
            yield f", of {call.told}", launched, call
    number = tailed(kernel.types)
    if dynamic and (launched := kernel.with_numbers(number, number)) is not None:
        yield f", where dynamic extents and integers are {number}", launched, None


def _writes(block: Watched, call: Numbers | None) -> bool:
    """Whether a block writes a tensor whose contents were taken for known."""
    held = memories(call.contents) if call is not None else {}
    written = (event.values[0] for event in block.events if event.meaning.kind in ("write", "atomic"))
    return bool(held) and any(int(np.asarray(at).flat[0]) // GLOBAL_STEP in held for at in written)


def tailed(types: Collection[str]) -> int:
    """An extent that types allow and that leaves a tail: an odd multiple of what they promise."""
    shapes = (flatten(layout.shape) for layout in map(dynamic_layout, types) if layout is not None)
    promise = math.lcm(*(leaf.divisor for leaf in itertools.chain(*shapes) if isinstance(leaf, Dynamic)))
    return promise * (-(-_TAILED // promise) | 1)


def last_cluster(kernel: WatchedKernel) -> Index:
    """The first block of the last cluster."""
    x, y, z = (
        (blocks // each - 1) * each
        for blocks, each in zip(kernel.launch.grid, kernel.launch.cluster, strict=True)
    )
    return x, y, z
