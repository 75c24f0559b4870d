"""Swizzles: XOR a run of higher bits of an offset onto lower ones.

`S<b,m,s>` leaves the low `m` bits alone and XORs bits [m+s, m+s+b) onto bits [m, m+b):

    S<3,4,3>(x) = x ^ ((x >> 3) & 0b1110000)

The unit of `x` is whatever it is composed with: elements in a composed layout (`S<3,4,3> o 0 o (8,8):(8,1)`),
bytes on a shared-memory pointer (`!cute.memref<..., S<3,4,3>, ...>`). The same numbers mean different
swizzles in the two places.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from layoutcheck.algebra.basis import Basis
from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.inttuple import Unlike, as_tree, index_of, must_be
from layoutcheck.algebra.layout import Layout, text
from layoutcheck.display import Drawable
from layoutcheck.errors import InputError

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Swizzle:
    """`S<bits,base,shift>`: `bits` bits of an offset, from base+shift on, XORed onto those from base on.

    Call it with an int or an integer numpy array. The unit is the caller's: elements in a composed layout,
    bytes on a pointer. Raises InputError unless bits, base >= 0 and |shift| >= bits; `shift` may be negative.
    """

    bits: int
    base: int
    shift: int

    def __post_init__(self) -> None:
        for name in ("bits", "base", "shift"):
            if type(getattr(self, name)) is not int:
                object.__setattr__(self, name, index_of(name, getattr(self, name)))
        if self.bits < 0 or self.base < 0:
            raise InputError(f"S<{self.bits},{self.base},{self.shift}>: bits and base are not negative")
        if abs(self.shift) < self.bits:
            raise InputError(
                f"S<{self.bits},{self.base},{self.shift}> overlaps itself", expected="|shift| >= bits"
            )
        if self.base + self.bits + abs(self.shift) > 60:
            raise InputError(f"S<{self.bits},{self.base},{self.shift}> reaches past bit 60")

    def __str__(self) -> str:
        return f"S<{self.bits},{self.base},{self.shift}>"

    __repr__ = __str__

    def __call__(self, x: _T) -> _T:
        """The swizzled offset; `x` is an int or an integer numpy array."""
        value: Any = x
        low = ((1 << self.bits) - 1) << (self.base + max(0, -self.shift))
        high = low << self.shift if self.shift >= 0 else low >> -self.shift
        if self.shift >= 0:
            result: _T = value ^ ((value & high) >> self.shift)
        else:
            result = value ^ ((value & high) << -self.shift)
        return result

    @property
    def granule(self) -> int:
        """Offsets within aligned runs of this many units stay adjacent: 2^base (everything, if bits = 0)."""
        return 1 << self.base

    @property
    def period(self) -> int:
        """The pattern repeats every this many units."""
        return 1 << (self.base + self.bits + abs(self.shift))


@dataclass(frozen=True, slots=True)
class ComposedLayout(Drawable):
    """`inner o offset o outer`: call it for `inner(offset + outer(coord))`, in elements.

    `inner` is a Swizzle or a Layout, `offset` an int.
    """

    inner: Swizzle | Layout
    offset: Any
    outer: Layout

    def __post_init__(self) -> None:
        must_be((Swizzle, Layout), "a Swizzle or a Layout", inner=self.inner)
        must_be(Layout, "a Layout", outer=self.outer)
        if type(self.offset) is not int:
            try:
                object.__setattr__(self, "offset", as_tree(self.offset, (Dynamic, Basis)))
            except Unlike as other:
                raise InputError(f"'offset' is {other}", expected="an int or a tuple of ints") from None

    def __str__(self) -> str:
        return f"{self.inner} o {text(self.offset)} o {self.outer}"

    def __repr__(self) -> str:
        return f"ComposedLayout('{self}')"

    def __call__(self, *coord: Any) -> Any:
        """The offset of a coordinate; the outer layout and the offset must be static."""
        at = self.outer(*coord)
        return self.inner(at + self.offset)

    @property
    def shape(self) -> Any:
        """The shape of the domain: the outer layout's."""
        return self.outer.shape
