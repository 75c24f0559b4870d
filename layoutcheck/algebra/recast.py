"""Recast: the same bits seen as wider or narrower elements.

Upcast by n divides: a mode of stride d >= n keeps its extent and gets stride d / n; a contiguous mode gets
n times fewer elements. What does not divide is rounded up, by the DSL without a word: bf16 (8,8):(63,1) as
f32 is (8,4):(32,1), whose rows are 64 bf16 apart, not 63. `recast_is_exact` tells.
"""

from __future__ import annotations

import math
from typing import Any

from layoutcheck.algebra.basis import Basis
from layoutcheck.algebra.integers import Dynamic, ceil_div, divides, mul
from layoutcheck.algebra.inttuple import AnyLayout, flatten
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.swizzle import ComposedLayout, Swizzle
from layoutcheck.errors import InputError


def recast_layout(new_bits: int, old_bits: int, a: AnyLayout) -> Any:
    """A layout of elements of `old_bits` as one of elements of `new_bits`, rounded up where it is not exact.

    Raises InputError for widths that are not positive, and for basis strides.

    >>> print(recast_layout(32, 16, Layout((8, 8), (64, 1))))
    (8,4):(32,1)
    """
    up, down = _ratio(new_bits, old_bits)
    return downcast(upcast(a, up), down)


def recast_is_exact(new_bits: int, old_bits: int, a: Layout) -> bool | None:
    """Whether the recast layout covers exactly the bits that `a` covers; None where run-time values decide.

    >>> recast_is_exact(32, 16, Layout((8, 8), (63, 1)))
    False
    """
    up, down = _ratio(new_bits, old_bits)
    exact = _upcast_is_exact(a, up)
    return exact if exact is not True else _downcast_is_exact(upcast(a, up), down)


def _ratio(new_bits: int, old_bits: int) -> tuple[int, int]:
    if new_bits < 1 or old_bits < 1:
        raise InputError(f"elements have at least 1 bit: cannot recast from {old_bits} to {new_bits}")
    common = math.gcd(new_bits, old_bits)
    return new_bits // common, old_bits // common


def upcast(a: AnyLayout, n: int) -> Any:
    """Elements n times as wide: the same bits as 1/n as many elements, rounded up where that is not exact.

    Raises InputError for n < 1 and for basis strides.

    >>> print(upcast(Layout((8, (4, 4)), (16, (1, 8))), 8))
    (8,(1,4)):(2,(1,1))
    """
    return _cast(a, n, _up) if n != 1 else a


def downcast(a: AnyLayout, n: int) -> Any:
    """Elements n times as narrow: the same bits as n times as many elements.

    Raises InputError for n < 1 and for basis strides.

    >>> print(downcast(Layout((8, 8), (8, 1)), 2))
    (8,16):(16,1)
    """
    return _cast(a, n, _down) if n != 1 else a


def _cast(a: Any, n: int, leaf: Any) -> Any:
    if n < 1:
        raise InputError(f"a layout is recast by a positive factor, not {n}")
    if isinstance(a, ComposedLayout):
        return _cast_composed(a, n, leaf)
    return Layout.trusted(*_cast_tree(a, a.shape, a.stride, n, leaf))


def _cast_tree(a: Layout, shape: Any, stride: Any, n: int, leaf: Any) -> tuple[Any, Any]:
    if type(shape) is tuple:
        parts = [_cast_tree(a, s, d, n, leaf) for s, d in zip(shape, stride, strict=True)]
        return tuple(p[0] for p in parts), tuple(p[1] for p in parts)
    if isinstance(stride, Basis):
        raise InputError(f"cannot recast {a}: its stride {stride} counts coordinates, not elements")
    return leaf(shape, stride, n)


def _up(s: Any, d: Any, n: int) -> tuple[Any, Any]:
    """s:d by n: the stride divided, and the extent by what then is left of n."""
    if isinstance(d, Dynamic):  # taken to be a multiple of n; the DSL forgets its divisor here, and so do we
        return s, Dynamic(1, d.bits)
    if d == 0:
        return s, d
    step = -(-abs(d) // n)
    return ceil_div(s, -(-n // abs(d))), step if d > 0 else -step


def _down(s: Any, d: Any, n: int) -> tuple[Any, Any]:
    """s:d by n: adjacent elements become n times as many, all others n times as far apart."""
    return (mul(s, n), d) if d in (1, -1) else (s, mul(d, n))


def _cast_composed(a: ComposedLayout, n: int, leaf: Any) -> ComposedLayout:
    """A swizzle's base counts elements in powers of two, so n must be one."""
    shift = n.bit_length() - 1
    if not isinstance(a.inner, Swizzle) or n != 1 << shift:
        raise InputError(f"cannot recast {a} by {n}", expected="a swizzle and a power of two")
    if leaf is _down:
        inner, offset = Swizzle(a.inner.bits, a.inner.base + shift, a.inner.shift), mul(a.offset, n)
    else:
        if type(a.offset) is not int or a.offset % n:
            raise InputError(
                f"cannot recast {a} to elements {n} times as wide: its offset {a.offset} is not a multiple"
            )
        base = a.inner.base - shift
        inner = Swizzle(max(0, a.inner.bits + min(base, 0)), max(base, 0), a.inner.shift)
        offset = a.offset // n
    return ComposedLayout(inner, offset, _cast(a.outer, n, leaf))


def _modes(a: Layout) -> list[tuple[Any, Any]]:
    """(stride, extent) of every mode that moves."""
    pairs = zip(flatten(a.stride), flatten(a.shape), strict=True)
    return [(d, s) for d, s in pairs if s != 1 and d != 0]


def _upcast_is_exact(a: Layout, n: int) -> bool | None:
    """Whether the modes below stride n fill whole runs of n, each a whole part, and n divides the others."""
    if n == 1:
        return True
    known: bool | None = True
    run: Any = 1  # modes below n, put in order, must continue one another
    for d, s in sorted((m for m in _modes(a) if type(m[0]) is int), key=lambda m: m[0]):
        if d % n == 0:
            continue
        if type(run) is not int:
            return None
        if d != run or n % d:
            return False
        run = mul(run, s)
    if not divides(n, run):
        if type(run) is int:
            return False
        known = None
    if any(isinstance(d, Dynamic) and not divides(n, d) for d, _ in _modes(a)):
        known = None
    return known


def _downcast_is_exact(a: Layout, n: int) -> bool | None:
    """Whether exactly one mode has stride 1, which takes up the n parts of every element."""
    strides = flatten(a.stride)
    if n == 1 or (strides.count(1) == 1 and -1 not in strides):
        return True
    return None if any(isinstance(d, Dynamic) for d in strides) else False
