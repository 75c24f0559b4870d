"""`examine`: the products of one cluster of a kernel, followed and judged.

A sum that goes on with the rows of another tile is a fault, or a running sum (of a scan, of what came before
a chunk) that is meant. A running sum goes along one operand, by steps of the kernel's own: if both operands
move, or if the next tile depends on the grid, it cannot be meant.

`schedule`: without mbarriers all warps take part in the same barriers, and the program's order for the whole
block is one. With them, warps wait for each other: the engine of `order` runs them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache

import numpy as np

from layoutcheck.atoms.tma.descriptor import Descriptor
from layoutcheck.dsl.lowered import SURPRISES, argument_types
from layoutcheck.dsl.lowered.instructions import tma_transfers
from layoutcheck.dsl.lowered.record import Mask
from layoutcheck.dsl.lowered.spaces import GLOBAL_STEP
from layoutcheck.dsl.lowered.tensor_maps import tensor_maps
from layoutcheck.order import Undecided
from layoutcheck.order.budget import Budget, OutOfTime
from layoutcheck.order.engine import Engine
from layoutcheck.order.events import WatchedKernel
from layoutcheck.order.replay import Warp
from layoutcheck.order.watched import Event, Watched
from layoutcheck.provenance.contract import judge
from layoutcheck.provenance.follow import MMA, follow, products_of
from layoutcheck.provenance.instances import USUAL, Instance
from layoutcheck.provenance.judged import Breach, Judged, Names
from layoutcheck.provenance.matrix import BLOCK_SCALED, is_product
from layoutcheck.provenance.moved import Moves
from layoutcheck.provenance.products import Products
from layoutcheck.provenance.refs import GLOBAL, PRODUCT, Array
from layoutcheck.provenance.replay import Replay
from layoutcheck.provenance.tensors import tensors
from layoutcheck.sources.mlir import Operation


def examine(
    kernel: WatchedKernel, text: str, budget: Budget, instance: Instance = USUAL, blank: int = 0
) -> tuple[Products, Judged]:
    """Follow the elements of one cluster of a kernel of the traced module `text`, and judge its products.

    `blank` is the label of shared memory that was never written. Raises OutOfTime and Undecided.
    """
    products = followed(kernel, text, budget, instance, blank)
    judged = judge(products, products.names, bool(instance.clusters))
    steps = [one for one in judged.breaches if one.steps]
    if steps and not _dealt_out(kernel, text, budget, instance, steps):
        products.running = True
        judged = judge(products, products.names, bool(instance.clusters))
    return products, judged


def _dealt_out(
    kernel: WatchedKernel, text: str, budget: Budget, instance: Instance, steps: list[Breach]
) -> bool:
    """Whether the grid decides which tile a sum goes on with."""
    here = instance.of(kernel).launch
    clusters = max(n // c for n, c in zip(here.grid, here.cluster, strict=True))
    with suppress(OutOfTime, Undecided, *SURPRISES):
        other = followed(kernel, text, budget, instance._replace(clusters=2 if clusters == 1 else 1))
        there = judge(other, other.names, True).breaches
        return any(one not in there for one in steps)
    return False


def followed(
    kernel: WatchedKernel, text: str, budget: Budget, instance: Instance, blank: int = 0
) -> Products:
    """The products of one cluster with what their operands hold. Raises OutOfTime and Undecided."""
    replay, order, names = prepared(kernel, text, budget, None, instance)
    for memory in replay.shared:
        memory[:] = blank
    products = Products(replay, names)
    for block, number, mask in order:
        budget.check()
        deed = replay.run(block, number, mask)
        if deed is not None:
            products.take(block, deed, mask)
    return products


def confirmed(
    kernel: WatchedKernel, text: str, seconds: float, instance: Instance, products: Products, judged: Judged
) -> Judged:
    """What is left without the tensors in which made-up extents say what is broken."""
    hidden = products.names.guessed() if any(one.kind != "tensor" for one in judged.breaches) else frozenset()
    if not hidden:
        return judged
    with suppress(OutOfTime, Undecided, *SURPRISES):
        hidden = opaque(products, followed(kernel, text, Budget(seconds), instance.larger()))
    return judge(products, products.names.without(hidden)) if hidden else judged


def prepared(
    kernel: WatchedKernel, text: str, budget: Budget, moves: Moves | None, instance: Instance = USUAL
) -> tuple[Replay, Iterator[tuple[int, int, Mask | None]], Names]:
    """A kernel's blocks followed, to be replayed in that order. Raises OutOfTime and Undecided."""
    small = products_of(instance.of(kernel))
    blocks = [follow(small, index, budget, instance.tiles) for index in instance.cluster(small)]
    names, maps = names_of(small, text, instance)
    every = [op.name for op in small.operation.walk() if is_product(op)]
    packed = bool(every) and all(name == BLOCK_SCALED for name in every)
    replay = Replay(blocks, maps, moves, names.guesses, packed=packed)
    order = schedule([one.watched for one in blocks], tma_transfers(text), budget)
    return replay, order, names


