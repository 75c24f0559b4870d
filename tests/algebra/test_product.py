from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from layoutcheck.algebra import (
    ComposedLayout,
    Layout,
    Swizzle,
    blocked_product,
    flat_product,
    logical_product,
    make_ordered_layout,
    parse_layout,
    raked_product,
    size,
    tile_to_shape,
    tiled_product,
    zipped_product,
)
from layoutcheck.errors import InputError
from tests.algebra.reference import count, offset, offsets
from tests.algebra.strategies import compact_layouts, injective_layouts

L = parse_layout


@settings(max_examples=50)
@given(injective_layouts(3), compact_layouts(2))
def test_copies_of_the_block_are_disjoint(a: Layout, b: Layout) -> None:
    try:
        r = logical_product(a, b)
    except InputError:
        return
    assert r[0] == a
    assert count(r[1]) == count(b)
    assert len(np.unique(offsets(r))) == count(a) * count(b)
    order = np.argsort(offsets(b))  # copies lie in the order of the tiler's offsets
    assert np.all(np.diff(offsets(r[1])[order]) > 0)


@settings(max_examples=40)
@given(injective_layouts(3), compact_layouts(3))
def test_blocked_and_raked_hold_the_logical_product(a: Layout, b: Layout) -> None:
    try:
        blocked, raked = blocked_product(a, b), raked_product(a, b)
        flat, zipped, tiled = flat_product(a, b), zipped_product(a, b), tiled_product(a, b)
    except InputError:
        return
    logical = logical_product(a, b)
    whole = np.sort(offsets(logical))
    assert np.array_equal(np.sort(offsets(blocked)), whole)
    assert np.array_equal(np.sort(offsets(raked)), whole)
    assert len(blocked) == len(raked) == max(len(a), len(b))
    assert np.array_equal(offsets(flat), offsets(logical))
    assert zipped == logical
    assert tiled.modes[0] == a


@settings(max_examples=40)
@given(
    compact_layouts(2),
    st.lists(st.sampled_from((1, 2, 3)), min_size=2, max_size=3),
    st.permutations((0, 1, 2)),
)
def test_tile_to_shape_has_the_shape_and_every_offset_once(
    block: Layout, copies: list[int], order: Any
) -> None:
    parts = [size(m) for m in block.modes] + [1] * 3
    shape = tuple(c * p for c, p in zip(copies, parts, strict=False))
    if len(block) > len(shape):
        return
    r = tile_to_shape(block, shape, tuple(sorted(range(len(shape)), key=lambda i: order[i])))
    assert tuple(size(m) for m in r.modes) == shape
    assert np.array_equal(np.sort(offsets(r)), np.arange(count(r)))
    inner = np.array([m[0](i) for m in r.modes[:1] for i in range(count(m[0]))])
    assert np.array_equal(inner, offset(block, np.arange(len(inner))))


@pytest.mark.parametrize(
    ("product", "a", "b", "result"),
    [
        (logical_product, "(2,2):(4,1)", "3:2", "((2,2),3):((4,1),8)"),
        (logical_product, "(2,2):(1,6)", "6:1", "((2,2),(3,2)):((1,6),(2,12))"),
        (logical_product, "4:1", "(?,2):(1,?)", "(4,(?,2)):(1,(4,?{div=4}))"),
        (
            logical_product,
            "(3,4):(8,2)",
            "(2):(0)",
            "((3,4),(2)):((8,2),(0))",
        ),  # one place: no room is needed
        (blocked_product, "(2,2):(1,2)", "(3,4):(1,3)", "((2,3),(2,4)):((1,4),(2,12))"),
        (blocked_product, "4:1", "(3,4):(4,1)", "((4,3),(1,4)):((1,16),(0,4))"),
        (blocked_product, "4:2", "8:1", "((4,(2,4))):((2,(1,8)))"),
        (raked_product, "(2,2):(1,2)", "(3,4):(1,3)", "((3,2),(4,2)):((4,1),(12,2))"),
        (raked_product, "4:1", "3:1", "((3,4)):((4,1))"),
        (tiled_product, "(2,2):(1,2)", "(3,4):(1,3)", "((2,2),3,4):((1,2),4,12)"),
        (flat_product, "(2,2):(1,2)", "(3,4):(1,3)", "(2,2,3,4):(1,2,4,12)"),
    ],
)
def test_by_hand(product: Any, a: str, b: str, result: str) -> None:
    assert str(product(L(a), L(b))) == result


def test_tilers_apply_mode_by_mode() -> None:
    assert str(logical_product(L("(2,2):(1,2)"), (3, L("4:1")))) == "((2,3),(2,(2,2))):((1,2),(2,(1,4)))"
    assert str(logical_product(L("(2,4):(1,2)"), (3, None))) == "((2,3),4):((1,2),2)"
    assert str(zipped_product(L("(2,4):(1,2)"), (3,))) == "((2),(3,4)):((1),(2,2))"


def test_tile_to_shape_by_hand() -> None:
    block = L("(8,64):(64,1)")
    assert str(tile_to_shape(block, (64, 128, 2))) == "((8,8),(64,2),(1,2)):((64,512),(1,4096),(0,8192))"
    assert (
        str(tile_to_shape(block, (64, 128, 2), (2, 1, 0)))
        == "((8,8),(64,2),(1,2)):((64,2048),(1,1024),(0,512))"
    )
    assert str(tile_to_shape(block, (63, 128), strict=False)) == "((8,8),(64,2)):((64,512),(1,4096))"
    swizzled = ComposedLayout(Swizzle(3, 3, 3), 0, block)
    assert tile_to_shape(swizzled, (64, 64)).outer == tile_to_shape(block, (64, 64))
    assert blocked_product(swizzled, L("(2,2):(1,2)")).outer == blocked_product(block, L("(2,2):(1,2)"))
    assert raked_product(swizzled, L("(2,2):(1,2)")).outer == raked_product(block, L("(2,2):(1,2)"))
    assert logical_product(swizzled, L("2:1")).outer == logical_product(block, L("2:1"))


def test_ordered_layouts() -> None:
    assert str(make_ordered_layout((3, (5, 7)), (2, (0, 1)))) == "(3,(5,7)):(35,(1,5))"
    assert str(make_ordered_layout((4, 1, 2), (0, 1, 2))) == "(4,1,2):(1,0,4)"
    with pytest.raises(InputError, match="does not fit"):
        make_ordered_layout((3, 5), (0,))


def test_refusals() -> None:
    with pytest.raises(InputError, match="no complement"):
        logical_product(L("(2,2):(1,1)"), L("3:1"))
    with pytest.raises(InputError, match="inadmissible composition"):
        logical_product(L("(2,2):(1,6)"), L("7:1"))
    with pytest.raises(InputError, match="in mode 0, 8 does not divide 63"):
        tile_to_shape(L("(8,64):(64,1)"), (63, 64))
    with pytest.raises(InputError, match="more modes"):
        tile_to_shape(L("(8,8):(8,1)"), 64)
    with pytest.raises(InputError, match="more than the 2"):
        logical_product(L("(8,8):(8,1)"), (1, 2, 3))
    with pytest.raises(InputError, match="'tiler' is the text '2'; expected a Layout"):
        logical_product(L("8:1"), "2")
