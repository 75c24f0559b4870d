"""The events of a kernel: what orders or reaches memory, with its numbers for all threads of a block.

    for kernel in kernels(lowered_text, types):
        kernel.watch((0, 0, 0)).events

The evaluator of lowered modules runs the kernel for all threads of a block at once, each loop to its end,
and what `meaning.describe` knows is written down in program order: which threads take part, and what their
operands are. What a thread loads is not known; a branch or a loop that depends on it is followed as if it
were 0, and says so in `Event.guarded`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from functools import partial
from math import prod
from typing import Any

import numpy as np

from layoutcheck.copies.cluster import MOST_BLOCKS
from layoutcheck.dsl.lowered.arguments import Extent
from layoutcheck.dsl.lowered.evaluate import (
    KERNELS,
    Hosts,
    Launched,
    enter,
    launch_of,
    name_of,
    parse_once,
    prepare,
    tag,
)
from layoutcheck.dsl.lowered.flow import Flow, Maker
from layoutcheck.dsl.lowered.machine import Launch, Machine, Step
from layoutcheck.dsl.lowered.needed import NUMBER, terminator
from layoutcheck.dsl.lowered.values import Reasons, number
from layoutcheck.order import accumulators, loads
from layoutcheck.order.budget import Budget
from layoutcheck.order.contents import INPUT, Contents, given, stored, words_of
from layoutcheck.order.meaning import Meaning, describe
from layoutcheck.order.tensor_maps import tensor_maps
from layoutcheck.order.tokens import settle
from layoutcheck.order.watched import Event, Watched, for_all
from layoutcheck.sources.mlir import Operation

MOST_EVENTS = 150_000  # of one block; a kernel that does more is judged by its beginning
MOST_TILES = 4  # turns of a loop over tiles, which asks a scheduler for the next one
HANDED_OUT = "the hardware hands out"
_DATA = ("data", "blocked")


class TooManyEvents(Exception):
    """A block does more than is followed."""


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
        found: dict[Operation, None] = {}
        for op in self.meanings:
            around = op.parent_operation
            while around is not None and around.name not in KERNELS:
                if around.name == "scf.while":
                    found[around] = None
                around = around.parent_operation
        return list(found)

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
        self.flow.consecutive = True
        self.recorder = Recorder(self.machine, self.flow, kernel.meanings, Watched(launch), sites=sites)
        self.flow.translate, self.flow.either = self.recorder.step, self.recorder.doubt
        self.flow.control = {name: self._noticed(maker) for name, maker in self.flow.control.items()}
        self.steps = self.flow.steps(kernel.operation.regions[0].blocks[0], fast=False)
        self.known = dict(self.machine.reasons.known)
        self.tiles = kernel.tiles()
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
        flow.tick, flow.most_turns = budget.check, dict.fromkeys(self.tiles, tiles)
        flow.most_guessed = dict.fromkeys(self.schedulers, guessed)
        self.recorder.restart(watched, tiles, contents, kernel.whole)
        enter(kernel.operation, machine, flow, kernel.given, kernel.types)
        with np.errstate(all="ignore"):
            flow.run(self.steps)
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
            values = op.operands[: 3 if op.name == "scf.for" else 1]
            if op.name == "scf.while":
                values = terminator(op.regions[0].blocks[0]).operands[:1]
            slots, machine, recorder = flow.slots_of(values), flow.machine, self.recorder

            def run() -> None:
                step()
                bits = 0
                for slot in slots:
                    bits |= machine.provenance[slot]
                if bits and machine.reasons.guessed(bits):
                    recorder.out.guessed = True

            return run

        return make


def kernels(lowered: str, types: dict[str, list[str]] | None = None) -> list[WatchedKernel]:
    """The kernels of a lowered module. Raises InputError where the text is no module."""
    module = parse_once(lowered)
    launches = Hosts(module, types or {}).launches
    usual = launches(None, None)
    found = []
    for op in module.walk():
        if op.name not in KERNELS or not op.regions or not op.regions[0].blocks:
            continue
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
    return found


class Recorder:
    """Makes steps that write down an event and then do what the evaluator does."""

    def __init__(
        self, machine: Machine, run: Flow, meanings: dict[Operation, Meaning], out: Watched,
        tiles: int = MOST_TILES, sites: Collection[Operation] | None = None,
    ) -> None:  # fmt: skip
        """`sites`: those of the contents that `restart` is given; None where it is given none."""
        self.machine, self.slots, self.meanings, self.sites = machine, run.slots, meanings, sites
        self.levels = run.full.levels
        self.inner: Callable[[Operation], Step] = run.translate
        self.left = run.left
        self.reasons: Reasons = machine.reasons
        self.hands_out = False  # an operation asks for the next tile
        self.restart(out, tiles)

    def restart(
        self, out: Watched, tiles: int, contents: Contents | None = None, whole: bool = False
    ) -> None:
        """What the steps write down, and for which run."""
        self.out, self.most, self.contents, self.whole = out, tiles, contents, whole
        self.receivers: dict[Operation, Callable[[Event], None]] = {}
        self.asked = np.zeros(out.launch.threads, np.int64)  # each thread, for the next tile
        if self.hands_out:
            self._say_tiles()

    def step(self, op: Operation) -> Step:
        """The step of an operation."""
        meaning = self.meanings.get(op)
        if op.name == "nvvm.clusterlaunchcontrol.query.cancel":
            return self._tile(op)
        inner = self.inner(op)
        if meaning is None:
            return inner
        machine, tried = self.machine, meaning.kind == "mbar_token"
        results = [self.slots[value] for value in op.results]
        deciding = op.name == "llvm.load" and self.levels.get(op.results[0]) == NUMBER
        after = self._after(op, meaning, deciding)
        write, *others = (self._writer(one) for one in meaning.all)

        def run() -> None:
            event = write()
            for other in others:
                other()
            if event is not None and deciding:
                self.out.deciding.append(event)
            inner()
            if event is not None and after is not None:
                after(event)
            if tried:
                for slot in results:
                    machine.values[slot], machine.provenance[slot] = self.out.token, 0

        return run

    def _writer(self, meaning: Meaning) -> Callable[[], Event | None]:
        """Writes one event down, unless no thread takes part."""
        machine = self.machine
        slots = [self.slots[value] for value in meaning.operands]
        box = [self.slots[value] for value in meaning.box]
        guard = slots[meaning.guard] if meaning.guard >= 0 else None
        given, sums = slots[: meaning.guard] if guard is not None else slots, meaning.sums
        copied = [slots[0], *([] if guard is None else [guard])] if meaning.kind == "cp_async" else []
        left = None if meaning.op is None or meaning.kind != "read" else self.left(meaning.op)
        parts: dict[int, Meaning] = {}  # by their bytes
        parity = slots[1] if meaning.kind in ("mbar_wait", "mbar_token") and len(slots) > 1 else None

        def write() -> Event | None:
            mask = machine.mask
            if guard is not None:
                taken = for_all(number(machine.values[guard]), machine.launch.threads) != 0
                mask = taken if mask is None else mask & taken
            if mask is not None and not mask.any():
                return None
            events = self.out.events
            if len(events) >= MOST_EVENTS:
                if self.whole:
                    raise TooManyEvents
                machine.notes.add(f"the kernel's events were cut short after {MOST_EVENTS}")
                return None
            trust = 0
            for slot in slots:
                trust |= machine.provenance[slot]
            values = tuple(number(machine.values[slot]) for slot in given)
            what = meaning
            if left is not None:
                first, end = left()
                what = parts.setdefault(end - first, replace(meaning, size=end - first))
                values = (values[0] + first, *values[1:])
            event = Event(
                what, tuple(one.of(values) for one in sums) if sums else values, mask, machine.iterations,
                self.doubt(trust), self.doubt(machine.guard), len(events), trust | machine.guard,
            )  # fmt: skip
            if parity is not None and self._loaded(machine.provenance[parity]):
                event.guess = self.out.guessed = True
            event.gathers = event.doubt and bool(copied) and not self.doubt(self._behind(copied))
            if box and not self.reasons.guessed(self._behind(box)):
                event.box = tuple(number(machine.values[slot]) for slot in box)
            events.append(event)
            return event

        return write

    def _after(self, op: Operation, meaning: Meaning, deciding: bool) -> Callable[[Event], None] | None:
        """What a run with given contents does behind an access."""
        machine = self.machine
        if self.sites is None:
            return None
        if deciding:
            if meaning.space == "gmem":
                return given(op, machine, self.slots[op.results[0]])
            return partial(self._receive, op)
        if op not in self.sites:
            return None
        values = stored(op, meaning)
        slots, kinds = [self.slots[value] for value in values], [value.type for value in values]

        def keep(event: Event) -> None:
            trust = self._behind(slots)
            event.based = frozenset(machine.reasons.read(trust))
            event.words = words_of(meaning.size)
            if machine.reasons.worst(trust) not in _DATA:
                event.words = words_of(meaning.size, [machine.values[slot] for slot in slots], kinds)
            assert self.contents is not None
            self.contents.keep(event, machine.launch.threads)

        return keep

    def _receive(self, op: Operation, event: Event) -> None:
        """What a load from shared memory brings, in its turn."""
        assert self.contents is not None
        if op not in self.receivers:
            self.receivers[op] = self.contents.receiver(op, self.machine, self.slots[op.results[0]])
        self.receivers[op](event)

    def _tile(self, op: Operation) -> Step:
        """The hardware hands out tiles until a block has had its number, and then none.

        Every thread reads each response once, in their order, at one place or at several: warp groups that
        take turns read two in a turn of their loop. Which tile it is decides on no synchronisation: it is
        the block's own again.
        """
        machine, (out,) = self.machine, [self.slots[value] for value in op.results]
        more = "is_canceled" in op.attributes.get("query_type", "")
        axis = "xyz".find(op.attributes.get("query_type", "").rstrip(">")[-1:])
        self.hands_out = True

        def run() -> None:
            machine.provenance[out] = 0
            if not more:
                machine.values[out] = machine.launch.index[max(axis, 0)]
                return
            asking = slice(None) if machine.mask is None else machine.mask
            told = (self.asked < self.most - 1).astype(np.int64)
            self.asked[asking] += 1
            alike = np.unique(told[asking])
            machine.values[out] = int(alike[0]) if alike.size == 1 else told

        return run

    def _say_tiles(self) -> None:
        self.reasons.bit("uniform", f"{HANDED_OUT} {self.most} tiles to a block")

    def _behind(self, slots: list[int]) -> int:
        """What numbers and the branches around them rest on."""
        trust = self.machine.guard
        for slot in slots:
            trust |= self.machine.provenance[slot]
        return trust

    def _loaded(self, trust: int) -> bool:
        """Whether a number rests on what shared memory holds, which is not known."""
        found = [sentence for kind, sentence in self.reasons.read(trust) if kind in ("uniform", "data")]
        return any(sentence.endswith("shared memory") for sentence in found)

    def doubt(self, trust: int) -> bool:
        """Whether a single thread's own loaded value is behind it."""
        return trust != 0 and self.reasons.worst(trust) in _DATA


def _in_registers(meaning: Meaning) -> bool:
    """Whether a plain access is one of registers that still lie in memory."""
    if meaning.space != "generic" or not meaning.operands:
        return False
    made = meaning.operands[0].definition
    while made is not None and made.name in ("llvm.getelementptr", "llvm.bitcast"):
        made = made.operands[0].definition
    return made is not None and made.name == "llvm.alloca"
