"""`Tracker`: the references that registers of a block hold, while it is evaluated.

What reads or writes memory, and every product, is kept as a `Deed` beside the event of `order.watched` that
was written down just before.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from layoutcheck.dsl.lowered import spaces
from layoutcheck.dsl.lowered.machine import Machine, Step
from layoutcheck.dsl.lowered.record import Number
from layoutcheck.dsl.lowered.types import Type
from layoutcheck.order.meaning import Meaning
from layoutcheck.order.watched import Watched
from layoutcheck.provenance.deeds import Deed
from layoutcheck.provenance.refs import FIRST, PRODUCT, Array, Refs
from layoutcheck.sources.mlir import Operation
from layoutcheck.sources.mlir import Value as SsaValue

FLOAT = re.compile(r"(?:^|[<x(, ])(?:b?f|tf)[0-9]+")
KIND = re.compile(r"<(?:\w+\s+)?(\w+)>")  # of an attribute: its last word
_MOST_REFS = 1 << 26  # of one block: half a gigabyte
_WORST = ("data", "blocked")
_MOST_COMBINED = 1 << 20  # elements of products that are kept with those of memory which come to them


class TooMuch(Exception):
    """A kernel has more data than is followed."""


class Tracker:
    """Values on `addresses` are numbers, by the evaluator's own steps (`inner`); others are references."""

    def __init__(
        self, machine: Machine, slots: dict[SsaValue, int], inner: Callable[[Operation], Step],
        addresses: set[SsaValue], meanings: dict[Operation, Meaning],
    ) -> None:  # fmt: skip
        self.meanings = meanings
        self.machine, self.slots, self.inner = machine, slots, inner
        self.addresses, self.threads = addresses, machine.launch.threads
        self.unsaid = machine.reasons.bit("data", "values that are followed as elements, not as numbers")
        self.every = False  # whether elements that meet are both kept, in sums too
        self.restart(Watched(machine.launch))

    def restart(self, watched: Watched) -> None:
        """As it was made, beside the events of another run of the same steps."""
        self.events = watched.events
        self.arrays: dict[int, Array] = {}
        self.deeds: dict[int, Deed] = {}
        self.met: list[Array] = []
        self.beside: list[Array] = []
        self.combined_most = _MOST_COMBINED
        self.pairs: list[Array] = []
        self.taken: list[Array] = []
        self.next = FIRST
        self.touched: set[int] = set()
        self.rests = 0

    def numeric(self, value: SsaValue) -> bool:
        """Whether a value is followed as a number: an address rests on it, and it is an integer."""
        return value in self.addresses and FLOAT.search(value.type) is None

    def note(self, kind: str, op: Operation, at: Number = 0, **more: Any) -> None:
        """Keep a deed of the threads that run beside the event that was written down just before."""
        mask = self.machine.mask
        if (mask is None or mask.any()) and self.machine.reached and self.events:
            self.deeds[len(self.events) - 1] = Deed(kind, op, mask, at, **more)
        if self.next > _MOST_REFS:
            raise TooMuch

    def unknown_why(self, *slots: int, guarded: bool = True) -> str:
        """Why numbers, and if the operation is executed, cannot be relied on; "" where they can."""
        bits = self.machine.rests_of(slots) | (self.machine.guard if guarded else 0)
        if bits and self.machine.reasons.worst(bits) in _WORST:
            return "addresses, or conditions, that only a run knows"
        return ""

    def unknown_source(self, *slots: int) -> str:
        """The same of what elements are brought from; keeps what that rests on."""
        self.rests |= self.machine.rests_of(slots) | self.machine.guard
        return self.unknown_why(*slots)

    def fresh(self, width: int) -> tuple[int, Refs]:
        """New references of that many bytes in each thread, and the first of them."""
        base = self.next
        self.next += self.threads * width
        return base, Refs(base + np.arange(self.threads * width, dtype=np.int64).reshape(self.threads, width))

    def combined(self, a: Array, b: Array, *, times: bool) -> Array:
        """New references of elements that two others met in; `times` if they were multiplied."""
        found = self.next + np.arange(len(a), dtype=np.int64)
        self.next += len(a)
        self.pairs.append(np.stack([found, a, b, np.full_like(a, times)]))
        return found

    def _array(self, address: Number) -> tuple[Array, Number]:
        first = int(np.asarray(address).flat[0])
        index = (first - spaces.LOCAL) // spaces.LOCAL_STEP
        known = self.machine.registers.arrays
        if index not in self.arrays:
            self.arrays[index] = np.zeros((self.threads, known[index].size), np.int64)
        return self.arrays[index], address - spaces.LOCAL - index * spaces.LOCAL_STEP

    def _cells(self, offset: Number, width: int, size: int, rows: Any) -> Any:
        """The index of `width` bytes at an offset of each thread of `rows`, in an array of `size` bytes."""
        if isinstance(offset, int) or bool((offset == offset[0]).all()):
            start = int(np.asarray(offset).flat[0])
            return rows, slice(start, start + width)
        columns = np.clip(offset[:, None] + np.arange(width), 0, size - 1)
        return np.arange(self.threads)[rows, None], columns[rows]

    def register_load(self, address: Number, width: int) -> Array:
        """The references in an array of registers."""
        array, offset = self._array(address)
        return array[self._cells(offset, width, array.shape[1], slice(None))].copy()

    def register_store(self, address: Number, at: Array, width: int) -> None:
        """Put references into an array of registers, in the threads that run."""
        array, offset = self._array(address)
        mask = self.machine.mask
        rows: Any = slice(None) if mask is None else np.flatnonzero(mask)
        cells = self._cells(offset, width, array.shape[1], rows)
        array[cells] = np.broadcast_to(at, (self.threads, width))[rows]

    def accumulated(self, before: Array, kind: Type, keeps: Any) -> Array:
        """References of accumulators: those before where they are of a product, else new ones."""
        part = kind.parts[0] if kind.parts else kind
        each = part.parts[0].size_bytes if part.kind == "vector" else part.size_bytes
        count = kind.size_bytes // each
        base = self.next
        self.next += self.threads * count
        new = PRODUCT | (base + np.arange(self.threads * count, dtype=np.int64).reshape(self.threads, count))
        old = before[:, ::each]
        return np.repeat(np.where(((old & PRODUCT) != 0) & keeps[:, None], old, new), each, 1)
