"""Test vectors for a unit, drawn from a seed: the same everywhere, so that only results need to travel.

Each kind of vector makes another part of the arithmetic visible; random values of one size see almost none of
it (they cannot tell F for f16 results, nor the block of tf32, nor any of the behaviour near zero).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from layoutcheck.errors import InputError
from layoutcheck.numerics.block_unit import Unit
from layoutcheck.numerics.formats import Floats, Format, Raw

Vectors = tuple[Raw, Raw, Raw]  # a (count, k), b (count, k), c (count,)


def vectors(unit: Unit, kind: str, count: int, seed: int = 0) -> Vectors:
    """`count` vectors of that kind (see KINDS) for `unit`, as raw encodings."""
    if kind not in KINDS:
        raise InputError(f"no vectors of kind '{kind[:40]}'", expected=f"one of {', '.join(KINDS)}")
    rng = np.random.default_rng([seed, *kind.encode(), *unit.name.encode()])
    return KINDS[kind](unit, count, rng)


def _raw(rng: np.random.Generator, fmt: Format, shape: tuple[int, ...], lowest: int, highest: int) -> Raw:
    """Random finite encodings, exponents in [lowest, highest] clipped to the format's, subnormals too."""
    stored = rng.integers(lowest + fmt.bias, highest + fmt.bias + 1, shape)
    top = (1 << fmt.exponent_bits) - (2 if fmt.infinities else 1)
    stored = np.clip(stored, 0, top).astype(np.uint64)
    fraction = rng.integers(0, 1 << fmt.fraction_bits, shape).astype(np.uint64)
    if not fmt.infinities:
        fraction = np.where(stored == top, np.minimum(fraction, (1 << fmt.fraction_bits) - 2), fraction)
    short = rng.random(shape) < 0.25  # a power of two: ties and exact cancellation come from these
    fraction = np.where(short, np.uint64(0), fraction)
    sign = rng.integers(0, 2, shape).astype(np.uint64)
    code = ((sign << np.uint64(fmt.exponent_bits)) | stored) << np.uint64(fmt.fraction_bits) | fraction
    ignored = rng.integers(0, 1 << fmt.container_shift, shape).astype(np.uint64)  # tf32: 13 bits nobody reads
    return ((code << np.uint64(fmt.container_shift)) | ignored).astype(fmt.raw_dtype)


def _zeroed(rng: np.random.Generator, raw: Raw, share: float) -> Raw:
    return np.where(rng.random(raw.shape) < share, 0, raw).astype(raw.dtype)


def _formats(unit: Unit) -> tuple[Format, Format, Format]:
    return unit.instruction.a, unit.instruction.b, unit.rule.accumulator


def _near(unit: Unit, count: int, rng: np.random.Generator) -> Vectors:
    a, b, c = _formats(unit)
    shape = (count, unit.k)
    return _raw(rng, a, shape, -4, 2), _raw(rng, b, shape, -4, 2), _raw(rng, c, (count,), -6, 5)


def _wide(unit: Unit, count: int, rng: np.random.Generator) -> Vectors:
    a, b, c = _formats(unit)
    shape = (count, unit.k)
    left, right = _raw(rng, a, shape, -15, 12), _raw(rng, b, shape, -15, 12)
    return _zeroed(rng, left, 0.5), right, _zeroed(rng, _raw(rng, c, (count,), -30, 24), 0.2)


def _any(unit: Unit, count: int, rng: np.random.Generator) -> Vectors:
    a, b, c = _formats(unit)
    shape = (count, unit.k)
    left, right = _raw(rng, a, shape, -200, 200), _raw(rng, b, shape, -200, 200)
    spread_a, spread_b = (
        rng.integers(fmt.min_exponent - 1, fmt.max_exponent + 1, (count, 1)) for fmt in (a, b)
    )
    narrow = _raw(rng, a, shape, 0, 0), _raw(rng, b, shape, 0, 0)
    left = _shift_exponent(narrow[0], a, spread_a + rng.integers(-6, 7, shape))
    right = _shift_exponent(narrow[1], b, spread_b + rng.integers(-6, 7, shape))
    total = spread_a + spread_b + rng.integers(-20, 20, (count, 1))
    addend = _shift_exponent(_raw(rng, c, (count,), 0, 0), c, total[:, 0])
    return _zeroed(rng, left, 0.3), right, _zeroed(rng, addend, 0.3)


