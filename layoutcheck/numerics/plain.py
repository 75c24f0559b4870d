"""f64 and integer instructions, whose arithmetic has no block.

f64: a chain of IEEE fused multiply-adds, k ascending (mmasim 2.1.1 has the same). Integers: products and sums
are exact and kept modulo 2^32, or clamped to s32 where the instruction says `.satfinite`; PTX ISA 9.0, no
other model to compare with.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from layoutcheck.numerics.block import Operand
from layoutcheck.numerics.block_unit import Unit
from layoutcheck.numerics.evidence import ASSUMED, LITERATURE, MMASIM_F64, form_of
from layoutcheck.numerics.formats import Floats
from layoutcheck.numerics.names import Instruction
from layoutcheck.numerics.parameters import BlockFma, architecture

_WRAP = 2.0**32
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
        result = top + odd_sum(part, rest)
        sizes = [np.abs(x) for x in (a, b, high, c)]
        safe = np.logical_and.reduce([(x == 0) | ((x > _LEAST) & (x < _MOST)) for x in sizes])
        # A product of zero because it underflowed is not safe either.
        safe &= (high != 0) | (a == 0) | (b == 0)
        result = np.where(safe & (high == 0), a * b + c, result)
        slow = ~safe
        result[slow] = [_slow(*x) for x in zip(a[slow], b[slow], c[slow], strict=True)]
    return result


def _slow(a: float, b: float, c: float) -> float:
    if np.isfinite([a, b]).all() and not np.isfinite(c):
        return c  # the product is finite, though float64 may not hold it
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


def odd_sum(x: Floats, y: Floats) -> Floats:
    """x + y rounded to odd, so that rounding it again to fewer bits is rounding once."""
    total, error = _two_sum(x, y)
    bits = np.ascontiguousarray(total).view(np.int64)
    moved = bits + np.where((error > 0) == (total > 0), 1, -1)
    return np.where((error != 0) & (bits & 1 == 0), moved, bits).view(np.float64)


@dataclass(frozen=True, slots=True)
class PlainUnit(Unit):
    """An f64 or integer instruction: a chain of fused multiply-adds, or an exact sum; nothing is aligned."""

    @property
    def whole(self) -> bool:
        """Whether its numbers are integers."""
        return self.rule.accumulator.name == "s32"

    @property
    def accumulator_unit(self) -> float:
        """What one step loses, relative to its result."""
        return 0.0 if self.whole else self.rule.accumulator.unit_roundoff

    @property
    def evidence(self) -> dict[str, tuple[str, str]]:
        """{parameter: (status, source)}."""
        if self.whole:
            return {"overflow": (LITERATURE, "PTX ISA 9.0")}
        known = form_of(self.instruction) in MMASIM_F64.get(architecture(self.arch), ())
        found = (LITERATURE, "MS (mmasim 2.1.1)") if known else (ASSUMED, "as on sm_80 and sm_90")
        return {"order": found, "rounding": found}

    @property
    def status(self) -> tuple[str, str]:
        """The evidence of its parameters, which is one."""
        return next(iter(self.evidence.values()))

    @property
    def arithmetic(self) -> str:
        """What it does, in words."""
        if not self.whole:
            return "fused multiply-adds, k ascending, RNE"
        return "exact, clamped to s32" if self.instruction.saturate else "exact, modulo 2^32"

    def describe(self) -> dict[str, Any]:
        """The arithmetic, its status and source."""
        known = {name: f"{word}: {source}" for name, (word, source) in self.evidence.items()}
        return self._described((), self.status, arithmetic=self.arithmetic) | {"evidence": known}

    def step(self, a: Operand, b: Operand, c: Floats) -> Floats:
        """One instruction on decoded operands, k on axis 0."""
        left, right = (x.values if x.specials is None else x.specials for x in (a, b))
        if self.whole:
            return self._kept(c + (left * right).sum(0))
        return _chained(left, right, c)

    def chain(self, a: Floats, b: Floats, c: Floats) -> Floats:
        """`matmul` on values: (M, K), (K, N), (M, N)."""
        if not self.whole:
            return _chained(a.T[:, :, None], b[:, None, :], c)
        length = self.k if self.instruction.saturate else a.shape[1]  # float64 holds every sum below 2^53
        for start in range(0, a.shape[1], length):
            ks = slice(start, start + length)
            c = self._kept(c + a[:, ks] @ b[ks])
        return c

    def _kept(self, exact: Floats) -> Floats:
        acc = self.rule.accumulator
        if self.instruction.saturate:
            return np.clip(exact, -acc.largest - 1, acc.largest)
        return exact - _WRAP * np.floor((exact + _WRAP / 2) / _WRAP)


def _chained(a: Floats, b: Floats, c: Floats) -> Floats:
    """c + a[0] b[0] + a[1] b[1] + ..., by fused multiply-adds."""
    total = np.array(c)
    for left, right in zip(a, b, strict=True):
        x, y = np.broadcast_arrays(left, right)
        total = fma(x, y, total)
    return total


def plain_unit(named: Instruction, arch: str) -> PlainUnit:
    """The unit of a checked f64 or integer instruction; see `units.unit`."""
    acc = named.accumulator
    rule = BlockFma(acc, 1, acc.fraction_bits, "RNE", acc.precision, acc.min_exponent)
    return PlainUnit(named, arch, rule, tuple((k,) for k in range(named.k)), add_c_last=False)
