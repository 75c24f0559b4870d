"""What memory holds where a kernel's branches and loops rest on it: runs that a real one could be.

    followed(blocks, watch)    # blocks: runs in which loaded values were guessed

The input in global memory is a function of the address, so that all warps load the same: a branch on it is
taken as some run would take it. What warps store to shared memory and load again (a scheduler's tiles) is
known: the n-th load of a word by one operation of one warp is taken to bring the n-th number stored there,
or the last one.
That is an assumption. The replay compares it with what was really stored last (`Words`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from layoutcheck.dsl.lowered import spaces
from layoutcheck.dsl.lowered.machine import Machine
from layoutcheck.dsl.lowered.record import Data
from layoutcheck.dsl.lowered.types import Type, parse_type
from layoutcheck.dsl.lowered.values import Value, flat, number, wrap
from layoutcheck.order.meaning import Meaning
from layoutcheck.order.problems import Party, Problem, lanes_in
from layoutcheck.order.watched import Event, Rests, Watched, lanes_of
from layoutcheck.sources.mlir import Operation
from layoutcheck.sources.mlir import Value as SsaValue

# What is one number for everybody who asks: a branch on it is taken as a run could take it.
INPUT = frozenset(
    (
        "a value that all threads load from global memory",
        "a value that all threads of a warp load from global memory",
        "one of the values that each thread loads from global memory, given to a whole warp",
        "what the lanes of a warp vote on is taken for 0",
        "floating-point arithmetic on what all threads share is taken for 0",
    )
)
_AT_MBARRIERS = ("mbar_wait", "mbar_token", "mbar_arrive", "mbar_expect", "cp_arrive", "tc_commit")
_MOST_SOURCES = 100  # places of the input that are told from one another
_PASSES = 5  # a number that decides what is stored comes one pass later
WORD = 4  # bytes
_EACH = 1024  # what one element of the input is more than the one before


@dataclass(slots=True)
class Contents:
    """`sent` are the numbers stored to each word of shared memory, in order; None for one that is not known.

    `sites` are the stores whose numbers are looked at. `sent` is of the pass before, `now` of this one so
    far: a scheduler's warp loads what it stored a moment ago, and its loop is followed to its end at once.
    """

    sites: frozenset[Operation] = frozenset()
    sent: dict[int, list[tuple[int | None, Rests]]] = field(default_factory=dict)
    now: dict[int, list[tuple[int | None, Rests]]] = field(default_factory=dict, compare=False)

    def keep(self, event: Event, threads: int) -> None:
        """What a store of this pass sends."""
        for place, words in said(event, _threads(event, threads)):
            for i, word in enumerate(words):
                self.now.setdefault(place + WORD * i, []).append((word, event.based))

    def _sent(self, place: int, turn: int) -> tuple[int | None, Rests]:
        """What the load number `turn` of a word brings."""
        now, before = self.now.get(place, []), self.sent.get(place, [])
        longer = now if turn < len(now) or len(now) > len(before) else before
        return longer[min(turn, len(longer) - 1)] if longer else (None, frozenset())

    @staticmethod
    def after(blocks: list[Watched]) -> Contents | None:
        """What the runs of a cluster's blocks say; None where the kernel writes what it goes by."""
        wanted, given = set[int](), set[int]()
        for block in blocks:
            for event in block.deciding:
                (given if event.meaning.space == "gmem" else wanted).update(_places(event, block))
        sites, sent = set[Operation](), defaultdict[int, list[tuple[int | None, Rests]]](list)
        for block in blocks:
            for event in block.events:
                kind, op = event.meaning.kind, event.meaning.op
                if kind not in ("write", "atomic", "st_async") or op is None:
                    continue
                if event.meaning.space == "gmem":
                    if given and not given.isdisjoint(_places(event, block)):
                        return None
                elif wanted and not wanted.isdisjoint(_places(event, block)):
                    sites.add(op)
                    for place, words in said(event, _threads(event, block.launch.threads)):
                        for i, word in enumerate(words):
                            sent[place + WORD * i].append((word, event.based))
        return Contents(frozenset(sites), dict(sent))

    def receiver(self, op: Operation, machine: Machine, out: int) -> Callable[[Event], None]:
        """What a load from shared memory brings: called behind it, with its event."""
        kind, seen = parse_type(op.results[0].type), Counter[tuple[int, int]]()
        count = kind.size_bytes // WORD

        def run(event: Event) -> None:
            if kind.size_bytes % WORD:
                return
            found = np.zeros((count, machine.launch.threads), np.int64)
            rests, once = set[tuple[str, str]](), dict[tuple[int, int], list[int]]()
            threads = _threads(event, machine.launch.threads)
            for thread in threads:
                place = place_of(event.number_of(0, thread))
                key = thread // 32, place
                if key not in once:
                    turn, seen[key] = seen[key], seen[key] + 1
                    words = [self._sent(place + WORD * i, turn) for i in range(count)]
                    once[key] = [number for number, _ in words if number is not None]
                    if len(once[key]) < count:
                        return
                    for _, why in words:
                        rests |= why
                found[:, thread] = once[key]
            event.words = tuple(found)
            machine.values[out] = _joined(kind, found, threads)
            machine.provenance[out] = 0
            for one in rests:
                machine.provenance[out] |= machine.reasons.bit(*one)

        return run


