"""The block FMA, vectorised: exact products, one alignment, exact sum, one rounding.

Operands carry k on axis 0, so that `a[k]` and `b[k]` broadcast to the outputs: shape (k, outputs) for
separate dot products, (k, M, 1) against (k, 1, N) for a matrix product. The loop over k then costs a handful
of numpy operations on arrays of outputs, small enough to stay in the cache.

Why float32 carries the products where it can: two significands of at most 11 bits multiply exactly into 22,
a power of two scales them exactly, and the conversion to int32 cuts towards zero: the alignment itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutcheck.numerics.formats import ZERO_EXPONENT, Floats, Format, exponents, power_of_two, round_to
from layoutcheck.numerics.parameters import BlockFma

_F32_SAFE = 40  # |exponent| of every nonzero input up to which products and scales stay normal in float32
_INT32_TERMS = 8  # terms below 4 * 2^26 each that an int32 holds the sum of


@dataclass(frozen=True, slots=True)
class Operand:
    """Decoded inputs, k on axis 0: `values` (specials as 0), `exponents`, `specials` where there are any."""

    values: NDArray[Any]
    exponents: NDArray[np.int16]
    specials: Floats | None  # the values with their NaN and infinities, or None

    @staticmethod
    def of(values: Floats, format_: Format) -> Operand:
        """The operand with these values of `format_`."""
        exponent = exponents(values, format_)
        finite = np.isfinite(values)
        if finite.all():
            return Operand(values, exponent, None)
        return Operand(np.where(finite, values, 0.0), exponent, values)

    @property
    def fits_float32(self) -> bool:
        """Whether products of two such operands are exact in float32, scaled or not."""
        used = self.exponents[self.exponents != ZERO_EXPONENT]
        return used.size == 0 or bool(used.min() >= -_F32_SAFE and used.max() <= _F32_SAFE)

    def narrowed(self) -> Operand:
        """The same with float32 values."""
        return Operand(self.values.astype(np.float32), self.exponents, self.specials)

    def __getitem__(self, index: Any) -> Operand:
        specials = None if self.specials is None else self.specials[index]
        return Operand(self.values[index], self.exponents[index], specials)


def carried(a: Operand, b: Operand, rule: BlockFma) -> tuple[Operand, Operand]:
    """`a` and `b` in float32 where that is exact (see the module), in float64 otherwise."""
    plain = rule.align == "RZ" and not rule.normalise_products and rule.fraction_bits <= 26
    if plain and a.fits_float32 and b.fits_float32:
        return a.narrowed(), b.narrowed()
    return a, b


def block_fma(a: Operand, b: Operand, c: Floats, rule: BlockFma) -> Floats:
    """round(c + sum over k of a[k] b[k]) as `rule` does it; one block, whatever its length.

    `c` has the outputs' shape and holds values of the accumulator's format. Returns values of that format.
    """
    finite_c = np.isfinite(c)
    clean = bool(finite_c.all())
    addend = c if clean else np.where(finite_c, c, 0.0)
    anchor = _anchor(a, b, addend, rule)
    scale = power_of_two(rule.fraction_bits - anchor)
    cut = np.trunc if rule.align == "RZ" else np.rint
    total = cut(addend * scale) + _products(a, b, anchor, scale, rule)
    result = _rounded(total * power_of_two(anchor - rule.fraction_bits), rule)
    if clean and a.specials is None and b.specials is None:
        return result
    return _with_specials(a, b, c, result)


def _anchor(a: Operand, b: Operand, c: Floats, rule: BlockFma) -> NDArray[np.int16]:
    """The exponent all terms are aligned to."""
    anchor = np.maximum(exponents(c, rule.addend or rule.accumulator), np.int16(rule.anchor_floor))
    if rule.normalise_products:
        for k in range(len(a.values)):
            np.maximum(anchor, exponents(a.values[k] * b.values[k], _UNBOUNDED), out=anchor)
        return anchor
    # In a long chain c soon outgrows every product: one look at the largest exponents then saves them all.
    if a.exponents.ndim == 3 and np.all(anchor >= a.exponents.max(0) + b.exponents.max(0)):
        return anchor
    term = np.empty_like(anchor)
    for k in range(len(a.values)):
        np.add(a.exponents[k], b.exponents[k], out=term)
        np.maximum(anchor, term, out=anchor)
    return anchor


_UNBOUNDED = Format("unbounded", 64, 11, 52)


def _products(a: Operand, b: Operand, anchor: NDArray[np.int16], scale: Floats, rule: BlockFma) -> Floats:
    """The sum of the aligned products, an integer in units of 2^(anchor - fraction_bits)."""
    total = np.zeros(anchor.shape)
    if a.values.dtype != np.float32:
        cut = np.trunc if rule.align == "RZ" else np.rint
        term = np.empty(anchor.shape)
        for k in range(len(a.values)):
            np.multiply(a.values[k], b.values[k], out=term)
            np.multiply(term, scale, out=term)
            total += cut(term, out=term)
        return total
    # Where every product is zero the scale may leave float32's range; any value will then do.
    bits = (np.clip(rule.fraction_bits - anchor, -126, 126) + 127).astype(np.int32) << 23
    narrow_scale = bits.view(np.float32)
    product = np.empty(anchor.shape, np.float32)
    aligned = np.empty(anchor.shape, np.int32)
    part = np.empty(anchor.shape, np.int32)
    for start in range(0, len(a.values), _INT32_TERMS):
        part.fill(0)
        for k in range(start, min(start + _INT32_TERMS, len(a.values))):
            _outer(a.values[k], b.values[k], product)
            np.multiply(product, narrow_scale, out=product)
            np.copyto(aligned, product, casting="unsafe")
            np.add(part, aligned, out=part)
        total += part
    return total


def _outer(a: NDArray[np.float32], b: NDArray[np.float32], out: NDArray[np.float32]) -> None:
    """a * b into `out`. A column times a row is exact in BLAS too, and there without a loop over rows."""
    if a.ndim == 2:
        np.dot(a, b, out=out)
    else:
        np.multiply(a, b, out=out)


def _rounded(exact: Floats, rule: BlockFma) -> Floats:
    """`exact` rounded as the unit rounds its result; every zero is +0."""
    if rule.rounding == "RZ" and rule.accumulator.bits == 32 and _normal(exact, rule.accumulator):
        # Cutting float64's own significand is the same as cutting to `precision` bits, and much cheaper.
        keep = np.int64(-1) << np.int64(53 - rule.precision)
        result = (exact.view(np.int64) & keep).view(np.float64)
    else:
        result = round_to(exact, rule.accumulator, rule.rounding, rule.precision)
    return result + 0.0


def _normal(values: Floats, format_: Format) -> bool:
    """Whether all values are zero or in the format's normal range."""
    magnitude = np.abs(values)
    if magnitude.max(initial=0.0) > format_.largest:
        return False
    return bool(np.all((magnitude >= 2.0**format_.min_exponent) | (magnitude == 0)))


def _with_specials(a: Operand, b: Operand, c: Floats, result: Floats) -> Floats:
    """`result` where all terms are finite, else the NaN or infinity that IEEE addition would give."""
    left = a.values if a.specials is None else a.specials
    right = b.values if b.specials is None else b.specials
    terms = np.where(np.isfinite(c), 0.0, c)
    with np.errstate(invalid="ignore", over="ignore"):
        for k in range(len(left)):
            product = np.multiply(left[k], right[k], dtype=np.float64)
            terms = terms + np.where(np.isfinite(product), 0.0, product)
    return np.where(np.isfinite(terms), result, terms)
