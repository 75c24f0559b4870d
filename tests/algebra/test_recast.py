from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from layoutcheck.algebra import (
    ComposedLayout,
    Layout,
    Swizzle,
    downcast,
    parse_layout,
    recast_is_exact,
    recast_layout,
    upcast,
)
from layoutcheck.errors import InputError
from tests.algebra.reference import offsets
from tests.algebra.strategies import compact_layouts, injective_layouts, layouts

L = parse_layout


def parts(a: Layout, n: int) -> Counter[int]:
    """How often each n-th of an element is covered."""
    return Counter((offsets(a)[:, None] * n + np.arange(n)[None, :]).reshape(-1).tolist())


@settings(max_examples=50)
@given(st.one_of(layouts(), injective_layouts()), st.sampled_from((2, 3, 4, 8)))
def test_an_exact_upcast_covers_the_same_elements(a: Layout, n: int) -> None:
    if recast_is_exact(n, 1, a):  # not the reverse: (3,2):(2,1) by 3 covers the same only as a whole
        assert parts(upcast(a, n), n) == parts(a, 1)


@settings(max_examples=50)
@given(st.one_of(layouts(), compact_layouts()), st.sampled_from((2, 3, 4, 8)))
def test_an_exact_downcast_covers_the_same_parts(a: Layout, n: int) -> None:
    if recast_is_exact(1, n, a):
        assert parts(downcast(a, n), 1) == parts(a, n)


def test_every_small_upcast_is_exact_where_its_parts_are_the_same() -> None:
    """All layouts of two small modes: exact is what covers the same parts, element by element.

    Four cover the same parts only as a whole: each wider element is made of parts of several.
    """
    as_a_whole = {"(2,3):(1,2) by 3", "(3,2):(2,1) by 3", "(3,4):(4,1) by 6", "(4,3):(1,4) by 6"}
    exact = 0
    for shape in product((1, 2, 3, 4, 6), (2, 3, 4, 8)):
        for stride in product((0, 1, 2, 3, 4, 6, 8), (1, 2, 3, 4, 6, 8, 12)):
            a = Layout(shape, stride)
            for n in (2, 3, 4, 6):
                same = parts(upcast(a, n), n) == parts(a, 1) and f"{a} by {n}" not in as_a_whole
                assert recast_is_exact(n, 1, a) is same, f"{a} by {n}"
                exact += same
    assert exact == 257


def test_a_run_that_ends_inside_of_an_element_is_not_exact() -> None:
    """Elements 0 to 11 side by side, but a wider element of 4 does not end where the runs of 3 do."""
    a = L("(3,4):(1,3)")
    assert recast_is_exact(4, 1, a) is False
    assert str(upcast(a, 4)) == "(1,2):(1,1)"


@given(compact_layouts())
def test_down_and_up_again(a: Layout) -> None:
    if recast_is_exact(8, 32, a):
        assert parts(recast_layout(32, 8, recast_layout(8, 32, a)), 1) == parts(a, 1)
    assert recast_layout(16, 16, a) == a


@pytest.mark.parametrize(
    ("new", "old", "a", "result", "exact"),
    [
        (32, 16, "(8,8):(63,1)", "(8,4):(32,1)", False),  # the odd pitch is rounded up
        (32, 16, "(8,8):(64,1)", "(8,4):(32,1)", True),
        (32, 16, "(8,7):(8,1)", "(8,4):(4,1)", False),
        (32, 16, "(8,8):(?,1)", "(8,4):(?,1)", None),
        (32, 16, "(8,8):(?{i64 div=8},1)", "(8,4):(?{i64},1)", True),
        (32, 16, "(8,?):(8,1)", "(8,?):(4,1)", None),
        (32, 16, "(8,?{div=2}):(8,1)", "(8,?):(4,1)", True),
        (16, 32, "(8,8):(8,1)", "(8,16):(16,1)", True),
        (16, 32, "(8,8):(8,2)", "(8,8):(16,4)", False),
        (16, 32, "(8,8):(?,2)", "(8,8):(?{div=2},4)", None),
        (24, 16, "(8,12):(12,1)", "(8,8):(8,1)", True),
        (128, 16, "(8,(4,2)):(16,(1,4))", "(8,(1,1)):(2,(1,1))", True),
        (32, 16, "8:-1", "4:-1", False),
        (32, 16, "8:-3", "8:-2", False),
        (32, 16, "(8,2):(0,1)", "(8,1):(0,1)", True),
    ],
)
def test_by_hand(new: int, old: int, a: str, result: str, exact: bool | None) -> None:
    assert recast_is_exact(new, old, L(a)) is exact
    r = recast_layout(new, old, L(a))
    assert str(r) == result


def test_swizzles_count_elements() -> None:
    whole = ComposedLayout(Swizzle(3, 3, 3), 8, L("(8,64):(64,1)"))
    assert str(recast_layout(32, 16, whole)) == "S<3,2,3> o 4 o (8,32):(32,1)"
    assert str(recast_layout(8, 16, whole)) == "S<3,4,3> o 16 o (8,128):(128,1)"
    for x in range(0, 512, 2):
        assert Swizzle(3, 2, 3)(x // 2) == Swizzle(3, 3, 3)(x) // 2


def test_refusals() -> None:
    with pytest.raises(InputError, match="at least 1 bit"):
        recast_layout(0, 16, L("8:1"))
    with pytest.raises(InputError, match="positive factor"):
        upcast(L("8:1"), -2)
    with pytest.raises(InputError, match="counts coordinates"):
        recast_layout(32, 16, L("(8,8):(1@0,1@1)"))
    whole = ComposedLayout(Swizzle(3, 3, 3), 3, L("(8,64):(64,1)"))
    with pytest.raises(InputError, match="offset 3"):
        upcast(whole, 2)
    with pytest.raises(InputError, match="a power of two"):
        upcast(whole, 3)
