from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from layoutcheck.algebra import (
    ComposedLayout,
    Dynamic,
    Layout,
    Swizzle,
    composition,
    make_identity_layout,
    parse_layout,
    size,
)
from layoutcheck.algebra.inttuple import wrap
from layoutcheck.errors import InputError
from tests.algebra.reference import count, is_composition, leaves, offsets
from tests.algebra.strategies import compact_layouts, layouts

L = parse_layout


@settings(max_examples=50)
@given(layouts(), layouts(3))
def test_it_is_a_of_b_or_refused(a: Layout, b: Layout) -> None:
    try:
        r = composition(a, b)
    except InputError:
        return
    assert is_composition(r, a, b)
    assert len(wrap(r.shape)) == len(wrap(b.shape)) or not isinstance(b.shape, tuple)


@settings(max_examples=50)
@given(layouts(), layouts(3, strides=st.integers(-12, 12)))
def test_negative_strides_walk_the_negated_layout(a: Layout, b: Layout) -> None:
    try:
        r = composition(a, b)
    except InputError:
        return
    assert is_composition(r, a, b)


@settings(max_examples=50)
@given(layouts(), layouts(3))
def test_it_refuses_only_what_the_weak_rule_gets_wrong(a: Layout, b: Layout) -> None:
    try:
        weak = composition(a, b, strict=False)
    except InputError:
        return
    try:
        composition(a, b)
    except InputError:
        assert not is_composition(weak, a, b)


@settings(max_examples=50)
@given(layouts(3), compact_layouts(3))
def test_a_walk_that_ends_in_the_first_mode_is_admissible(a: Layout, b: Layout) -> None:
    s, d = leaves(b.shape)[0], leaves(b.stride)[0]
    if d * (s - 1) < leaves(a.shape)[0]:
        assert is_composition(composition(a, Layout(s, d)), a, Layout(s, d))


@given(layouts())
def test_identity_is_neutral(a: Layout) -> None:
    n = count(a)
    assert is_composition(composition(a, Layout(n)), a, Layout(n))
    r = composition(Layout(max(n, 1)), a)
    assert np.array_equal(offsets(r), offsets(a))


@given(compact_layouts(3), compact_layouts(3), st.sampled_from((1, 2, 4)))
def test_associative_where_admissible(a: Layout, b: Layout, n: int) -> None:
    c = Layout(n)
    if n > count(b):  # B's own values are kept, not what lies beyond them
        return
    try:
        left = composition(composition(a, b), c)
        right = composition(a, composition(b, c))
    except InputError:
        return
    assert np.array_equal(offsets(left), offsets(right))


@pytest.mark.parametrize(
    ("a", "b", "result"),
    [
        ("(6,2):(8,2)", "(4,3):(3,1)", "((2,2),3):((24,2),8)"),
        ("(10,2):(16,4)", "(5,4):(1,5)", "(5,(2,2)):(16,(80,4))"),
        ("20:2", "(5,4):(4,1)", "(5,4):(8,2)"),
        ("(4,2,8):(3,12,97)", "3:3", "3:9"),  # truncation: 3 does not divide 8, but three steps end within it
        ("(4,3):(1,5)", "24:1", "(4,6):(1,5)"),  # the last mode goes on
        ("(4,8):(1,9)", "4:-4", "4:-9"),
        ("(4,8):(1,9)", "(4,2):(8,0)", "(4,2):(18,0)"),
        ("(8,8):(8,1)", "(4,4):(1@1,2@0)", "(4,4):(1,16)"),
        ("((4,2),8):((8,1),16)", "(8,4):(1@0,2@1)", "((4,2),4):((8,1),32)"),
        ("(8,8):(1@0,1@1)", "(4,4):(1,8)", "(4,4):(1@0,1@1)"),
        ("(8,?):(?,?{div=8})", "16:2", "(4,4):(?{div=2},?{div=8})"),
        ("(8,4):(1,9)", "?{div=8}:2", "(?{div=4},?):(2,9)"),
        ("(?,8):(1,?{i64 div=2})", "4:3", "(?,?):(3,?{i64 div=2})"),
        ("32:?{div=4}", "4:?{div=8}", "4:?{div=32}"),
        ("((8,?),?,?):((1,8),?,?)", "(64,64):(1,64)", None),
        ("(16,?):(2,32)", "(16,16):(4,64)", "(16,16):(8,128)"),
        ("(4,?):(1,4)", "6:1", "6:1"),
    ],
)
def test_by_hand(a: str, b: str, result: str | None) -> None:
    if result is not None:
        assert str(composition(L(a), L(b))) == result
    else:
        with pytest.raises(InputError, match="which is"):
            composition(L(a), L("6:3"))


