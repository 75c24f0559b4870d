"""Whatever layouts go in, run-time, negative, enormous, basis: an answer or an InputError comes out."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from layoutcheck import algebra
from layoutcheck.algebra import Dynamic, Layout
from layoutcheck.errors import InputError
from tests.algebra.strategies import DYNAMIC, anything, composed_layouts, layouts, swizzles, trees

MIXED = st.one_of(anything(), layouts(strides=st.integers(-9, 24)))
UNARY = """coalesce cosize depth filter filter_zeros flatten_layout left_inverse max_alignment
    nullspace rank right_inverse size image""".split()  # noqa: SIM905 - a list of names reads best as words
BINARY = """blocked_product complement composition flat_divide flat_product logical_divide logical_product
    max_common_layout max_common_vector raked_product tiled_divide tiled_product zipped_divide zipped_product
    zip_modes""".split()  # noqa: SIM905
TREES = trees(st.one_of(st.integers(-4, 10**12), DYNAMIC, st.none()), 4)


def survives(name: str, *arguments: Any, **options: Any) -> None:
    with contextlib.suppress(InputError):
        result = getattr(algebra, name)(*arguments, **options)
        if isinstance(result, Layout):
            assert algebra.parse_layout(str(result)) == result


@pytest.mark.parametrize("name", UNARY)
@settings(max_examples=15)
@given(a=MIXED)
def test_of_one_layout(name: str, a: Layout) -> None:
    survives(name, a)


@pytest.mark.parametrize("name", BINARY)
@settings(max_examples=15)
@given(a=MIXED, b=MIXED)
def test_of_two_layouts(name: str, a: Layout, b: Layout) -> None:
    survives(name, a, b)
    if "max_common" not in name and name != "zip_modes":
        survives(name, a, b, strict=False)


@given(MIXED, TREES)
def test_of_a_layout_and_a_tree(a: Layout, t: Any) -> None:
    for name in ("slice_", "dice", "slice_and_offset", "composition", "logical_divide", "zipped_divide"):
        survives(name, a, t)
    for name in ("logical_product", "tiled_product", "tile_to_shape", "coalesce", "filter", "complement"):
        survives(name, a, t)
    survives("crd2idx", t, a)
    survives("idx2crd", t, a.shape)
    survives("make_identity_layout", t)
    survives("make_ordered_layout", a.shape, t)


@given(MIXED, st.integers(-2, 64), st.integers(-2, 64))
def test_of_a_layout_and_numbers(a: Layout, m: int, n: int) -> None:
    for name in ("recast_layout", "recast_is_exact"):
        survives(name, m, n, a)
    for name in ("upcast", "downcast"):
        survives(name, a, n)
    survives("group_modes", a, m, n)
    survives("select", a, (m, n))
    survives("get", a, (m, n))
    survives("crd2idx", m, a)
    survives("crd2idx", Dynamic(abs(m) + 1), a)


@given(composed_layouts(), MIXED, swizzles())
def test_of_composed_layouts(whole: Any, b: Layout, s: Any) -> None:
    for name in ("coalesce", "image", "size", "rank", "max_alignment"):
        survives(name, whole)
    for name in ("composition", "logical_divide", "zipped_divide", "blocked_product", "logical_product"):
        survives(name, whole, b)
        survives(name, s, b)
        survives(name, b, whole)
    survives("recast_layout", 32, 16, whole)
    survives("slice_", whole, (None, 1))