def names_of(
    kernel: WatchedKernel, text: str, instance: Instance
) -> tuple[Names, dict[int, Descriptor | None]]:
    """The tensors of a kernel that is launched as an instance, and its tensor maps."""
    guesses = instance.guesses if _rests(text) else frozenset()
    given = kernel.given[1] if kernel.given else []
    maps = tensor_maps(given)
    return Names(tensors(given, kernel.types, maps, guesses), guesses), maps


@lru_cache(maxsize=1)  # of one module after the other
def _rests(text: str) -> bool:
    """Whether extents may rest on what only a run knows: dynamic ones, or integers that are given."""
    every = argument_types(text).values()
    return any(
        "?" in kind or kind.startswith(("i", "!llvm", "!cute.int")) for kinds in every for kind in kinds
    )


def opaque(products: Products, others: Products) -> frozenset[int]:
    """Tensors whose elements have other coordinates in `others`, of the same kernel with other extents.

    A workspace that holds a tile as one flat region has no rows and columns. With dynamic extents that are
    made up, a region larger than the guess reaches into the next mode, and its elements seem to have
    coordinates there. With another guess they have other ones. The elements of a tile keep theirs.
    """
    found, again = dict(_first(products)), dict(_first(others))
    guessed, moving = products.names.guessed(), set[int]()
    for key in found.keys() & again.keys():
        mine, theirs = found[key], again[key]
        if key[0] in guessed and mine.shape == theirs.shape:
            there = (mine != 0) & (theirs != 0)
            if not _alike(products, others, mine[there], theirs[there]):
                moving.add(key[0])
    return frozenset(moving)


def _first(products: Products) -> Iterator[tuple[tuple[int, Operation, str, int], Array]]:
    """What each instruction takes from a tensor, or stores there, when a block first executes it."""
    seen: set[tuple[int, Operation, str, int]] = set()
    every = [
        (one.op, letter, one.block, side.labels)
        for one in products.executions
        for letter, side in (("A", one.a), ("B", one.b))
    ]
    every += [(one.op, "C", one.block, one.at) for one in products.replay.stored]
    for op, letter, block, labels in every:
        plain = (labels >= GLOBAL) & (labels < PRODUCT)
        for number in np.unique(labels[plain] // GLOBAL_STEP).tolist():
            key = number, op, letter, block
            if key not in seen:
                seen.add(key)
                yield key, np.where(plain & (labels // GLOBAL_STEP == number), labels, 0)


def _alike(products: Products, others: Products, mine: Array, theirs: Array) -> bool:
    """Whether addresses of one instruction have the same coordinates in both, or all of them are one tile on.

    What counts from a tensor's end (the last tile along k) is further on by what its mode is larger.
    """
    if not mine.size:
        return True
    tensor, other = products.names.tensor(mine), others.names.tensor(theirs)
    if tensor is None or other is None:
        return False
    a, b = tensor.coordinates(mine), other.coordinates(theirs)
    if a is None or b is None:
        return False
    larger, extents = np.zeros(tensor.rank, np.int64), {mode.place: mode.extent for mode in tensor.modes}
    for mode in other.modes:
        larger[mode.place] = mode.extent - extents.get(mode.place, mode.extent)
    on = b - a
    return bool((on == on[0]).all() and ((on[0] == 0) | (on[0] == larger)).all())


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
            yield warp.block, engine.world.events[index].number, mask
        at += len(together)
