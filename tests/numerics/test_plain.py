"""f64 fused multiply-adds against exact fractions, integers against Python's."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from layoutcheck.errors import InputError
from layoutcheck.numerics.plain import f64_dot, fma, integer_dot


def exact_fma(a: float, b: float, c: float) -> float:
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    return exact.numerator / exact.denominator


@pytest.mark.parametrize("spread", [0, 3, 60, 300])
def test_an_fma_rounds_once(spread: int) -> None:
    rng = np.random.default_rng(spread)
    a, b, c = (rng.standard_normal(2000) * 2.0 ** rng.integers(-spread, spread + 1, 2000) for _ in range(3))
    c[::2] = -(a * b)[::2] * (1 + 2.0**-52 * rng.integers(-2, 3, 1000))
    c[1::4] = np.ldexp(a * b, -53)[1::4]
    got = fma(a, b, c)
    assert got.tolist() == [exact_fma(*x) for x in zip(a.tolist(), b.tolist(), c.tolist(), strict=True)]
    assert (got != a * b + c).mean() > 0.05


def test_specials_and_the_ends_of_the_range() -> None:
    a = np.array([1e300, np.inf, 0.0, 5e-324, 2.0**-1000, np.nan, -0.0])
    b = np.array([1e300, 0.0, 3.0, 0.5, 2.0**-60, 1.0, 1.0])
    c = np.array([-1.0, 1.0, 7.0, 5e-324, 1.0, 1.0, -0.0])
    got = fma(a, b, c)
    assert got[0] == np.inf and np.isnan(got[1]) and got[2] == 7 and got[3] == 1e-323 and got[4] == 1
    assert np.isnan(got[5]) and np.signbit(got[6])


def test_a_chain_takes_k_in_order() -> None:
    a, b = np.array([[1.0, 2.0**-53, 2.0**-53]]), np.ones((1, 3))
    assert f64_dot(a, b, [0.0])[0] == 1.0
    assert f64_dot(a[:, ::-1], b, [0.0])[0] == 1 + 2.0**-52


def test_integers_wrap_or_clamp() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(-128, 128, (200, 32)), rng.integers(0, 256, (200, 32))
    c = rng.integers(-(2**31), 2**31, 200)
    c[:2] = 2**31 - 1, -(2**31)
    a[0], b[:2], a[1] = 127, 255, -128
    exact = (c.astype(object) + (a.astype(object) * b.astype(object)).sum(1)).tolist()
    assert integer_dot(a, b, c, ("s8", "u8")).tolist() == [(x + 2**31) % 2**32 - 2**31 for x in exact]
    clamped = integer_dot(a, b, c, ("s8", "u8"), saturate=True)
    assert clamped.tolist() == [min(max(x, -(2**31)), 2**31 - 1) for x in exact]
    assert clamped[0] == 2**31 - 1 and clamped[1] == -(2**31)


@pytest.mark.parametrize(
    ("a", "types"),
    [([[200]], ("s8", "s8")), ([[1.5]], ("s8", "s8")), ([[1]], ("s16", "s8")), ([1], ("s8", "s8"))],
)
def test_what_is_no_such_integer_is_an_input_error(a: object, types: tuple[str, str]) -> None:
    with pytest.raises(InputError):
        integer_dot(a, [[1]], [0], types)
