from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutcheck.algebra import (
    ComposedLayout,
    Layout,
    Swizzle,
    parse_any_layout,
    parse_layout,
    parse_swizzle,
    parse_tile,
    parse_tiler,
    parse_tree,
    print_tile,
    print_tiler,
)
from layoutcheck.algebra.layout import text
from layoutcheck.errors import InputError
from tests.algebra.strategies import DYNAMIC, anything, composed_layouts, swizzles, trees

TILES = st.recursive(
    st.one_of(anything(), st.none()), lambda t: st.lists(t, min_size=1, max_size=3).map(tuple), max_leaves=5
)


@given(anything())
def test_layouts_round_trip(a: Layout) -> None:
    assert parse_layout(str(a)) == a == parse_any_layout(str(a))


@given(composed_layouts())
def test_composed_layouts_round_trip(a: ComposedLayout) -> None:
    assert parse_any_layout(str(a)) == a


@given(swizzles())
def test_swizzles_round_trip(a: Swizzle) -> None:
    assert parse_swizzle(str(a)) == a


@given(trees(st.one_of(st.integers(-(10**18), 10**18), DYNAMIC), 6))
def test_trees_round_trip(a: Any) -> None:
    assert parse_tree(text(a)) == a


@given(st.lists(anything(), min_size=1, max_size=4).map(tuple))
def test_tilers_round_trip(a: tuple[Layout, ...]) -> None:
    assert parse_tiler(print_tiler(a)) == a == parse_tile(print_tile(a))


@given(TILES.filter(lambda t: isinstance(t, tuple)))
def test_tiles_round_trip(a: Any) -> None:
    assert parse_tile(print_tile(a)) == a


@given(st.text(alphabet="()[]<>{},;:?@_- oS0123456789divi64=\n", max_size=40))
def test_any_text_is_read_or_refused(written: str) -> None:
    for parse in (parse_layout, parse_any_layout, parse_swizzle, parse_tile, parse_tiler, parse_tree):
        try:
            read = parse(written)
        except InputError as error:
            assert error.text == written
            continue
        if isinstance(read, (Layout, ComposedLayout)):
            assert parse(str(read)) == read


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        (" ( 8 , 4 ) : ( 1 , ?{ div = 8 } ) ", "(8,4):(1,?{div=8})"),
        ("(4,1,2)", "(4,1,2):(1,0,4)"),
        ("(8,)", "(8):(1)"),
        ("(8):(?{i32})", "(8):(?)"),
        ("(8):(?{i64 div=4})", "(8):(?{i64 div=4})"),
        ("(8,8):(2@1@0,?{div=2}@1)", "(8,8):(2@1@0,?{div=2}@1)"),
        ("Sw<3,4,3> o (0) o (8):(1)", "S<3,4,3> o (0) o (8):(1)"),
    ],
)
def test_other_spellings(written: str, printed: str) -> None:
    assert str(parse_any_layout(written)) == printed


def test_tiles_by_hand() -> None:
    assert parse_tile("[4:1;_;[2:1;2:2]]") == (Layout(4, 1), None, (Layout(2, 1), Layout(2, 2)))
    assert parse_tile("(16,(8,8))") == (16, (8, 8))
    assert parse_tile("16") == 16


@pytest.mark.parametrize(
    ("parse", "written", "caret", "why"),
    [
        (parse_layout, "(4,8:(1,4)", 4, "'\\)'"),
        (parse_layout, "(4,8):(1,4,5)", 6, "do not match"),
        (parse_layout, "(4,0):(1,4)", 0, "at least 1"),
        (parse_layout, "()", 0, "an empty tuple"),
        (parse_layout, "8:1@-1", 6, "a basis stride"),
        (parse_layout, "8:?{div=0}", 3, "unknown fact"),
        (parse_layout, "(" * 5000, 32, "nested more than 32 deep"),
        (parse_tile, "[" * 5000, 32, "nested more than 32 deep"),
        (parse_tile, "[4:1", 4, "'\\]'"),
        (parse_layout, "1" * 40, 0, "64 bits"),
        (parse_layout, f"({','.join(['2'] * 5000)})", 8193, "more than 4096"),
        (parse_any_layout, "S<3,4> o 0 o 8:1", 5, "','"),
        (parse_swizzle, "S<3,4,1>", 0, "overlaps itself"),
        (parse_swizzle, "8:1", 0, "not a swizzle"),
    ],
)
def test_the_place_is_shown(parse: Any, written: str, caret: int, why: str) -> None:
    with pytest.raises(InputError, match=why) as raised:
        parse(written)
    assert abs(raised.value.start - caret) <= 1
    assert len(str(raised.value)) < 500