def _shift_exponent(raw: Raw, fmt: Format, exponent: np.ndarray) -> Raw:
    """`raw` with its exponent field replaced, clipped to finite values; subnormals where it falls below."""
    shift = np.uint64(fmt.fraction_bits + fmt.container_shift)
    top = (1 << fmt.exponent_bits) - 2
    stored = np.clip(exponent + fmt.bias, 0, top).astype(np.uint64)
    mask = np.uint64(((1 << fmt.exponent_bits) - 1) << int(shift))
    moved: Raw = ((raw.astype(np.uint64) & ~mask) | (stored << shift)).astype(fmt.raw_dtype)
    return moved


def _cancel(unit: Unit, count: int, rng: np.random.Generator) -> Vectors:
    a, b, c = _formats(unit)
    half = unit.k // 2
    left, right = _raw(rng, a, (count, half), -6, 6), _raw(rng, b, (count, half), -6, 6)
    flip = (left.astype(np.uint64) ^ np.uint64(1 << (a.bits - 1))).astype(a.raw_dtype)
    nudge = rng.random((count, half)) < 0.15
    flip = np.where(nudge, flip ^ np.array(1 << a.container_shift, a.raw_dtype), flip)
    order = rng.permuted(np.broadcast_to(np.arange(unit.k), (count, unit.k)), axis=1)
    both_a, both_b = np.concatenate([left, flip], 1), np.concatenate([right, right], 1)
    both_a = np.take_along_axis(both_a, order, 1).astype(a.raw_dtype)
    both_b = np.take_along_axis(both_b, order, 1)
    finite = np.isfinite(a.decode(both_a))
    return np.where(finite, both_a, 0).astype(a.raw_dtype), both_b, _raw(rng, c, (count,), -30, -8)


def _tiny(unit: Unit, count: int, rng: np.random.Generator) -> Vectors:
    a, b, c = _formats(unit)
    shape = (count, unit.k)
    low_a, low_b = a.min_exponent - 1, b.min_exponent - 1
    left = _raw(rng, a, shape, low_a, low_a + 8)
    # The other factor brings the product into the range where the accumulator's own floor lies.
    reach = max(c.min_exponent - c.fraction_bits - a.min_exponent, low_b)
    right = _raw(rng, b, shape, max(reach - 12, low_b), max(reach + 16, low_b + 8))
    left = _zeroed(rng, left, 0.0) if unit.k < 8 else np.where(
        rng.random(shape) < rng.random((count, 1)), 0, left
    ).astype(a.raw_dtype)  # fmt: skip
    addend = _raw(rng, c, (count,), c.min_exponent - 1, c.min_exponent + 3)
    addend = (addend.astype(np.uint64) & ~np.uint64(rng.integers(0, 2))).astype(c.raw_dtype)
    zero = rng.integers(0, 2, count).astype(np.uint64) << np.uint64(c.bits - 1)
    return left, right, np.where(rng.random(count) < 0.5, zero, addend).astype(c.raw_dtype)


def _special(unit: Unit, count: int, rng: np.random.Generator) -> Vectors:
    a, b, c = _formats(unit)
    left, right, addend = _wide(unit, count, rng)
    found = []
    for fmt, raw in ((a, left), (b, right), (c, addend)):
        infinity = ((1 << fmt.exponent_bits) - 1) << (fmt.fraction_bits + fmt.container_shift)
        codes = [fmt.nan, 0, 1 << (fmt.bits - 1)]
        codes += [infinity, infinity | 1 << (fmt.bits - 1)] * 2 if fmt.infinities else []
        chosen = np.array(codes, np.uint64)[rng.integers(0, len(codes), raw.shape)]
        rate = 0.3 if raw.ndim == 1 else 1.5 / unit.k
        found.append(np.where(rng.random(raw.shape) < rate, chosen, raw).astype(fmt.raw_dtype))
    return found[0], found[1], found[2]


