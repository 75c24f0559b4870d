from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from layoutcheck.algebra import Layout, complement, parse_layout
from layoutcheck.errors import InputError
from tests.algebra.reference import is_complement
from tests.algebra.strategies import injective_layouts, layouts

L = parse_layout


@settings(max_examples=50)
@given(injective_layouts(3), st.integers(1, 200))
def test_it_fills_what_the_layout_leaves_out(a: Layout, n: int) -> None:
    assert is_complement(complement(a, n), a, n)


@settings(max_examples=50)
@given(layouts(3), st.integers(1, 60))
def test_it_fills_or_is_refused(a: Layout, n: int) -> None:
    try:
        r = complement(a, n)
    except InputError:
        try:
            weak = complement(a, n, strict=False)
        except InputError:
            return
        assert not is_complement(weak, a, n)
    else:
        assert is_complement(r, a, n)


@pytest.mark.parametrize(
    ("a", "target", "result"),
    [
        ("(2,2):(1,6)", 24, "(3,2):(2,12)"),
        ("(2,2):(1,6)", (4, 6), "(3,2):(2,12)"),
        ("6:1", (8, 8), "16:6"),  # by mode, as the DSL rounds up: ceil(8/6) * 8
        ("4:2", 9, "(2,2):(1,8)"),
        ("4:1", 4, "1:0"),
        ("(4,8):(0,0)", 5, "5:1"),
        ("1:7", (2, 3), "6:1"),
        ("4:?{div=4}", 64, "(?{div=4},?):(1,?{div=16})"),
        ("?:2", 64, "(2,?):(1,?{div=2})"),
        ("(2,?):(1,2)", 64, "?:?{div=2}"),
        ("(4,2):(1@0,2@1)", (8, 8), "(2,(2,2)):(4@0,(1@1,4@1))"),
        ("4:2@1", (8, 8), "(8,2):(1@0,1@1)"),
    ],
)
def test_by_hand(a: str, target: object, result: str) -> None:
    assert str(complement(L(a), target)) == result


@pytest.mark.parametrize(
    ("a", "why"),
    [
        ("(2,2):(1,3)", "the stride of its mode 2:3 is not a multiple of 2"),
        ("(2,2):(2,3)", "its mode 2:3 begins within the 4 offsets"),
        ("4:-1", "its mode 4:-1 has a negative stride"),
        ("(4,2):(?,1)", "its mode 4:\\? has a run-time stride"),
        ("(2,2):(1@0,1@0@0)", "reach deeper"),
    ],
)
def test_what_stands_in_the_way_is_named(a: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        complement(L(a), (12, 12))


def test_a_layout_as_cotarget_is_its_shape() -> None:
    assert complement(L("4:1"), L("(4,6):(100,1)")) == L("6:4")


def test_the_cotarget_is_one_where_none_is_given() -> None:
    assert str(complement(Layout(1, 0))) == "1:0"
    assert str(complement(Layout(4, 2))) == "2:1"
    assert str(complement(Layout(1, 0), 2)) == "2:1"