def followed(blocks: list[Watched], watch: Callable[[Contents], list[Watched]]) -> list[Watched] | None:
    """What blocks of a cluster do with all contents given; None where nothing, or still much, is guessed.

    `blocks` are runs without, `watch` makes those with given contents.
    """
    contents: Contents | None = None
    for _ in range(_PASSES):
        if not any(block.guessed for block in blocks):
            return blocks if contents is not None else None
        before, contents = contents, Contents.after(blocks)
        if contents is None or contents == before:
            return None
        blocks = watch(contents)
    return None if any(block.guessed for block in blocks) else blocks


class Words:
    """The replay's own memory: whether a load brings what its run was taken to load."""

    def __init__(self) -> None:
        self.stored: dict[int, int | None] = {}

    def see(self, event: Event, first: int, lanes: int) -> bool:
        """A store, or a load, by lanes of the warp whose first thread is given; whether that agrees."""
        agree, threads = True, [first + lane for lane in lanes_in(lanes)]
        for place, words in said(event, threads):
            for i, word in enumerate(words):
                if event.meaning.kind != "read":
                    self.stored[place + WORD * i] = word
                elif word is None or self.stored.get(place + WORD * i) != word:
                    agree = False
        return agree


def agree(problem: Problem, blocks: list[Watched]) -> bool:
    """Whether both sides of a wait that never ends go by the same input.

    Else input that fits may end it: a producer goes by offsets, and its consumer by lengths.
    """
    sides: dict[object, set[str]] = {}
    for block in blocks:
        for event in block.events:
            if problem.second is not None and _meets(event, problem.second):
                kind, op = event.meaning.kind, event.meaning.op
                side = kind in ("mbar_wait", "mbar_token") if kind in _AT_MBARRIERS else op
                rests = block.reasons.read(event.rests)
                sides.setdefault(side, set()).update(place for kind, place in rests if kind == "input")
    first, *others = sides.values() or [set[str]()]
    return all(other == first for other in others)


def _meets(event: Event, party: Party) -> bool:
    """Whether an event takes part in what a party waits for."""
    kind, waits = event.meaning.kind, party.event.meaning.kind
    if kind not in _AT_MBARRIERS or waits not in _AT_MBARRIERS:
        return kind.partition("_")[0] == waits.partition("_")[0] != "mbar"
    at = party.event.number_of(0, party.thread)
    found = event.numbers(0, event.mask.size)[event.mask] if event.mask is not None else event.values[:1]
    return bool(((np.asarray(found) ^ at) & (spaces.SHARED_BYTES - 1) == 0).any())


