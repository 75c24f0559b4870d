"""`Refs`: what each byte of a register is a copy of, for all threads, as numbers in an array.

A reference is one int64:

    0                  nothing that is followed: a constant, or bytes that were never written
    UNKNOWN            something that is not followed
    2 .. 2^44          byte of a load from shared memory, known once the loads are replayed (`replay`)
    2^44 ..            the address of a byte of global memory (`dsl.lowered.spaces`)
    PAIR | number      an element that was multiplied by another one, or that one was taken from (`pairs`)
    PRODUCT | number   an element of an accumulator of a matrix product
    MASKED             minus infinity: what masks put in the place of an element

with the bit `MIXED` where it was computed from elements of several places, and `JOINED` where an element of
a product was multiplied by that of another one, which must be at the same place. Arithmetic on a value keeps
its reference: a scaled, rounded or exponentiated element is still the element at its coordinates (`joined`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from layoutcheck.dsl.lowered.record import Data
from layoutcheck.dsl.lowered.types import Type
from layoutcheck.dsl.lowered.values import Value

Array = NDArray[np.int64]
Combine: TypeAlias = "Callable[[Array, Array], Array]"  # references of elements that meet -> new ones
UNKNOWN = 1
FIRST = 2
GLOBAL = 1 << 44
PAIR = 1 << 58
PRODUCT = 1 << 59
MIXED = 1 << 60
JOINED = 1 << 61
MASKED = 1 << 62
FLAGS = MIXED | JOINED | MASKED


class Refs(Data):  # pyrefly: ignore[bad-class-definition]
    """The references of a value's bytes: `at` is (threads, bytes), or (1, bytes) where all threads agree."""

    __slots__ = ("at",)
    at: Array

    def __init__(self, at: Array) -> None:
        object.__setattr__(self, "at", at)
        object.__setattr__(self, "number", 0)

    @property
    def size(self) -> int:
        """Bytes."""
        return int(self.at.shape[1])

    def part(self, start: int, size: int) -> Refs:
        """Some of these bytes."""
        return Refs(self.at[:, start : start + size])

    def among(self, mask: Any, other: Value) -> Refs:
        """These bytes in the threads of `mask`, another value's in the rest."""
        chosen = np.asarray(mask).astype(bool).reshape(-1, 1)
        size = max(self.size, other.size if isinstance(other, Refs) else 0)
        return Refs(np.where(chosen, refs_of(self, size), refs_of(other, size)))


def refs_of(value: Value, size: int) -> Array:
    """The references of a value of `size` bytes; numbers have none."""
    if isinstance(value, Refs):
        at = value.at
        return at if at.shape[1] == size else _resized(at, size)
    if isinstance(value, tuple) and value and size % len(value) == 0:
        each = size // len(value)
        return beside([refs_of(part, each) for part in value])
    return np.zeros((1, size), np.int64)


def _resized(at: Array, size: int) -> Array:
    if at.shape[1] > size:
        return at[:, :size]
    return np.concatenate([at, np.full((len(at), size - at.shape[1]), UNKNOWN, np.int64)], 1)


def beside(parts: list[Array]) -> Array:
    """Bytes one after the other."""
    if len(parts) == 1:
        return parts[0]
    rows = max(len(part) for part in parts)
    return np.concatenate([np.broadcast_to(part, (rows, part.shape[1])) for part in parts], 1)


def elements(at: Array, kind: Type) -> Array:
    """The reference of the first byte of each element of a value of that type."""
    count = kind.count if kind.kind == "vector" else 1
    return at[:, :: max(1, at.shape[1] // count)][:, :count]


def joined(a: Array, b: Array, *, sums: bool, times: bool = False, combine: Combine | None = None) -> Array:
    """What is computed from both: the one that has a place, MIXED where two places meet.

    An element of a product that meets MIXED ones keeps its place, as one that is scaled by the sum of its
    row; where `sums` says that the operation may be a step of a reduction into `a`, it does not. Of two
    elements of products that are multiplied (`times`) the first keeps its place, JOINED with the other; what
    is multiplied by a masked one, whose exponential is 0, is masked. Of
    two elements of memory `combine`, where given, makes one that has both.
    """
    if a is b or (len(a) == 1 and not a.any()):
        return b
    if len(b) == 1 and not b.any():
        return a
    a, b = np.broadcast_arrays(a, b)
    found = np.where(a == 0, b, a)
    both = (a != 0) & (b != 0) & (a != b)
    if not both.any():
        return found
    rank_a, rank_b = _rank(a), _rank(b)
    better, clash = np.where(rank_b > rank_a, b, a), rank_a == rank_b
    paired = clash & _of_memory(a) & _of_memory(b) & (combine is not None)
    if combine is not None and paired.any():
        better, clash = better.copy(), clash & ~paired
        better[paired] = combine(a[paired], b[paired])
    if sums:
        masked = (a == MASKED) | (b == MASKED)
        better = np.where(masked, np.where(a == MASKED, b, a), better)
        clash = clash | masked & (better > UNKNOWN) | _place(a) & _place(b)
    elif times:
        met = met_places(a, b) & ~paired
        better, clash = np.where(met, a | JOINED, better), clash & ~met
        better = np.where((a == MASKED) | (b == MASKED), MASKED, better)
    return np.where(both, np.where(clash, better | MIXED, better), found)


def met_places(a: Array, b: Array) -> Any:
    """Where elements of two products meet, or what may be some once loads are replayed."""
    whole = [(one & FLAGS == 0) & ((one & PRODUCT != 0) | (one > UNKNOWN) & (one < GLOBAL)) for one in (a, b)]
    return (a != b) & whole[0] & whole[1]


def _of_memory(at: Array) -> Any:
    """Whether it has a place in memory, or may have one once loads are replayed."""
    return (at > UNKNOWN) & (at < PRODUCT)


def _place(at: Array) -> Any:
    return (at >= PRODUCT) & (at != MASKED)


def _rank(at: Array) -> Array:
    """Elements of products, masked ones, what is mixed of products, bytes of memory, mixed ones, unknown."""
    clean = (at & MIXED) == 0
    product = (at & PRODUCT) != 0
    return np.where(at == MASKED, 7, (at > UNKNOWN) * (2 + 2 * clean + 4 * product))
