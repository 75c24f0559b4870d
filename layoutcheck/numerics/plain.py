"""f64 and integer instructions, whose arithmetic has no block: predicted, measured by nobody here.

f64: a chain of IEEE fused multiply-adds, k ascending (mmasim 2.1.1 has the same). Integers: products and sums
are exact and kept modulo 2^32, or clamped to s32 where the instruction says `.satfinite`; PTX ISA 9.0, no
other model to compare with.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from layoutcheck.errors import InputError
from layoutcheck.numerics.formats import Floats

INTEGERS = {"s8": (-128, 127), "u8": (0, 255), "s4": (-8, 7), "u4": (0, 15)}
_SPLIT = 2.0**27 + 1
_LEAST, _MOST = 2.0**-400, 2.0**400  # of |a b| and |c|: the error-free steps neither underflow nor overflow


def fma(a: Floats, b: Floats, c: Floats) -> Floats:
    """a b + c rounded once to f64, to nearest even: Boldo and Melquiond's algorithm with rounding to odd.

    Elements whose sizes may leave the safe range are computed in exact fractions.
    """
    with np.errstate(all="ignore"):
        high = a * b
        left, right = _halves(a), _halves(b)
        low = (left[0] * right[0] - high) + left[0] * right[1] + left[1] * right[0] + left[1] * right[1]
        mid, rest = _two_sum(c, low)
        top, part = _two_sum(high, mid)
        result = top + _odd(part, rest)
        sizes = [np.abs(x) for x in (a, b, high, c)]
        safe = np.logical_and.reduce([(x == 0) | ((x > _LEAST) & (x < _MOST)) for x in sizes])
        # A product of zero because it underflowed is not safe either.
        safe &= (high != 0) | (a == 0) | (b == 0)
        result = np.where(safe & (high == 0), a * b + c, result)
        slow = ~safe
        result[slow] = [_slow(*x) for x in zip(a[slow], b[slow], c[slow], strict=True)]
    return result


def _slow(a: float, b: float, c: float) -> float:
    if not np.isfinite([a, b, c]).all():
        return float(np.float64(a) * np.float64(b) + np.float64(c))
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    if exact == 0:
        return float(np.float64(a) * np.float64(b) + np.float64(c)) if not a * b else 0.0
    try:
        return exact.numerator / exact.denominator or (-0.0 if exact < 0 else 0.0)
    except OverflowError:
        return float("inf") if exact > 0 else float("-inf")


def _halves(x: Floats) -> tuple[Floats, Floats]:
    big = _SPLIT * x
    high: Floats = big - (big - x)
    return high, x - high


def _two_sum(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    total = x + y
    back = total - x
    return total, (x - (total - back)) + (y - back)


def _odd(x: Floats, y: Floats) -> Floats:
    """x + y rounded to odd."""
    total, error = _two_sum(x, y)
    bits = np.ascontiguousarray(total).view(np.int64)
    moved = bits + np.where((error > 0) == (total > 0), 1, -1)
    return np.where((error != 0) & (bits & 1 == 0), moved, bits).view(np.float64)


def f64_dot(a: ArrayLike, b: ArrayLike, c: ArrayLike) -> Floats:
    """c + a . b as an f64 instruction has it, for values a and b (V, k), c (V,).

    InputError for other shapes.
    """
    left, right, total = (np.array(x, np.float64) for x in (a, b, c))
    _fits(left, right, total)
    for k in range(left.shape[1]):
        total = fma(left[:, k], right[:, k], total)
    return total


def integer_dot(
    a: ArrayLike, b: ArrayLike, c: ArrayLike, inputs: tuple[str, str] = ("s8", "s8"), saturate: bool = False
) -> Any:
    """c + a . b in s32 for integers a and b (V, k) of the types `inputs`, c (V,): wraps, or clamps.

    InputError for other shapes and integers that the types do not hold.
    """
    arrays = [np.asarray(x) for x in (a, b, c)]
    _fits(*arrays)
    for what, array, name in zip("abc", arrays, (*inputs, "s32"), strict=True):
        low, high = {**INTEGERS, "s32": (-(2**31), 2**31 - 1)}.get(name, (0, -1))
        if low > high:
            raise InputError(f"no integer type '{name[:20]}'", expected=", ".join(INTEGERS))
        if array.dtype.kind not in "iu" or (array.size and not low <= array.min() <= array.max() <= high):
            raise InputError(f"{what} is not of {name}", expected=f"integers from {low} to {high}")
    left, right, total = (x.astype(np.int64) for x in arrays)
    exact = total + (left * right).sum(1)
    if saturate:
        return np.clip(exact, -(2**31), 2**31 - 1).astype(np.int32)
    return exact.astype(np.uint32).view(np.int32)


def _fits(a: Any, b: Any, c: Any) -> None:
    if a.ndim != 2 or a.shape != b.shape or c.shape != a.shape[:1]:
        raise InputError(f"shapes {a.shape}, {b.shape}, {c.shape}", expected="(V, k), (V, k) and (V,)")
