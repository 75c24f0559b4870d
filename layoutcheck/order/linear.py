"""What inline PTX does: kinds of operations, with operands that are sums of those that it is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from layoutcheck.dsl.lowered import spaces
from layoutcheck.dsl.lowered.record import Number


class Linear(NamedTuple):
    """What a register holds: operands of the operation, each with its factor, and a constant.

    `rank`: the address in the shared memory of that block of the cluster (`mapa`).
    """

    terms: tuple[tuple[int, int], ...] = ()
    constant: int = 0
    rank: tuple[tuple[int, int], ...] = ()

    def over(self, places: Mapping[int, int]) -> Linear:
        """The same of operands with other numbers."""
        terms, rank = (tuple((places[one], n) for one, n in some) for some in (self.terms, self.rank))
        return Linear(terms, self.constant, rank)

    def of(self, numbers: Sequence[Number]) -> Number:
        """The sum, for the numbers of the operands."""
        found: Number = self.constant
        for one, factor in self.terms:
            found = found + factor * numbers[one]
        for one, _ in self.rank:
            found = spaces.of_rank(found, numbers[one])
        return found

    def plus(self, other: Linear) -> Linear | None:
        """Both together; None where the other is an address of another block."""
        if other.rank:
            return None if self.rank else other.plus(self)
        return Linear(self.terms + other.terms, self.constant + other.constant, self.rank)

    def times(self, other: Linear) -> Linear | None:
        """The product with a constant; None where there is none."""
        if other.terms or other.rank or self.rank:
            return other.times(self) if not self.terms and not self.rank and other.terms else None
        factor = other.constant
        return Linear(tuple((one, n * factor) for one, n in self.terms), self.constant * factor)


def operand(number: int) -> Linear:
    """An operand as it is."""
    return Linear(((number, 1),))


class Inline(NamedTuple):
    """`operands` are its numbers, `size` is in bytes; `guard`: it happens where this operand is not 0."""

    kind: str
    operands: tuple[Linear, ...] = ()
    size: int = 0
    facts: tuple[tuple[str, str], ...] = ()
    guard: int = -1