def _sticky(unit: Unit, count: int, rng: np.random.Generator) -> Vectors:
    """A sum that is an exact tie of the accumulator's format, plus or minus one small power of two."""
    a, b, c = _formats(unit)
    room = unit.k - 2
    size = rng.integers(1, room + 1, count)
    terms = rng.integers(1 << a.fraction_bits, 2 << a.fraction_bits, (count, room)) / (1 << a.fraction_bits)
    terms = np.where(np.arange(room) < size[:, None], terms, 0.0)
    total = terms.sum(1)
    step = np.ldexp(1.0, np.frexp(total)[1] - 1 - min(c.fraction_bits, 2 * a.fraction_bits))
    closing = (np.floor(total / step) + 0.5) * step - total
    first, second = np.frexp(closing)
    closing_a, closing_b = first, np.ldexp(1.0, second)
    drop = rng.integers(1, 34, count)
    small = np.ldexp(1.0, np.frexp(total)[1] - 1 - 8 - drop)
    half = rng.integers(4, 12, count)
    small_a, small_b = np.ldexp(rng.choice([-1.0, 1.0], count), -half), np.ldexp(small, half)
    left = np.column_stack([terms, closing_a, small_a])
    right = np.column_stack([np.ones((count, room)), closing_b, small_b])
    negate = rng.choice([-1.0, 1.0], (count, 1))
    addend: Floats = np.zeros(count)
    return a.encode(left * negate, "RZ"), b.encode(right, "RZ"), c.encode(addend)


def _floor(unit: Unit, count: int, rng: np.random.Generator) -> Vectors:
    """Sums near the accumulator's smallest step, with bits far below it that may or may not be kept.

    A multiple of the step (and a half, where the unit rounds to nearest), plus or minus a power of two.
    """
    a, b, c = _formats(unit)
    nearest = unit.rule.rounding == "RNE"
    steps = rng.integers(0, 1 << rng.integers(0, a.fraction_bits, count), count)
    main = np.ldexp(2.0 * steps + nearest, -1) * rng.choice([-1.0, 1.0], count) * c.smallest
    small = np.ldexp(c.smallest, -rng.integers(1, 27, count)) * rng.choice([-1.0, 1.0], count)
    raised = np.where(rng.random(count) < 0.3, np.ldexp(c.smallest, rng.integers(-8, 24, count)), 0.0)
    terms = np.zeros((count, unit.k))
    terms[:, 0], terms[:, 1], terms[:, 2], terms[:, 3] = main, small, raised, -raised
    if unit.k > 4:  # a few more bits below, which add up to another carry or not
        more = rng.random(count) < 0.3
        terms[:, 4] = np.where(more, np.ldexp(c.smallest, -rng.integers(1, 27, count)), 0.0)
    terms = rng.permuted(terms, axis=1)
    fraction, exponent = np.frexp(terms)
    share = rng.integers(a.min_exponent - a.fraction_bits, 2, terms.shape)
    share = np.clip(share, exponent - b.max_exponent, exponent - b.min_exponent + b.fraction_bits)
    addend = rng.integers(0, 1 << rng.integers(0, c.fraction_bits + 2, count), count)
    addend = np.where(rng.random(count) < 0.4, 0, addend)
    signed = addend.astype(np.uint64) | rng.integers(0, 2, count).astype(np.uint64) << np.uint64(c.bits - 1)
    left = a.encode(np.ldexp(fraction, share), "RZ")
    return left, b.encode(np.ldexp(1.0, exponent - share), "RZ"), signed.astype(c.raw_dtype)


KINDS: dict[str, Callable[[Unit, int, np.random.Generator], Vectors]] = {
    "near": _near,
    "wide": _wide,
    "any": _any,
    "cancel": _cancel,
    "tiny": _tiny,
    "special": _special,
    "sticky": _sticky,
    "floor": _floor,
}
