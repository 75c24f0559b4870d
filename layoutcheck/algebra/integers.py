"""Integers as CuTe has them: static (a Python `int`) or dynamic (a value known only at run time).

A dynamic integer prints as the DSL prints it (`?`, `?{div=8}`, `?{i64 div=4}`) and carries one fact:
a divisor of its value. Arithmetic keeps that fact sound, never stronger than what holds for every
value: `div(a + b) = gcd`, `div(a * b) = product`, and a quotient keeps a divisor only where it is exact.

A `Dynamic` has no identity: two `?` may or may not be the same value, and nothing here assumes either.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

from layoutcheck.errors import InputError


@dataclass(frozen=True, slots=True)
class Dynamic:
    """A run-time integer of `bits` bits (32 or 64), always a multiple of `divisor` (>= 1): `?{i64 div=8}`."""

    divisor: int = 1
    bits: int = 32

    def __post_init__(self) -> None:
        if type(self.divisor) is not int or type(self.bits) is not int:
            kinds = f"{type(self.divisor).__name__} and {type(self.bits).__name__}"
            raise InputError(f"a dynamic integer's divisor and bits are ints, not {kinds}")
        if self.divisor < 1:
            raise InputError(f"a dynamic integer's divisor is at least 1, not {self.divisor}")
        if self.bits not in (32, 64):
            raise InputError(f"a dynamic integer has 32 or 64 bits, not {self.bits}")

    def __str__(self) -> str:
        facts = ["i64"] if self.bits == 64 else []
        if self.divisor != 1:
            facts.append(f"div={self.divisor}")
        return f"?{{{' '.join(facts)}}}" if facts else "?"

    __repr__ = __str__


Int: TypeAlias = "int | Dynamic"


def divisor(a: Int) -> int:
    """The largest integer known to divide `a`; 0 for the static zero, which everything divides."""
    return a.divisor if isinstance(a, Dynamic) else abs(a)


def bits(a: Int) -> int:
    """Width of the run-time value: 32 or 64; 32 for static integers."""
    return a.bits if isinstance(a, Dynamic) else 32


def add(a: Int, b: Int) -> Int:
    """a + b; of a dynamic sum, gcd of the divisors."""
    if isinstance(a, Dynamic) or isinstance(b, Dynamic):
        if b == 0:
            return a
        if a == 0:
            return b
        return Dynamic(max(1, math.gcd(divisor(a), divisor(b))), max(bits(a), bits(b)))
    return a + b


def mul(a: Int, b: Int) -> Int:
    """a * b; of a dynamic product, the product of the divisors. Static 0 annihilates."""
    if isinstance(a, Dynamic) or isinstance(b, Dynamic):
        if a == 0 or b == 0:
            return 0
        if a == 1:
            return b
        if b == 1:
            return a
        return Dynamic(divisor(a) * divisor(b), max(bits(a), bits(b)))
    return a * b


def floor_div(a: Int, b: Int) -> Int:
    """a // b; a dynamic quotient keeps the divisor that an exact static division leaves.

    Raises ZeroDivisionError for a static zero `b`.
    """
    if isinstance(a, Dynamic) or isinstance(b, Dynamic):
        if b == 1:
            return a
        if b == 0:
            raise ZeroDivisionError("layout arithmetic divides by a static 0")
        if isinstance(a, Dynamic) and isinstance(b, int) and a.divisor % abs(b) == 0:
            return Dynamic(a.divisor // abs(b), a.bits)
        return 0 if a == 0 else Dynamic(1, max(bits(a), bits(b)))
    return a // b


def ceil_div(a: Int, b: Int) -> Int:
    """ceil(a / b); a dynamic one forgets its divisor, as in the DSL.

    Raises ZeroDivisionError for a static zero `b`.
    """
    if isinstance(a, Dynamic) or isinstance(b, Dynamic):
        if b == 1 or a == 0:
            return a
        if b == 0:
            raise ZeroDivisionError("layout arithmetic divides by a static 0")
        return Dynamic(1, max(bits(a), bits(b)))
    return -(-a // b)


def round_up(value: int, step: int) -> int:
    """The least multiple of `step` that is not below `value`."""
    return -(-value // step) * step


def minimum(a: Int, b: Int) -> Int:
    """min(a, b); of a dynamic minimum, what divides both."""
    if isinstance(a, Dynamic) or isinstance(b, Dynamic):
        if a == 1 or b == 1:  # extents are positive
            return 1
        return Dynamic(max(1, gcd(a, b)), max(bits(a), bits(b)))
    return min(a, b)


def mod(a: Int, b: Int) -> Int:
    """a mod b; static 0 where divisibility proves it."""
    if isinstance(a, Dynamic) or isinstance(b, Dynamic):
        if a == 0 or (isinstance(b, int) and b != 0 and divisor(a) % abs(b) == 0):
            return 0
        return Dynamic(max(1, math.gcd(divisor(a), divisor(b))), max(bits(a), bits(b)))
    return a % b


def gcd(a: Int, b: Int) -> int:
    """The largest integer known to divide both (0 only when both are the static 0)."""
    return math.gcd(divisor(a), divisor(b))


def divides(a: int, b: Int) -> bool:
    """Whether `a` is known to divide `b` for every value that `b` may take."""
    return divisor(b) % a == 0 if a != 0 else b == 0
