"""Moves of elements, as byte addresses: those asked for (`Intent`) and those that happen (`Execution`).

`src[i, t, k]` and `dst[i, t, k]` are the absolute addresses (see addresses.py) of byte k of move i of thread
t, after the pointer's swizzle. Of a whole tile there is one "thread". Nearly all moves are of adjacent bytes:
`Places` holds where each begins, and makes the address of every byte where one is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from layoutcheck.copies.offsets import IntArray

NOTHING = -1  # the address of an element that has no partner


class Places:
    """One side of all moves: move i of thread t takes `width` adjacent units from `first[i, t]` on.

    Made by `of`, the units of a move may lie anywhere.
    """

    __slots__ = ("_units", "first", "width")

    def __init__(self, first: IntArray, width: int) -> None:
        self.first, self.width = first, width
        self._units: IntArray | None = None

    @classmethod
    def of(cls, units: IntArray) -> Places:
        """From the address of every unit, [move, thread, unit]."""
        made = cls(units[..., 0] if units.size else units.sum(axis=-1), units.shape[-1])
        made._units = units
        return made

    @property
    def units(self) -> IntArray:
        """The address of every unit, [move, thread, unit]; not to be written to."""
        if self._units is None:
            self._units = each_unit(self.first, self.width)
        return self._units

    @property
    def shape(self) -> tuple[int, ...]:
        """Moves, threads, units."""
        return *self.first.shape, self.width

    @property
    def size(self) -> int:
        """Units of all moves."""
        return self.first.size * self.width

    @property
    def nbytes(self) -> int:
        """What is held once every unit's address was asked for."""
        return self.first.itemsize * self.size

    def on_grid(self, grain: int) -> bool:
        """Whether every move is adjacent units from a multiple of `grain`, a power of two."""
        # count_nonzero, where any() would do: of a thread's few addresses it takes a sixth of the time
        if np.count_nonzero(self.first & (grain - 1)):
            return False
        apart = None if self._units is None else self._units[..., -1] - self.first != self.width - 1
        return apart is None or not np.count_nonzero(apart)

    def every(self, grain: int) -> IntArray:
        """The address of every `grain`-th unit, [move, thread, unit]."""
        if self._units is not None:
            return self._units[..., ::grain]
        return each_unit(self.first, -(-self.width // grain), grain)


def each_unit(first: IntArray, count: int, step: int = 1) -> IntArray:
    """`count` addresses `step` apart from each one on: [..., unit]. Few are the faster written one by one."""
    if count == 1:
        return first[..., None]
    if count > 8:
        return first[..., None] + np.arange(0, count * step, step, dtype=np.int64)
    out = np.empty((*first.shape, count), dtype=np.int64)
    for unit in range(count):
        np.add(first, unit * step, out=out[..., unit])
    return out


@dataclass(frozen=True)
class Moves:
    """What goes where: the contents of `src[i, t]` to `dst[i, t]`. A unit of addresses has `unit_bits`."""

    source: Places
    target: Places
    unit_bits: int

    @property
    def src(self) -> IntArray:
        """Where each unit comes from, [move, thread, unit]."""
        return self.source.units

    @property
    def dst(self) -> IntArray:
        """Where each unit goes, [move, thread, unit]."""
        return self.target.units


@dataclass(frozen=True)
class Intent(Moves):
    """The element moves that were asked for.

    `pred[i]` is the offset, in elements of the predicate, that decides element i. `unmatched` counts
    elements, of one thread, that one side has and the other has not. With `zeros` a source of NOTHING asks
    for a zero (outside of a TMA copy's global tensor).
    """

    pred: IntArray | None = None
    unmatched: int = 0
    whole: bool = False
    zeros: bool = False


class Access(NamedTuple):
    """Memory instructions of one kind: `addresses[i, t]` is the byte address of the i-th of thread t.

    `op` is the PTX instruction without its type ("ld.global", "cp.async", "ldmatrix.x4"). Each access takes
    `width_bytes` from its address, a multiple of `multiple_bytes`. Where one side's accesses are wider than
    the other's, moves are as wide as the narrower and one wide access takes part in several.
    """

    op: str
    space: str
    width_bytes: int
    addresses: IntArray
    align_bytes: int = 0  # 0: its own width

    @property
    def multiple_bytes(self) -> int:
        """What each address must be a multiple of."""
        return self.align_bytes or self.width_bytes


@dataclass(frozen=True)
class Execution(Moves):
    """The moves that happen: move i of thread t is what its instruction i does.

    NOTHING as a source is a zero. Registers have moves but no accesses. `pred[i]` is the offset of the
    predicate element that guards instruction i; where it is false nothing happens, except that `cp.async`
    (`zero_fills`) writes zeros. `never` says that the predicate was folded to false. `fault` names the
    fault that an instruction raises for what it is asked, whatever its addresses. A pointer's swizzle acts on
    the first of every `chunk_bytes` of an operand; 0 where it acts on nothing, or that is not known.
    """

    src_accesses: tuple[Access, ...] = ()
    dst_accesses: tuple[Access, ...] = ()
    pred: IntArray | None = None
    zero_fills: bool = False
    never: bool = False
    fault: str = ""
    chunk_bytes: int = 0

    @property
    def issued(self) -> tuple[Access, ...]:
        """The accesses that are instructions of their own: a cp.async is one with two addresses."""
        src = self.src_accesses
        return src if src and src[0].op.startswith("cp.async") else (*src, *self.dst_accesses)

    @property
    def instructions(self) -> int:
        """Memory instructions of a thread, both sides, as the model counts them."""
        return sum(access.addresses.shape[0] for access in self.issued)
