"""Registers that live in memory while a module is being lowered: `llvm.alloca`, one a thread.

Stores and loads at an offset that is the same for all threads are followed piece by piece, and loads of
numbers at each thread's own; a store at such an offset, or at an unknown one, makes the whole array unknown.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from layoutcheck.dsl.lowered.record import Data, Number
from layoutcheck.dsl.lowered.spaces import LOCAL, LOCAL_STEP
from layoutcheck.dsl.lowered.values import Value, number, select, unsigned, wrap

_MOST_PLACES = 32  # of one array that threads load from at once; numpy.choose takes as many
_Piece = tuple[int, Value, int]  # size in bytes, value, provenance


@dataclass(slots=True)
class _Array:
    size: int
    pieces: dict[int, _Piece] = field(default_factory=dict)
    spoilt: int = 0  # provenance of a store whose place is not known


class Registers:
    """All the arrays of one kernel. `journal` undoes what a branch not taken has stored."""

    def __init__(self) -> None:
        self.arrays: list[_Array] = []
        self.journal: list[tuple[_Array, dict[int, _Piece], int]] | None = None
        self._saved: set[int] = set()

    def allocate(self, size: int) -> int:
        """The address of a new array."""
        self.arrays.append(_Array(size))
        return LOCAL + (len(self.arrays) - 1) * LOCAL_STEP

    def begin(self) -> None:
        """Start a trial: `rollback` will undo every store from here on."""
        self.journal, self._saved = [], set()

    def rollback(self) -> None:
        """Undo the stores since `begin`."""
        for array, pieces, spoilt in self.journal or []:
            array.pieces, array.spoilt = pieces, spoilt
        self.journal = None

    def find(self, address: int) -> tuple[_Array, int] | None:
        """The array and the offset in it."""
        index, offset = divmod(address - LOCAL, LOCAL_STEP)
        return (self.arrays[index], offset) if 0 <= index < len(self.arrays) else None

    def store(self, address: Number, pieces: list[tuple[int, Value]], provenance: int, mask: Any) -> None:
        """Write (size, value) one after the other; `mask` are the threads that do, None for all."""
        if mask is not None and not mask.any():
            return
        same = _same(address)
        if same is None:
            found = self.find(int(np.asarray(address).flat[0]))
            if found is not None:
                self._touch(found[0])
                found[0].spoilt |= provenance
            return
        found = self.find(same)
        if found is None:
            return
        array, offset = found
        self._touch(array)
        for size, value in pieces:
            old = array.pieces.get(offset)
            if old is None or old[0] != size:
                before = None if mask is None else self.load(same + offset - found[1], size)
                self._clear(array, offset, size)
                old = (size, *before[:2]) if before is not None and before[2] else None
            if mask is not None and old is not None:
                value, kept = select(mask, value, old[1]), old[2]
                array.pieces[offset] = (size, value, provenance | kept)
            else:
                array.pieces[offset] = (size, value, provenance)
            offset += size

    def load(self, address: Number, size: int) -> tuple[Value, int, bool]:
        """(value, provenance, whether known) of `size` bytes, as one number or what was stored there."""
        same = _same(address)
        if same is None:
            return self._by_thread(np.asarray(address), size)
        found = self.find(same)
        if found is None:
            return 0, 0, False
        array, offset = found
        piece = array.pieces.get(offset)
        if piece is not None and piece[0] == size:
            return piece[1], piece[2] | array.spoilt, True
        pieces: list[_Piece] = []
        provenance, at, end = array.spoilt, offset, offset + size
        while at < end:
            piece = self._covering(array, at, end)
            if piece is None:
                return 0, provenance, False
            pieces.append(piece)
            provenance |= piece[2]
            at += piece[0]
        if len(pieces) == 1:
            return pieces[0][1], provenance, True
        if size > 8 or any(isinstance(value, (Data, tuple)) for _, value, _ in pieces):
            return 0, provenance, False
        joined: Value = 0
        for length, value, _ in reversed(pieces):
            joined = (joined << (8 * length)) + unsigned(value, 8 * length)
        return wrap(joined, 8 * size), provenance, True

    def _by_thread(self, address: Any, size: int) -> tuple[Value, int, bool]:
        """The same where each thread has an address of its own, as in a table of the roles of warps."""
        places, which = np.unique(address, return_inverse=True)
        found = [self.load(int(one), size) for one in places[:_MOST_PLACES]]
        provenance = int(np.bitwise_or.reduce([rests for _, rests, _ in found], dtype=object))
        plain = all(known and isinstance(value, (int, np.ndarray)) for value, _, known in found)
        if len(found) < len(places) or not plain:
            return 0, provenance, False
        return np.choose(which, [value for value, _, _ in found]), provenance, True

    def _covering(self, array: _Array, at: int, end: int) -> _Piece | None:
        piece = array.pieces.get(at)
        if piece is not None and at + piece[0] <= end:
            return piece
        for start, (size, value, provenance) in array.pieces.items():
            if start <= at < start + size:
                length = min(start + size, end) - at
                part = _cut(value, size, at - start, length)
                return None if part is None else (length, part, provenance)
        return None

    def _clear(self, array: _Array, offset: int, size: int) -> None:
        """Take away what the bytes held, keeping what a wider piece has on either side."""
        for start, (length, value, provenance) in list(array.pieces.items()):
            if start < offset + size and offset < start + length:
                del array.pieces[start]
                for first, last in ((start, offset), (offset + size, start + length)):
                    part = _cut(value, length, first - start, last - first) if first < last else None
                    if part is not None:
                        array.pieces[first] = (last - first, part, provenance)

    def _touch(self, array: _Array) -> None:
        if self.journal is not None and id(array) not in self._saved:
            self._saved.add(id(array))
            self.journal.append((array, dict(array.pieces), array.spoilt))


def _same(address: Number) -> int | None:
    if isinstance(address, int):
        return address
    first = int(address.flat[0])
    return first if bool((address == first).all()) else None


def _cut(value: Value, size: int, start: int, length: int) -> Value | None:
    """Bytes `[start, start + length)` of a value of `size` bytes, little end first."""
    if isinstance(value, Data):
        return value.part(start, length)
    if isinstance(value, tuple):
        each = size // len(value) if value and size % len(value) == 0 else 0
        if each and start % each == 0 and length % each == 0:
            parts = value[start // each : (start + length) // each]
            return parts[0] if len(parts) == 1 else parts
        return None
    if size > 8:  # one number for a whole vector: all its elements
        return value if number(value) is value and isinstance(value, int) and value == 0 else None
    return wrap(number(value) >> (8 * start), 8 * length)
