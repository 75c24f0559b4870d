from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutcheck.algebra import Dynamic
from layoutcheck.algebra.integers import add, ceil_div, divides, floor_div, gcd, minimum, mod, mul
from layoutcheck.algebra.inttuple import is_static
from layoutcheck.errors import InputError


@st.composite
def known(draw: st.DrawFn) -> tuple[Any, int]:
    """An integer as the algebra knows it, and the positive value that it has."""
    d = draw(st.sampled_from((1, 2, 3, 4, 8, 12)))
    value = d * draw(st.integers(1, 20))
    return draw(st.sampled_from((value, Dynamic(d), Dynamic(d, 64)))), value


def true_of(a: Any, value: int) -> bool:
    return a == value if is_static(a) else value % a.divisor == 0


@given(known(), known())
def test_arithmetic_never_says_more_than_holds(x: tuple[Any, int], y: tuple[Any, int]) -> None:
    (a, m), (b, n) = x, y
    assert true_of(add(a, b), m + n)
    assert true_of(mul(a, b), m * n)
    assert true_of(minimum(a, b), min(m, n))
    assert true_of(mod(a, b), m % n)
    assert true_of(ceil_div(a, b), -(-m // n)) or (m % n and not (is_static(a) and is_static(b)))
    if m % n == 0:  # what the algebra divides, it takes to be divisible
        assert true_of(floor_div(a, b), m // n)
    assert m % max(1, gcd(a, b)) == n % max(1, gcd(a, b)) == 0
    if is_static(a) and divides(a, b):
        assert n % m == 0


@given(known(), known())
def test_widths_go_up(x: tuple[Any, int], y: tuple[Any, int]) -> None:
    a, b = x[0], y[0]
    for f in (add, mul):
        r = f(a, b)
        if isinstance(r, Dynamic) and Dynamic(1, 64) in (a, b):
            assert r.bits == 64


def test_by_hand() -> None:
    assert str(mul(Dynamic(8), 3)) == "?{div=24}"
    assert str(add(Dynamic(8, 64), 12)) == "?{i64 div=4}"
    assert mul(Dynamic(), 0) == 0 == mul(0, Dynamic())
    assert mod(Dynamic(8), 4) == 0 == mod(0, Dynamic())
    assert mod(Dynamic(), 4) == Dynamic()
    assert floor_div(Dynamic(8), 4) == Dynamic(2)
    assert floor_div(0, Dynamic()) == 0
    assert minimum(Dynamic(8), 1) == 1
    assert minimum(Dynamic(8), 12) == Dynamic(4)
    assert mul(Dynamic(4), 1) == Dynamic(4) == mul(1, Dynamic(4)) == floor_div(Dynamic(4), 1)


def test_bad_values() -> None:
    for arguments in ((0,), (-4,), (1, 16)):
        with pytest.raises(InputError):
            Dynamic(*arguments)
    for divide in (floor_div, ceil_div):
        with pytest.raises(ZeroDivisionError):
            divide(Dynamic(), 0)
