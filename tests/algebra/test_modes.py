"""measure.py, modes.py, slicing.py, layout.py: sizes, parts and single values."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutcheck import algebra
from layoutcheck.algebra import (
    Basis,
    ComposedLayout,
    Dynamic,
    Layout,
    Swizzle,
    append,
    compact_row_major,
    cosize,
    crd2idx,
    depth,
    dice,
    flatten_layout,
    get,
    group_modes,
    idx2crd,
    image,
    inttuple,
    make_identity_layout,
    make_layout,
    max_alignment,
    modes,
    parse_any_layout,
    parse_layout,
    prepend,
    rank,
    select,
    size,
    slice_,
    slice_and_offset,
    zip_modes,
)
from layoutcheck.errors import InputError
from tests.algebra.reference import count, leaves, offset, offsets
from tests.algebra.strategies import anything, layouts, shapes

L = parse_layout


@given(layouts(5, strides=st.integers(-9, 24)))
def test_sizes(a: Layout) -> None:
    assert size(a) == size(a.shape) == count(a)
    assert cosize(a) == np.ptp(offsets(a)) + 1
    assert rank(a) == len(a) == rank(a.shape)
    assert depth(a) == depth(a.shape)


@given(layouts(5))
def test_leaves_stand_at_their_paths(a: Layout) -> None:
    found = modes.leaves(a)
    assert [get(a, leaf.path) for leaf in found] == [Layout(leaf.extent, leaf.stride) for leaf in found]
    assert tuple(leaf.extent for leaf in found) == inttuple.flatten(a.shape)


@given(layouts(5))
def test_evaluation_in_all_its_forms(a: Layout) -> None:
    everything = offsets(a)
    assert np.array_equal(image(a), everything)
    for i in range(0, count(a), 7):
        assert a(i) == crd2idx(i, a) == everything[i]
        coord = idx2crd(i, a.shape)
        assert a(coord) == everything[i]
        if len(a) > 1:
            assert a(*coord) == everything[i]
        assert a(-i) == -everything[i]


@given(shapes(5))
def test_index_and_coordinate_are_inverse(shape: Any) -> None:
    for i in range(0, size(shape), 5):  # type: ignore[arg-type]
        assert crd2idx(idx2crd(i, shape), shape) == i
    assert idx2crd(idx2crd(5, shape), shape) == idx2crd(5, shape)


@given(layouts(5), st.integers(0, 31), st.integers(0, 999))
def test_slice_keeps_the_free_modes(a: Layout, free: int, fixed: int) -> None:
    a = append(a)  # a tuple of modes in any case
    coord = tuple(None if free >> i & 1 else fixed % count(m) for i, m in enumerate(a.modes))
    kept, at = slice_and_offset(a, coord)
    assert kept == slice_(a, coord)
    walked = [
        offsets(m) if c is None else offset(m, np.array([c])) for m, c in zip(a.modes, coord, strict=True)
    ]
    expected = np.zeros(1, dtype=np.int64)
    for steps in walked:
        expected = (steps[:, None] + expected[None, :]).reshape(-1)
    if None not in coord:
        assert (kept, at) == (Layout((), ()), expected[0])
        return
    assert np.array_equal(at + offsets(kept), expected)


def test_slices_by_hand() -> None:
    a = L("(2,(3,(4,5))):(1,(2,(6,24)))")
    assert str(slice_(a, (0, (0, (None, 1))))) == "(4):(6)"
    assert str(slice_(a, (None, 5))) == "(2):(1)"
    assert slice_(a, None) == a == algebra.slice(a, None)
    assert str(dice(a, (0, (0, (None, 1))))) == "(2,3,5):(1,2,24)"
    assert dice(a, 3) == a
    assert slice_and_offset(a, (1, (None, (1, 2)))) == (L("(3):(2)"), 1 + 6 + 48)
    whole = ComposedLayout(Swizzle(3, 4, 3), 8, L("(8,64):(64,1)"))
    assert str(slice_(whole, (1, None))) == "S<3,4,3> o 72 o (64):(1)"
    assert slice_and_offset(whole, (1, None))[1] == 0
    for coord, why in (((0, 1, None), r"\(0,1,_\) does not fit"), ((0, (None,)), "does not fit")):
        with pytest.raises(InputError, match=why):
            slice_(a, coord)
    assert str(slice_(a, 0)) == str(slice_(a, (1, (2, (3, 4))))) == "():()"
    assert str(slice_(whole, (1, 2))) == "S<3,4,3> o 74 o ():()"


@pytest.mark.parametrize(
    ("coord", "a", "offset"),
    [
        ((1, Dynamic()), "(2,(3,4)):(1,(2,6))", "?"),
        (Dynamic(4), "(2,(4,4)):(1,(16,8))", "?{div=8}"),
        ((1, Dynamic(2)), "(2,?):(4,?{div=8})", "?{div=4}"),
        (Dynamic(16), "(8,16):(1,9)", "?{div=18}"),
        (Dynamic(4), "(8,16):(1,9)", "?"),
        (0, "((2,?{div=4}),1):((24,-3),?{i64})", "0"),
        ((0, (None, 1)), "(2,(3,4)):(1,(2,6))", "6"),
        ((1, 2), "(4,8):(1@0,1@1)", "(1, 2)"),
        ((Dynamic(), 2), "(4,8):(1@0,1@1)", "(?, 2)"),
        (100, "(4,8):(1,4)", "100"),
        (-3, "(4,8):(1,9)", "-3"),
    ],
)
def test_run_time_coordinates(coord: Any, a: str, offset: str) -> None:
    assert str(crd2idx(coord, L(a))) == offset


def test_coordinates_that_do_not_fit() -> None:
    for coord in ((1, 2, 3), ((1, 2), 2)):
        with pytest.raises(InputError, match="does not fit"):
            crd2idx(coord, L("(4,8):(1,4)"))
    with pytest.raises(InputError, match="does not fit"):
        idx2crd((1, 2), 8)
    assert idx2crd(Dynamic(8), (4, 8)) == (0, Dynamic(2))
    assert idx2crd(-3, (4, 8)) == (-3, 0)


def test_cosize_by_hand() -> None:
    assert cosize(L("(4,8):(?{div=8},16)")) == Dynamic()
    assert cosize(L("(4,8):(1@0,2@1)")) == 4 * 15
    assert cosize(L("(4,8):(0,0)")) == 1


@pytest.mark.parametrize(
    ("a", "n"),
    [
        ("(8,16):(1,12)", 4),
        ("(8,16):(1,6)", 2),
        ("(8,4):(1,60)", 4),
        ("(8,4):(1,9)", 1),
        ("(8,4):(1,8)", 32),
        ("(8,4):(1,?)", 8),
        ("(8,4):(2,16)", 1),
        ("(8,4):(0,1)", 4),
        ("(4,4):(1@0,1@1)", 1),
    ],
)
def test_max_alignment(a: str, n: int) -> None:
    assert max_alignment(L(a)) == n


def test_max_alignment_of_a_composed_layout() -> None:
    with pytest.raises(InputError, match="swizzle"):
        max_alignment(parse_any_layout("S<3,4,3> o 0 o (8,8):(8,1)"))


@given(layouts(5))
def test_rearranging_modes_keeps_the_function(a: Layout) -> None:
    flat = flatten_layout(a)
    assert depth(flat) <= 1
    assert np.array_equal(offsets(flat), offsets(a))
    for begin in range(len(a)):
        grouped = group_modes(a, begin)
        assert leaves(grouped.stride) == leaves(a.stride)
        assert len(grouped) == begin + 1
        assert grouped == group_modes(a, begin - len(a))
    assert np.array_equal(offsets(append(a)), offsets(a))
    assert np.array_equal(offsets(prepend(a)), offsets(a))
    assert make_layout(*a.modes).modes == a.modes
    assert select(a, range(len(a))).modes == a.modes


def test_modes_by_hand() -> None:
    a = L("(2,3,5):(1,2,6)")
    assert str(group_modes(a, 0, 2)) == "((2,3),5):((1,2),6)"
    assert str(select(a, (2, 0))) == "(5,2):(6,1)"
    assert str(append(a, L("7:9"), up_to_rank=5)) == "(2,3,5,7,7):(1,2,6,9,9)"
    assert append(a, up_to_rank=2) == prepend(a, up_to_rank=3) == a
    assert str(append(L("4:1"), up_to_rank=1)) == str(prepend(L("4:1"), up_to_rank=1)) == "4:1"
    assert str(prepend(L("4:1"), up_to_rank=3)) == "(1,1,4):(0,0,1)"
    assert str(zip_modes(L("(2,3):(1,2)"), L("(4,5):(6,24)"))) == "((2,4),(3,5)):((1,6),(2,24))"
    assert str(get(L("(2,(3,5)):(1,(2,6))"), (1, 0))) == "3:2"
    assert str(make_identity_layout((2, (3, 4)))) == "(2,(3,4)):(1@0,(1@0@1,1@1@1))"
    assert str(make_identity_layout(4)) == "4:1"
    assert compact_row_major((4, 1, (2, 3))) == (6, 0, (3, 1))
    for bad in ((1, 5), (2, 1), (1, 1), (3,), (-4, 1)):
        with pytest.raises(InputError, match="cannot group"):
            group_modes(a, *bad)
    with pytest.raises(InputError, match=r"has no mode 1\.2"):
        get(a, (1, 2))


def test_identity_maps_coordinates_to_themselves() -> None:
    a = make_identity_layout((2, (3, 4)))
    assert a(1, (2, 3)) == (1, (2, 3))


def test_layouts_are_values() -> None:
    a = L("(2,(3,4)):(1,(2,6))")
    assert a == Layout((2, (3, 4)), (1, (2, 6))) != L("(2,12):(1,2)")
    assert len({a, L(str(a))}) == 1
    assert pickle.loads(pickle.dumps(a)) == a
    assert repr(a) == "Layout('(2,(3,4)):(1,(2,6))')"
    assert a.is_static
    assert not L("4:?").is_static
    assert not L("4:?@0").is_static
    with pytest.raises(AttributeError):
        a.shape = 3


@pytest.mark.parametrize(
    ("shape", "stride", "why"),
    [
        (0, None, "at least 1"),
        ((4, -1), None, "at least 1"),
        (4.0, None, "made of integers"),
        ("4", None, "made of integers"),
        (4, "x", "made of integers"),
        ((4, 8), (1, 2, 3), "do not match"),
        ((4, 8), 1, "do not match"),
    ],
)
def test_bad_layouts(shape: Any, stride: Any, why: str) -> None:
    with pytest.raises(InputError, match=why):
        Layout(shape, stride)


def test_deep_nesting_is_refused_without_recursion() -> None:
    deep: Any = 2
    for _ in range(5000):
        deep = (deep,)
    with pytest.raises(InputError, match="nested more than 32 deep"):
        Layout(deep)
    with pytest.raises(InputError, match="nested more than 32 deep"):
        Layout(2, deep)


def test_basis_strides_name_a_mode() -> None:
    for path in ((), (-1,)):
        with pytest.raises(InputError, match="a basis stride"):
            Basis(1, path)


@given(anything())
def test_every_layout_has_a_size_and_a_cosize(a: Layout) -> None:
    assert str(size(a))
    assert str(cosize(a))
