"""What a value is while a kernel is evaluated, for all threads of a block at once.

A value is an `int` where it is the same for all threads, an int64 array with one entry a thread where it is
not, a tuple where it has parts, and `Data` where it is bytes that came out of memory. Integers are kept in
two's complement, signed; an `i1` is 0 or 1. Pointers are numbers: `spaces` says which object a number is in.

Beside every value stands its *provenance*: a bit for each thing that had to be assumed to give it a number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from layoutcheck.copies.offsets import IntArray
from layoutcheck.dsl.lowered.record import Data, Number

Value: TypeAlias = Any  # int | IntArray | tuple[Value, ...] | Data
# How much an address is worth, from the best to the worst of what it rests on.
# "input": on what is taken to lie at a place of global memory.
CLASSES = ("input", "static", "arguments", "uniform", "data", "blocked")


@dataclass(slots=True)
class Reasons:
    """What was assumed, each with its bit: (class, sentence)."""

    known: dict[tuple[str, str], int] = field(default_factory=dict)
    taken: frozenset[str] = frozenset()  # sentences that loops and branches are followed by
    _worst: dict[int, str] = field(default_factory=dict, compare=False)  # found before
    _guessed: dict[tuple[int, frozenset[str]], bool] = field(default_factory=dict, compare=False)

    def bit(self, kind: str, sentence: str) -> int:
        """The bit of an assumption of class `kind`."""
        return self.known.setdefault((kind, sentence), 1 << len(self.known))

    def copy(self) -> Reasons:
        """The same, to which nothing is added when a run goes on."""
        return Reasons(dict(self.known), self.taken)

    def restart(self, known: Mapping[tuple[str, str], int]) -> None:
        """Only these."""
        self.known.clear()
        self.known.update(known)
        self._worst.clear()
        self._guessed.clear()

    def read(self, provenance: int) -> list[tuple[str, str]]:
        """The assumptions in `provenance`."""
        return [what for what, bit in self.known.items() if provenance & bit]

    def adopted(self, other: Reasons, provenance: int) -> int:
        """The bits here of what is assumed in another's `provenance`."""
        bits = 0
        for kind, sentence in other.read(provenance):
            bits |= self.bit(kind, sentence)
        return bits

    def guessed(self, provenance: int) -> bool:
        """Whether it rests on what only a run knows, other than what is taken for it."""
        asked = provenance, self.taken
        found = self._guessed.get(asked)
        if found is None:
            found = self._guessed[asked] = any(
                kind in ("uniform", "data", "blocked") and sentence not in self.taken
                for kind, sentence in self.read(provenance)
            )
        return found

    def worst(self, provenance: int) -> str:
        """The class of the worst of them; "static" where there are none."""
        found = self._worst.get(provenance)
        if found is None:
            kinds = ("static", *(kind for kind, _ in self.read(provenance)))
            self._worst[provenance] = found = max(kinds, key=CLASSES.index)
        return found


def number(value: Value) -> Number:
    """The value as a number; 0 for what has none."""
    if value.__class__ is int or isinstance(value, np.ndarray):
        return value
    if isinstance(value, Data):
        return value.number
    if isinstance(value, tuple) and len(value) == 1:
        return number(value[0])
    return 0


def for_all(value: Number, threads: int) -> IntArray:
    """One number for each thread; not to be written to."""
    row = np.asarray(value, np.int64)
    return row if row.shape == (threads,) else np.broadcast_to(row, (threads,))


def wrap(value: Number, bits: int) -> Number:
    """The value in two's complement of `bits` bits, signed; of one bit, 0 or 1."""
    if bits == 1:
        return value & 1
    half = 1 << (bits - 1)
    if isinstance(value, int):
        return value if -half <= value < half else ((value + half) & (2 * half - 1)) - half
    if bits >= 64:
        return value
    if bits == 32:  # most are, and NumPy cuts them in half the time
        return value.astype(np.int32).astype(np.int64)
    return ((value + half) & (2 * half - 1)) - half


def unsigned(value: Number, bits: int) -> Number:
    """The value's bits as an unsigned number; arrays of 64 bits become uint64."""
    if isinstance(value, int):
        return value & ((1 << bits) - 1)
    if bits >= 64:
        words: Any = value.view(np.uint64)
        return words
    return value & ((1 << bits) - 1)


def select(mask: Value, yes: Value, no: Value) -> Value:
    """`yes` where `mask` is true, per thread; of what is no number, the one that came out of memory."""
    if isinstance(yes, tuple) and isinstance(no, tuple) and len(yes) == len(no):
        return tuple(select(mask, a, b) for a, b in zip(yes, no, strict=True))
    if yes is no:
        return yes
    if isinstance(yes, Data):
        return yes.among(mask, no)
    if isinstance(yes, tuple) and not isinstance(no, Data):
        return yes
    if isinstance(no, Data):
        return no.among(1 - mask if isinstance(mask, int) else ~mask.astype(bool), yes)
    if isinstance(no, tuple):
        return no
    if isinstance(mask, int):
        return yes if mask & 1 else no
    if isinstance(yes, int) and isinstance(no, int) and yes == no:
        return yes
    return np.where(mask, yes, no)


def flat(value: Value) -> Iterator[Number]:
    """The numbers in a value."""
    if isinstance(value, tuple):
        for part in value:
            yield from flat(part)
    else:
        yield number(value)
