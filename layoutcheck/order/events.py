"""The events of a kernel: what orders or reaches memory, with its numbers for all threads of a block.

    for kernel in kernels(lowered_text, types):
        kernel.watch((0, 0, 0)).events

The evaluator of lowered modules runs the kernel for all threads of a block at once, each loop to its end,
and what `describe` knows is written down in program order: which threads take part, and what their
operands are. What a thread loads is not known; a branch or a loop that depends on it is followed as if it
were 0, and says so in `Event.guarded`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from layoutcheck.copies.cluster import MOST_BLOCKS
from layoutcheck.dsl.lowered.arguments import Extent
from layoutcheck.dsl.lowered.evaluate import (
    KERNELS,
    Launched,
    enter,
    kernels_in,
    launch_of,
    name_of,
    parse_once,
    prepare,
    tag,
)
from layoutcheck.dsl.lowered.flow import Flow, Maker, Turns
from layoutcheck.dsl.lowered.hosts import hosts_of
from layoutcheck.dsl.lowered.loops import ends_alike
from layoutcheck.dsl.lowered.machine import Launch, Step
from layoutcheck.dsl.lowered.needed import condition
from layoutcheck.dsl.lowered.tensor_maps import tensor_maps
from layoutcheck.order import accumulators, loads
from layoutcheck.order.budget import Budget
from layoutcheck.order.contents import INPUT, Contents, stored
from layoutcheck.order.describe import describe
from layoutcheck.order.meaning import Meaning
from layoutcheck.order.recorder import MOST_EVENTS, MOST_TILES, Full, Recorder
from layoutcheck.order.repeated import repeated
from layoutcheck.order.unused import alloca, uses_beside
from layoutcheck.order.watched import Watched
from layoutcheck.sources.mlir import Operation, Value, each_once

MOST_COUNTED = 64  # turns of a loop without a count that ends by constants alone


@dataclass(slots=True)
class WatchedKernel:
    """A kernel of a lowered module, with the meanings of its operations."""

    name: str
    operation: Operation
    launch: Launch
    given: Launched | None
    types: list[str]
    meanings: dict[Operation, Meaning]
    launches: Callable[[Extent, int | None], dict[str, Launched]]
    arguments: int = 0  # of the host function that has most of them
    whole: bool = False  # raise TooManyEvents where a block does more than is followed
    both: bool = False  # run both arms of branches by what only a run knows
    front: list[WatchedKernel] = field(default_factory=list)  # launched before it, and may still run then
    programs: dict[Any, Any] = field(default_factory=dict)  # made for runs before, also of other launches

    def with_numbers(self, extent: Extent, integer: int) -> WatchedKernel | None:
        """The kernel with other dynamic extents and integers; None where no host function launches it so."""
        given = self.launches(extent, integer).get(self.name)
        if given is None or not all(given[0].grid) or prod(given[0].cluster) > MOST_BLOCKS:
            return None
        return replace(self, given=given, launch=launch_of(self.operation, given))

    @property
    def tokens(self) -> bool:
        """Whether something is tried and may fail."""
        return any(m.kind == "mbar_token" for m in self.meanings.values())

    def _measure(self, watched: Watched) -> None:
        """The bytes of TMA copies in inline PTX, by their tensor maps."""
        for event in watched.events:
            meaning = event.meaning
            if meaning.size or not event.box or not meaning.facts.get("each"):
                continue
            meaning.size = watched.box_bytes(event) or 0

    def tiles(self) -> list[Operation]:
        """The loops without a count in which something happens."""
        loops = (around for op in self.meanings for around in op.around() if around.name == "scf.while")
        return list(dict.fromkeys(loops))

    def schedulers(self) -> list[Operation]:
        """Those of them in which more happens than accesses of global memory, as in a search or a poll."""
        within = {op for op, m in self.meanings.items() if m.within}
        return [loop for loop in self.tiles() if not within.isdisjoint(loop.walk())]

    def watch(
        self, block: tuple[int, int, int] = (0, 0, 0), token: int = 0, budget: Budget | None = None,
        tiles: int = MOST_TILES, contents: Contents | None = None, guessed: int = 1,
    ) -> Watched:  # fmt: skip
        """The events of one block; `token` is what every trial of an mbarrier returns.

        Raises OutOfTime, and TooManyEvents of a kernel that is `whole`.

        Loops over tiles are followed for `tiles` turns, those of `schedulers` that end by what only a run
        knows for `guessed`. `contents` is what memory is taken to hold.
        """
        launch = replace(self.launch, index=block)
        sites = contents.sites if contents is not None else None
        key = id(self.meanings), launch.block, sites  # a program keeps its meanings alive
        if key not in self.programs:
            self.programs[key] = Program(self, launch, sites)
        watched = Watched(launch, token=token, maps=tensor_maps(self.given[1]) if self.given else {})
        self.programs[key].run(self, watched, budget or Budget(), tiles, contents, guessed)
        self._measure(watched)
        return watched


class Program:
    """A kernel's operations as steps, for blocks of one shape; `run` starts them from the beginning.

    With `sites` for runs with given contents, for which these stores are looked at.
    """

    def __init__(self, kernel: WatchedKernel, launch: Launch, sites: Collection[Operation] | None) -> None:
        roots: Any = [
            (op, [*m.needs, *(stored(op, m) if op in (sites or ()) else ())], [])
            for op, m in kernel.meanings.items()
        ]
        self.machine, self.flow = prepare(kernel.operation, launch, roots, recorded=lambda _op: "")
        self.recorder = Recorder(self.machine, self.flow, kernel.meanings, Watched(launch), sites=sites)
        self.flow.translate, self.flow.either = self.recorder.step, self.recorder.either
        self.flow.again = partial(
            repeated, meanings=kernel.meanings, needed=self.flow.full, left=self.flow.left
        )
        self.flow.control = {name: self._noticed(maker) for name, maker in self.flow.control.items()}
        self.steps = self.flow.steps(kernel.operation.regions[0].blocks[0], fast=False)
        self.known = dict(self.machine.reasons.known)
        self.tiles = {loop: MOST_COUNTED if ends_alike(loop) else 0 for loop in kernel.tiles()}
        self.schedulers = kernel.schedulers()

    def run(
        self, kernel: WatchedKernel, watched: Watched, budget: Budget, tiles: int, contents: Contents | None,
        guessed: int,
    ) -> None:  # fmt: skip
        """Write down what the block does; the last three, and what is raised, are those of `watch`."""
        machine, flow, reasons = self.machine, self.flow, self.machine.reasons
        machine.restart(watched.launch, self.known)
        reasons.taken = INPUT if contents is not None else frozenset()
        flow.restart()
        flow.tick = budget.check
        most = {loop: max(tiles, counted) for loop, counted in self.tiles.items()}
        loaded = dict.fromkeys(self.schedulers, guessed)
        flow.turns = Turns(True, most=most, guessed=loaded)
        self.recorder.restart(watched, tiles, contents, kernel.whole, kernel.both)
        enter(kernel.operation, machine, flow, kernel.given, kernel.types)
        try:
            with np.errstate(all="ignore"):
                flow.run(self.steps)
        except Full:
            machine.notes.add(f"the kernel's events were cut short after {MOST_EVENTS}")
        watched.notes, watched.reasons = tuple(sorted(machine.notes)), reasons.copy()
        watched.cut = frozenset(flow.cut)
        watched.complete = not any("cut short" in note for note in machine.notes)
        watched.shared_bytes = machine.all_shared_bytes
        watched.assumed = tuple(s for kind, s in reasons.known if kind == "uniform")

    def _noticed(self, maker: Maker) -> Maker:
        """A branch or loop in which something happens, whose conditions are looked at after it has run."""

        def make(flow: Flow, op: Operation, fast: bool) -> Step:
            step = maker(flow, op, fast)
            if not any(one in self.recorder.meanings for one in op.walk()):
                return step
            slots, machine, recorder = flow.slots_of(condition(op)), flow.machine, self.recorder

            def run() -> None:
                step()
                bits = 0
                for slot in slots:
                    bits |= machine.provenance[slot]
                if bits and machine.reasons.guessed(bits):
                    recorder.out.guessed = True
                    recorder.out.stored |= recorder.loaded(bits)
                    recorder.out.undecided.add(op)

            return run

        return make


def kernels(lowered: str, types: dict[str, list[str]] | None = None) -> list[WatchedKernel]:
    """The kernels of a lowered module. Raises InputError where the text is no module."""
    module = parse_once(lowered)
    hosts = hosts_of(module, types or {})
    launches = hosts.launches
    usual = launches(None, None)
    found = list[WatchedKernel]()
    for op in kernels_in(module):
        given = usual.get(name_of(op))
        meanings = {}
        for one in op.walk():
            meaning = describe(one)
            if meaning is not None:
                for part in meaning.all:
                    part.site = tag(one)
                if not _in_registers(meaning):
                    meanings[one] = meaning
        settle(meanings)
        accumulators.find(op, meanings)
        loads.find(op, meanings)
        for one, meaning in meanings.items():
            meaning.site = meaning.site or tag(one)
        found.append(
            WatchedKernel(
                name_of(op), op, launch_of(op, given), given, (types or {}).get(name_of(op), []), meanings,
                launches, max(map(len, (types or {}).values()), default=0),
            )
        )  # fmt: skip
    by_name = {one.name: one for one in found}
    line_up([by_name[name] for name in usual if name in by_name] if hosts.alone else [])
    return found


def line_up(queue: list[WatchedKernel]) -> None:
    """Say which kernels of one function of the host may still run when the next one begins."""
    for before, one in pairwise(queue):
        one.front = [before, *(before.front if before.launch.early else [])]


def _in_registers(meaning: Meaning) -> bool:
    """Whether a plain access is one of registers that still lie in memory."""
    given = meaning.operands if meaning.space == "generic" else ()
    return bool(given) and alloca(given[0]) is not None


def settle(meanings: dict[Operation, Meaning]) -> None:
    """A trial that ends the loop around it is a wait; one whose result nobody uses does nothing."""
    uses: dict[Value, list[tuple[Operation, int]]] | None = None
    for op, meaning in list(meanings.items()):
        if meaning.kind != "mbar_token":
            continue
        if uses is None:
            uses = uses_beside(op)
        if not uses.get(op.results[0]):
            del meanings[op]
        elif _ends_its_loop(op, uses):
            meaning.kind = "mbar_wait"


def _ends_its_loop(op: Operation, uses: dict[Value, list[tuple[Operation, int]]]) -> bool:
    """Whether the result decides on the innermost `scf.while` around the trial, and no loop is nearer."""
    loop = op.outer("scf.while", "scf.for", *KERNELS)
    if loop.name != "scf.while":
        return False
    before = loop.regions[0].blocks[0]
    queue = list(op.results)
    for value in each_once(queue):
        for user, index in uses[value]:
            if user.name == "scf.condition":
                if index == 0 and user.parent_operation is loop:
                    return True
            elif user.name == "scf.yield":
                around = user.parent_operation
                if around is loop and index < len(before.arguments):
                    queue.append(before.arguments[index])
                elif around is not None and around is not loop and index < len(around.results):
                    queue.append(around.results[index])
            elif user.name.startswith("arith."):
                queue += user.results
    return False
