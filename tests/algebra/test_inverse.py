from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from layoutcheck.algebra import (
    Layout,
    coalesce,
    filter_zeros,
    left_inverse,
    max_common_layout,
    max_common_vector,
    nullspace,
    parse_layout,
    right_inverse,
    size,
)
from layoutcheck.errors import InputError
from tests.algebra.reference import count, is_left_inverse, offset, offsets
from tests.algebra.strategies import compact_layouts, injective_layouts, layouts

L = parse_layout


@settings(max_examples=50)
@given(layouts())
def test_right_inverse(a: Layout) -> None:
    r = right_inverse(a)
    assert np.array_equal(offset(a, offsets(r)), np.arange(count(r)))


@given(compact_layouts())
def test_both_inverses_of_a_compact_layout_are_the_inverse(a: Layout) -> None:
    everything = np.arange(count(a))
    for inverse in (right_inverse(a), left_inverse(a)):
        assert np.array_equal(offset(inverse, offsets(a)), everything)
        assert np.array_equal(offset(a, offset(inverse, everything)), everything)


@given(injective_layouts())
def test_left_inverse(a: Layout) -> None:
    assert is_left_inverse(left_inverse(a), a)


@settings(max_examples=50)
@given(layouts())
def test_left_inverse_or_refused(a: Layout) -> None:
    try:
        r = left_inverse(a)
    except InputError:
        return
    assert is_left_inverse(r, a)


@given(layouts())
def test_nullspace(a: Layout) -> None:
    n = nullspace(a)
    assert not offset(a, offsets(n)).any()
    assert len(np.unique(offsets(n))) == count(n) == count(a) // count(filter_zeros(a))


@settings(max_examples=50)
@given(compact_layouts(), compact_layouts())
def test_max_common_layout(a: Layout, b: Layout) -> None:
    try:
        r, n = max_common_layout(a, b), max_common_vector(a, b)
    except InputError:
        return
    assert size(r) == n
    assert np.array_equal(offset(a, offsets(r)), np.arange(n))
    assert np.array_equal(offset(b, offsets(r)), np.arange(n))
    inverse = right_inverse(b)
    if n < count(inverse):  # and no longer one exists
        assert offset(a, offset(inverse, n)) != n


@pytest.mark.parametrize(
    ("a", "right", "left"),
    [
        ("(4,8):(8,1)", "(8,4):(4,1)", "(8,4):(4,1)"),
        ("(4,8):(16,1)", "8:4", "(16,4):(4,1)"),
        ("(4,8):(1,5)", "4:1", "(5,8):(1,4)"),
        ("(4,2):(0,1)", "2:4", "2:4"),
        ("4:2", "1:0", "(2,4):(0,1)"),
        ("(4,8):(?,1)", "8:4", "run-time"),
        ("(4,8,2):(1,?,4)", "(4,2):(1,32)", "run-time"),
        ("4:-1", "1:0", "negative"),
        ("(1,5):(-4,4)", "1:0", "(4,5):(0,1)"),
        ("(4,2):(1,1)", "4:1", "begins below 4"),
        ("(2,3):(2,5)", "1:0", "not a multiple of 2"),
        ("(4,2):(1@0,1@1)", "(4,2):(1,4)", "(4,2):(1,4)"),
        ("(4,2):(1@0,1)", "some are not", "some are not"),
        ("(4,?):(1,4)", "run-time", "run-time"),
    ],
)
def test_by_hand(a: str, right: str, left: str) -> None:
    for invert, result in ((right_inverse, right), (left_inverse, left)):
        if ":" in result:
            assert str(invert(L(a))) == result
        else:
            with pytest.raises(InputError, match=result):
                invert(L(a))


def test_what_two_layouts_have_in_common() -> None:
    assert max_common_vector(L("(8,4):(1,9)"), L("(8,4):(1,8)")) == 8
    assert max_common_vector(L("(8,4):(1,?)"), L("(8,4):(1,?)")) == 8
    assert max_common_vector(L("(8,4):(4,1)"), L("(8,4):(1,8)")) == 1
    assert max_common_layout(L("(8,4):(4,1)"), L("(8,4):(4,1)")) == L("(4,8):(8,1)")
    assert max_common_layout(L("8:2"), L("8:1")) == L("1:0")
    assert coalesce(nullspace(L("(4,8,2):(1,0,0)"))) == L("16:4")