@pytest.mark.parametrize(
    ("a", "b", "why"),
    [
        ("(4,6,8):(2,3,5)", "6:3", "stride divisibility fails in mode 0 of (4,6,8):(2,3,5): steps of 3"),
        (
            "(4,6,8):(2,3,5)",
            "6:5",
            "stride divisibility fails: the stride 5 is not a multiple of 4, where mode 1",
        ),
        ("(4,6):(1,7)", "(2,6):(24,1)", "in its mode 6:1: shape divisibility fails in mode 0"),
        ("(6,2):(1,7)", "(3,2):(2,3)", "its modes carry: their largest steps into mode 0"),
        ("(4,8):(1,9)", "(2,2):(-1,4)", "in both directions"),
        ("(4,2,6):(1,4,9)", "6:3", "of (8,6):(1,9) (which is (4,2,6):(1,4,9), coalesced)"),
        ("(4,8):(1,9)", "?:3", "stride divisibility fails in mode 0"),
        ("(8,8):(8,1)", "(4,4):(1@2,1@0)", "has no mode 2"),
    ],
)
def test_what_stands_in_the_way_is_named(a: str, b: str, why: str) -> None:
    with pytest.raises(InputError, match=re.escape(why)):
        composition(L(a), L(b))


def test_tilers_apply_mode_by_mode() -> None:
    a = L("(8,8,2):(8,1,64)")
    assert str(composition(a, (Layout(4), Layout(2, 2)))) == "(4,2):(8,2)"
    assert str(composition(a, (None, 4))) == "(8,4):(8,1)"
    assert str(composition(L("((4,2),8):((1,4),8)"), ((2, 2), Layout(4, 2)))) == "((2,2),4):((1,4),16)"
    assert str(composition(a, (1, 4))) == "(1,4):(0,1)"
    assert composition(a, None) == a
    assert str(composition(L("(4,8):(1,5)"), Dynamic())) == "(?,?):(1,5)"
    with pytest.raises(InputError, match="more than the 2"):
        composition(L("(4,8):(1,4)"), (2, 4, 3))
    with pytest.raises(InputError, match="'b' is the text '8:1'; expected a Layout"):
        composition(a, "8:1")


def test_composed_layouts() -> None:
    swizzle, outer = Swizzle(3, 4, 3), L("(8,64):(64,1)")
    whole = composition(swizzle, outer)
    assert whole == ComposedLayout(swizzle, 0, outer)
    tile = composition(whole, L("(4,4):(1,8)"))
    assert all(tile(i) == whole(i % 4 + i // 4 * 8) for i in range(16))
    inside = composition(L("(4,8):(8,1)"), ComposedLayout(L("(4,4):(4,1)"), 3, L("2:1")))
    assert [inside(i) for i in range(2)] == [L("(4,8):(8,1)")(L("(4,4):(4,1)")(3 + i)) for i in range(2)]
    with pytest.raises(InputError, match="no composition"):
        composition(outer, whole)


def test_identity_layouts_keep_coordinates() -> None:
    a = make_identity_layout((8, 8))
    assert composition(a, L("(2,2):(1,8)"))(1, 1) == a(9)
    assert size(a) == 64