def given(op: Operation, machine: Machine, out: int) -> Callable[[Event], None]:
    """What a load from global memory brings: a function of the address alone, which it then rests on, too."""
    kind, reasons = parse_type(op.results[0].type), machine.reasons

    def run(event: Event) -> None:
        value = machine.values[out]
        if kind.kind == "pointer" or kind.size_bytes == 8 or not isinstance(value, Data):
            return  # mostly a pointer: an object of its own
        at = event.values[0]
        told = f"at {at}" if isinstance(at, int) and len(reasons.known) < _MOST_SOURCES else f"of {op.start}"
        machine.provenance[out] |= reasons.bit("input", told)
        _, offset = spaces.in_object("gmem", event.values[0])
        index = offset // max(1, kind.size_bytes)
        machine.values[out] = replace(value, number=_EACH * (1 + index % _EACH))

    return run


def stored(op: Operation, meaning: Meaning) -> list[SsaValue]:
    """The values that a store writes, in order; none of an atomic operation."""
    if op.name == "llvm.store":
        return op.operands[:1]
    others = [value for value in op.operands if all(value is not one for one in meaning.operands)]
    return others if meaning.kind == "st_async" else []


def words_of(size: int, values: Iterable[Value] = (), kinds: Iterable[str] = ()) -> tuple[Any, ...]:
    """The words of `size` bytes of integers of 32 or 64 bits; None for each where they are anything else."""
    unknown, found = (None,) * max(1, size // WORD), list[Any]()
    for value, text in zip(values, kinds, strict=True):
        kind = parse_type(text)
        bits = (kind.parts[0] if kind.kind == "vector" else kind).bits
        if bits not in (8 * WORD, 16 * WORD) or text.startswith("!llvm.ptr"):
            return unknown
        for one in flat(value):
            found += [one] if bits == 8 * WORD else [wrap(number(one), 8 * WORD), number(one) >> 8 * WORD]
    return tuple(found) if len(found) * WORD == size else unknown


def said(event: Event, threads: Iterable[int]) -> Iterator[tuple[int, list[int | None]]]:
    """(place, words) of what these threads store or are taken to load, each place once; unknown is None."""
    found: dict[int, list[int | None]] = {}
    for thread in threads:
        words = [int(word[thread]) if isinstance(word, np.ndarray) else word for word in event.words]
        place = place_of(event.number_of(0, thread))
        if found.setdefault(place, words) != words:
            found[place] = [None] * len(words)
    yield from found.items()


def place_of(address: int) -> int:
    """Rank and offset of an address in shared memory, whatever window it is of."""
    return address & (spaces.GENERIC_SHARED - 1) if address < spaces.GLOBAL_STEP else address


def _places(event: Event, block: Watched) -> Iterator[int]:
    """The words that an event reaches."""
    threads = block.launch.threads
    for one in np.unique(event.numbers(0, threads)[_threads(event, threads)]).tolist():
        yield from range(place_of(one), place_of(one) + max(WORD, event.meaning.size), WORD)


def _threads(event: Event, threads: int) -> list[int]:
    """The threads that execute an event."""
    found: list[int] = np.flatnonzero(lanes_of(event, threads)).tolist()
    return found


def _joined(kind: Type, found: Any, threads: list[int]) -> Value:
    """The loaded value: one number for all threads where it is the same for those that load it."""
    parts = []
    for row in found:
        own = row[threads]
        parts.append(int(own[0]) if bool((own == own[0]).all()) else row)
    if kind.kind == "scalar" and kind.size_bytes == 2 * WORD:
        low, high = parts
        return (low & 0xFFFFFFFF) + (high << 8 * WORD)
    return tuple(parts) if kind.kind == "vector" and kind.count > 1 else parts[0]
