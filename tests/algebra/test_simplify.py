from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutcheck.algebra import (
    ComposedLayout,
    Layout,
    Swizzle,
    coalesce,
    depth,
    filter_zeros,
    parse_layout,
    rank,
)
from layoutcheck.algebra import filter as filtered
from layoutcheck.errors import InputError
from tests.algebra.reference import count, leaves, offsets
from tests.algebra.strategies import layouts

L = parse_layout


@given(layouts(6, strides=st.integers(-12, 24)))
def test_coalesce_keeps_the_function_in_fewest_modes(a: Layout) -> None:
    r = coalesce(a)
    assert np.array_equal(offsets(r), offsets(a))
    assert depth(r) <= 1
    modes = list(zip(leaves(r.shape), leaves(r.stride), strict=True))
    assert all(s * d != after for (s, d), (_, after) in pairwise(modes))
    assert coalesce(r) == r
    assert 1 not in leaves(r.shape) or r == L("1:0")


@given(layouts(6))
def test_coalesce_by_mode_keeps_every_mode(a: Layout) -> None:
    r = coalesce(a, (1,) * len(a))
    assert len(r) == len(a)
    for i in range(len(a)):
        assert r[i] == coalesce(a[i])


@given(layouts(6))
def test_filter_keeps_the_image(a: Layout) -> None:
    r = filtered(a)
    assert np.array_equal(np.unique(offsets(r)), np.unique(offsets(a)))
    assert 0 not in leaves(r.stride) or r == L("1:0")
    zeros = filter_zeros(a)
    assert zeros.stride == a.stride
    assert count(zeros) == count(r)
    assert filtered(a, (1,) * len(a)) == coalesce(zeros, (1,) * len(a))


@pytest.mark.parametrize(
    ("a", "profile", "result"),
    [
        ("(2,(1,6)):(1,(6,2))", None, "12:1"),
        ("(2,(1,6)):(1,(6,2))", (1, 1), "(2,6):(1,2)"),
        ("((4,(1,2)),(2,2)):((1,(7,4)),(8,16))", ((1, 1), 1), "((4,2),4):((1,4),8)"),
        ("((4,2),(2,2)):((1,4),(8,16))", (1,), "(8,(2,2)):(1,(8,16))"),
        ("(1,1):(5,7)", None, "1:0"),
        ("1:5", None, "1:0"),
        ("(4,2):(1@0,4@0)", None, "8:1@0"),
        ("(4,2):(1@0,4@1)", None, "(4,2):(1@0,4@1)"),
        ("(4,2,2):(-1,-4,3)", None, "(8,2):(-1,3)"),
        ("(4,?,2):(1,4,?)", None, "(4,?,2):(1,4,?)"),
        ("(?,4):(1,?)", None, "(?,4):(1,?)"),
    ],
)
def test_coalesce_by_hand(a: str, profile: Any, result: str) -> None:
    assert str(coalesce(L(a), profile)) == result


def test_filters_by_hand() -> None:
    assert str(filtered(L("(4,8,2):(1,0,4)"))) == "8:1"
    assert str(filtered(L("(4,8):(?,0)"))) == "4:?"
    assert str(filter_zeros(L("(4,8):(1,2)"), (0, 1))) == "(1,8):(1,2)"
    assert str(filter_zeros(L("(4,(8,2)):(0,(1,0))"))) == "(1,(8,1)):(0,(1,0))"


def test_composed_and_refused() -> None:
    whole = ComposedLayout(Swizzle(3, 4, 3), 0, L("(8,8):(1,8)"))
    assert coalesce(whole) == ComposedLayout(whole.inner, 0, L("64:1"))
    with pytest.raises(InputError, match="the profile has 3 modes, more than the 2"):
        coalesce(L("(8,8):(1,8)"), (1, 1, 1))
    assert rank(coalesce(whole)) == 1
