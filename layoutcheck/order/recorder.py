"""Steps that write the events of a kernel down, in program order, as the evaluator runs it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial

import numpy as np

from layoutcheck.dsl.lowered.flow import Flow
from layoutcheck.dsl.lowered.machine import Machine, Step
from layoutcheck.dsl.lowered.needed import NUMBER
from layoutcheck.dsl.lowered.values import Reasons, for_all, number
from layoutcheck.order.contents import Contents, given, stored, words_of
from layoutcheck.order.meaning import Meaning
from layoutcheck.order.watched import Event, Watched
from layoutcheck.sources.mlir import Operation

MOST_EVENTS = 150_000  # of one block; a kernel that does more is judged by its beginning
MOST_TILES = 4  # turns of a loop over tiles, which asks a scheduler for the next one
HANDED_OUT = "the hardware hands out"
_DATA = ("data", "blocked")
_COUNTING = ("mbar_init", "mbar_arrive", "barrier", "barrier_arrive")  # arrivals, or threads that arrive


class TooManyEvents(Exception):
    """A block does more than is followed."""


class Full(Exception):
    """No more is written down: what follows need not be evaluated."""


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
        self, out: Watched, tiles: int, contents: Contents | None = None, whole: bool = False,
        both: bool = False,
    ) -> None:  # fmt: skip
        """What the steps write down, and for which run."""
        self.out, self.most, self.contents, self.whole, self.both = out, tiles, contents, whole, both
        self.receivers: dict[Operation, Callable[[Event], None]] = {}
        self.asked = np.zeros(out.launch.threads, np.int64)  # each thread, for the next tile
        if self.hands_out:
            self.reasons.bit("uniform", f"{HANDED_OUT} {tiles} tiles to a block")

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
        copied = _whither(meaning, slots, guard)
        left = None if meaning.op is None or meaning.kind != "read" else self.left(meaning.op)
        parts: dict[int, Meaning] = {}  # by their bytes
        parity = slots[1] if meaning.kind in ("mbar_wait", "mbar_token") and len(slots) > 1 else None
        counting = meaning.kind in _COUNTING and meaning.facts.get("form") != "tx"
        counts = slots[meaning.kind.startswith("mbar") :] if counting else []

        def write() -> Event | None:
            mask = machine.mask
            if guard is not None:
                taken = for_all(number(machine.values[guard]), machine.launch.threads) != 0
                mask = taken if mask is None else mask & taken
            events = self.out.events
            if mask is not None and not np.count_nonzero(mask):
                return None
            if len(events) >= MOST_EVENTS:
                raise TooManyEvents if self.whole else Full
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
                self.doubt(trust), self.doubt(machine.guard), len(events), trust | machine.guard, trust,
            )  # fmt: skip
            if parity is not None and self.loaded(machine.provenance[parity]):
                event.guess = self.out.guessed = True
            event.guess |= any(self.reasons.worst(machine.provenance[slot]) != "static" for slot in counts)
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

    def _behind(self, slots: list[int]) -> int:
        """What numbers and the branches around them rest on."""
        trust = self.machine.guard
        for slot in slots:
            trust |= self.machine.provenance[slot]
        return trust

    def loaded(self, trust: int) -> bool:
        """Whether a number rests on what shared memory holds, which is not known."""
        found = [sentence for kind, sentence in self.reasons.read(trust) if kind in ("uniform", "data")]
        return any(sentence.endswith("shared memory") for sentence in found)

    def doubt(self, trust: int) -> bool:
        """Whether a single thread's own loaded value is behind it."""
        return trust != 0 and self.reasons.worst(trust) in _DATA

    def either(self, trust: int) -> bool:
        """Whether both arms of a branch by such a condition are run."""
        return self.doubt(trust) or (self.both and self.reasons.guessed(trust))


def _whither(meaning: Meaning, slots: list[int], guard: int | None) -> list[int]:
    """The operands of a copy that say where it goes, and whether, if what it reads may be unknown."""
    if meaning.kind == "cp_async":
        return [slots[0], *([] if guard is None else [guard])]
    bulk = meaning.kind == "bulk_load" and not meaning.facts.get("tensor") and guard is None
    return slots[:-1] if bulk else []
