from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from layoutcheck.algebra import (
    ComposedLayout,
    Dynamic,
    Layout,
    Swizzle,
    flat_divide,
    logical_divide,
    parse_layout,
    parse_tile,
    size,
    tiled_divide,
    zipped_divide,
)
from layoutcheck.errors import InputError
from tests.algebra.reference import count, leaves, offset, offsets
from tests.algebra.strategies import injective_layouts, layouts

L = parse_layout


@settings(max_examples=50)
@given(layouts(), injective_layouts(2))
def test_mode_0_is_the_tile_and_all_tiles_cover_the_layout(a: Layout, t: Layout) -> None:
    try:
        r = logical_divide(a, t)
    except InputError:
        return
    assert np.array_equal(offsets(r[0]), offset(a, offsets(t)))
    indices = logical_divide(Layout(count(a), 1), t)  # the same division of the indices themselves
    assert np.array_equal(offsets(r), offset(a, offsets(indices)))
    assert np.array_equal(np.sort(offsets(indices)), np.arange(count(indices)))
    assert count(indices) >= count(a)


@settings(max_examples=50)
@given(layouts(3), st.lists(st.sampled_from((1, 2, 3, 4)), min_size=1, max_size=3))
def test_the_four_divides_hold_the_same_elements(a: Layout, sizes: list[int]) -> None:
    tiler = tuple(sizes[: len(a)])
    try:
        logical = logical_divide(a, tiler)
    except InputError:
        for other in (zipped_divide, tiled_divide, flat_divide):
            with pytest.raises(InputError):
                other(a, tiler)
        return
    zipped, tiled, flat = zipped_divide(a, tiler), tiled_divide(a, tiler), flat_divide(a, tiler)
    k = len(tiler)
    assert (
        [zipped[0][i] for i in range(k)] == [logical[i][0] for i in range(k)] == [flat[i] for i in range(k)]
    )
    assert [zipped[1][i] for i in range(k)] == [logical[i][1] for i in range(k)]
    assert zipped[1].modes == tiled.modes[1:] == flat.modes[k:]
    assert zipped[1].modes[k:] == a.modes[k:]
    assert np.array_equal(offsets(zipped), offsets(tiled))
    assert np.array_equal(offsets(zipped), offsets(flat))
    assert sorted(leaves(zipped.stride), key=str) == sorted(leaves(logical.stride), key=str)


@pytest.mark.parametrize(
    ("divide", "a", "tiler", "result"),
    [
        (logical_divide, "24:3", "4:2", "(4,(2,3)):(6,(3,24))"),
        (logical_divide, "35:2", "3:1", "(3,12):(2,6)"),  # rounded up: the last tile reaches beyond
        (logical_divide, "(8,8):(8,1)", "[2:1;4:2]", "((2,4),(4,2)):((8,16),(2,1))"),
        (logical_divide, "(8,8):(8,1)", "[_;4:2]", "(8,(4,2)):(8,(2,1))"),
        (logical_divide, "(8,8):(8,1)", "(3,16)", "((3,3),(16,1)):((8,24),(1,0))"),
        (logical_divide, "(8,?{div=8}):(?{div=8},1)", "(4,4)", "((4,2),(4,?)):((?{div=8},?{div=32}),(1,4))"),
        (
            zipped_divide,
            "((4,2),8):((8,1),16)",
            "[[2:1;2:1];4:1]",
            "(((2,2),4),((2,1),2)):(((8,1),16),((16,0),64))",
        ),
        (tiled_divide, "(8,8,8):(8,1,64)", "[2:1;4:2]", "((2,4),4,2,8):((8,2),16,1,64)"),
        (tiled_divide, "(8,8,8):(8,1,64)", "[4:2]", "((4),2,8,8):((16),8,1,64)"),
        (flat_divide, "64:1", "(4,2):(2,16)", "(4,2,2,2,2):(2,16,1,8,32)"),
        (flat_divide, "(8,8,8):(8,1,64)", "4:2", "(4,2,(8,8)):(16,8,(1,64))"),
    ],
)
def test_by_hand(divide: Any, a: str, tiler: str, result: str) -> None:
    t = L(tiler) if ":" in tiler and "[" not in tiler else parse_tile(tiler)
    assert str(divide(L(a), t)) == result


def test_basis_tilers_pick_modes() -> None:
    assert str(logical_divide(L("(8,8):(8,1)"), L("4:1@1"))) == "(4,(8,2)):(1,(8,4))"


def test_refusals() -> None:
    with pytest.raises(InputError, match="more than the 2"):
        logical_divide(L("(8,8):(8,1)"), (2, 2, 2))
    with pytest.raises(InputError, match="more than the 1"):
        zipped_divide(L("8:1"), (2, 2))
    with pytest.raises(InputError, match="left undivided"):
        zipped_divide(L("(8,8):(8,1)"), (None, 4))
    with pytest.raises(InputError, match="'tiler' is the int 0; expected a Layout"):
        logical_divide(L("8:1"), 0)
    with pytest.raises(InputError, match="inadmissible composition"):
        logical_divide(L("(8,8):(8,1)"), L("6:1"))
    with pytest.raises(InputError, match="no complement"):
        logical_divide(L("64:1"), L("(2,2):(1,3)"))


def test_composed_layouts_divide_their_outer_one() -> None:
    whole = ComposedLayout(Swizzle(3, 4, 3), 0, L("(8,64):(64,1)"))
    for divide in (logical_divide, zipped_divide, tiled_divide, flat_divide):
        assert divide(whole, (4, 8)) == ComposedLayout(whole.inner, 0, divide(whole.outer, (4, 8)))


def test_a_run_time_tile() -> None:
    assert size(logical_divide(L("64:1"), Dynamic(4))[0]) == Dynamic(4)
