"""The block FMA once more, in exact rational arithmetic, one output at a time: slow, sharing no code."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from layoutcheck.numerics.formats import Format
from layoutcheck.numerics.parameters import BlockFma


def _parts(code: int, fmt: Format) -> tuple[Fraction, int | None]:
    """The value and the exponent the hardware sees (None for zero) of a finite encoding."""
    code >>= fmt.container_shift
    fraction = code & ((1 << fmt.fraction_bits) - 1)
    stored = (code >> fmt.fraction_bits) & ((1 << fmt.exponent_bits) - 1)
    significand = fraction + ((1 << fmt.fraction_bits) if stored else 0)
    exponent = max(stored, 1) - fmt.bias
    value = Fraction(significand) * Fraction(2) ** (exponent - fmt.fraction_bits)
    negative = code >> (fmt.fraction_bits + fmt.exponent_bits) & 1
    return (-value if negative else value), (exponent if significand else None)


def _cut(value: Fraction, unit: Fraction) -> Fraction:
    steps = abs(value) // unit
    return (steps if value >= 0 else -steps) * unit


def _round(value: Fraction, rule: BlockFma) -> Fraction:
    if value == 0:
        return value
    exponent = 0
    while abs(value) >= Fraction(2) ** (exponent + 1):
        exponent += 1
    while abs(value) < Fraction(2) ** exponent:
        exponent -= 1
    unit = Fraction(2) ** (max(exponent, rule.accumulator.min_exponent) - rule.precision + 1)
    steps, rest = divmod(abs(value), unit)
    if rule.rounding == "RNE" and (rest > unit / 2 or (rest == unit / 2 and steps % 2)):
        steps += 1
    return (steps if value > 0 else -steps) * unit


def fma(a: np.ndarray, b: np.ndarray, c: int, formats: tuple[Format, Format], rule: BlockFma) -> int:
    """One block: the encoding of round(c + a . b). Finite inputs whose result does not overflow."""
    addend, anchor = _parts(int(c), rule.accumulator)
    terms = [addend]
    exponents = [rule.anchor_floor, *([] if anchor is None else [anchor])]
    for x, y in zip(a.tolist(), b.tolist(), strict=True):
        (left, e), (right, f) = _parts(x, formats[0]), _parts(y, formats[1])
        terms.append(left * right)
        if e is not None and f is not None:
            exponents.append(e + f)
    unit = Fraction(2) ** (max(exponents) - rule.fraction_bits)
    total = _round(sum((_cut(term, unit) for term in terms), Fraction(0)), rule)
    if abs(total) > Fraction(rule.accumulator.largest):
        total = Fraction(0) + (1 if total > 0 else -1) * Fraction(10) ** 300
    return int(rule.accumulator.encode(np.array(float(total))))
