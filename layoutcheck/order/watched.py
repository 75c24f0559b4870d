"""What one block does, as the evaluator wrote it down: `Watched`, of `Event`s in program order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from layoutcheck.atoms.tma.descriptor import Descriptor
from layoutcheck.copies.offsets import IntArray
from layoutcheck.dsl.lowered.machine import Launch
from layoutcheck.dsl.lowered.record import Mask, Number
from layoutcheck.dsl.lowered.values import Reasons, for_all
from layoutcheck.order.meaning import Meaning
from layoutcheck.sources.mlir import Operation

if TYPE_CHECKING:
    from layoutcheck.order.crowded import Crowd

BULK_KINDS = ("bulk_load", "bulk_store", "bulk_peer")

# (class, sentence) of what a stored number rests on
Rests = frozenset[tuple[str, str]]


@dataclass(eq=False, slots=True)
class Event:
    """One operation, met once. `values` are its operands' numbers, one for all threads or one for each.

    `mask` are the threads that execute it (None: all), `turns` the numbers of the loop iterations around it.
    `doubt` says that its numbers, `guarded` that whether it happens at all, rests on values that only a run
    knows and that differ from thread to thread.
    """

    meaning: Meaning
    values: tuple[Number, ...]
    mask: Mask | None
    turns: tuple[int, ...]
    doubt: bool
    guarded: bool
    number: int = 0  # in program order, of its block
    rests: int = 0  # what its numbers, and whether it happens, rest on
    own: int = 0  # what its numbers rest on
    words: tuple[Number | None, ...] = ()  # it stores them, or is taken to load them: see `contents`
    based: Rests = frozenset()  # what these words rest on
    guess: bool = False  # the parity that it waits for, or a count of arrivals, is loaded and not known
    gathers: bool = False  # the doubt is only of what a cp.async or bulk load reads, not of where it goes
    box: tuple[Number, ...] = ()  # the tensor map of a TMA copy, and a load's coordinates

    def number_of(self, operand: int, thread: int) -> int:
        """The number of an operand for one thread."""
        value = self.values[operand]
        return value if isinstance(value, int) else int(value[thread])

    def numbers(self, operand: int, threads: int) -> IntArray:
        """The numbers of an operand for all threads of the block."""
        return for_all(self.values[operand], threads)

    @property
    def bulk(self) -> tuple[Number, Number] | None:
        """(bytes, address on the other side) of a bulk copy that has both as operands; None for any other."""
        meaning = self.meaning
        if meaning.kind not in BULK_KINDS or meaning.facts.get("tensor") or meaning.size:
            return None
        return self.values[-2], self.values[-1]


@dataclass(slots=True)
class Watched:
    """What one block does. `complete` is False where its end is unknown; `assumed` are sentences.

    `cut` are loops over tiles of which only the first turns were followed, each with the turns of the loops
    around it.

    `token` is what every trial of an mbarrier was taken to return; `guessed` says that branches were taken,
    or loops run, by values that only a run knows, other than its `contents`; `stored` that shared memory
    holds some of these.
    """

    launch: Launch
    events: list[Event] = field(default_factory=list)
    complete: bool = True
    assumed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    shared_bytes: int = 0
    token: int = 0
    guessed: bool = False
    stored: bool = False
    undecided: set[Operation] = field(default_factory=set)  # the branches and loops that are `guessed`
    cut: frozenset[tuple[Operation, tuple[int, ...]]] = frozenset()
    deciding: list[Event] = field(default_factory=list)  # loads of what branches and addresses rest on
    reasons: Reasons = field(default_factory=Reasons)
    maps: Mapping[int, Descriptor | None] = field(default_factory=dict)  # tensor maps, by address
    crowd: Crowd | None = None  # kept by `crowded`

    def map_of(self, event: Event, thread: int = 0) -> Descriptor | None:
        """The tensor map of a thread's TMA copy; None where it is not known."""
        if not event.box:
            return None
        return self.maps.get(int(for_all(event.box[0], self.launch.threads)[thread]))

    def box_bytes(self, event: Event, thread: int = 0) -> int | None:
        """What a thread's TMA instruction moves, a box or four rows; None where its map is not known."""
        found = self.map_of(event, thread)
        return None if found is None else found.box_bytes * int(event.meaning.facts.get("gathered") or 1)


def lanes_of(event: Event, threads: int) -> np.ndarray[Any, Any]:
    """The event's threads, as an array of booleans."""
    return np.ones(threads, bool) if event.mask is None else event.mask


def first_thread(event: Event, block: Watched) -> int:
    """The first thread of a block that takes part."""
    return int(lanes_of(event, block.launch.threads).argmax())
