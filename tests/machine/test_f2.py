from __future__ import annotations

import doctest

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from layoutcheck.algebra.image import image
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.machine import banks, f2


@st.composite
def warps(draw: st.DrawFn) -> tuple[Layout, Swizzle | None, int, str]:
    """A power-of-two layout of 32 lanes (strides of any kind, in accesses), a swizzle, a width, an op."""
    shape: list[int] = []
    while (done := int(np.prod(shape))) < 32:
        shape.append(draw(st.sampled_from([e for e in (2, 4, 8, 16, 32) if done * e <= 32])))
    stride = draw(
        st.lists(st.sampled_from([0, *(1 << n for n in range(11)), 3, 9, 65]), min_size=5, max_size=5)
    )
    width = draw(st.sampled_from([8, 16, 32, 64, 128]))
    op = draw(st.sampled_from(["ld", "st", *(["matrix"] if width == 128 else [])]))
    swizzle = None
    if draw(st.booleans()):
        bits = draw(st.integers(0, 4))
        swizzle = Swizzle(
            bits, draw(st.integers(max(0, (width // 8).bit_length() - 1), 7)), bits + draw(st.integers(0, 3))
        )
    return Layout(tuple(shape), tuple(stride[: len(shape)])), swizzle, width, op


@given(warps(), st.integers(0, 7))
@settings(max_examples=80, deadline=None)
def test_ranks_agree_with_enumeration(warp: tuple[Layout, Swizzle | None, int, str], base: int) -> None:
    layout, swizzle, width, op = warp
    matrix = f2.columns(layout, width // 8)
    assume(matrix is not None)
    assert matrix is not None
    addresses = image(layout) * (width // 8) + (base << 20)
    if swizzle is not None:
        addresses = swizzle(addresses)
        matrix = f2.swizzled(matrix, swizzle)
    assert f2.wavefronts(matrix, width, op) == banks.wavefronts(addresses[None], width, op).wavefronts[0]


@given(st.lists(st.integers(0, 255), max_size=8))
def test_the_rank_counts_the_span(columns: list[int]) -> None:
    span = {0}
    for column in columns:
        span |= {x ^ column for x in span}
    assert len(span) == 1 << f2.rank(columns)


@given(warps())
@settings(max_examples=100, deadline=None)
def test_columns_are_the_layout_or_none(warp: tuple[Layout, Swizzle | None, int, str]) -> None:
    layout, _, _, _ = warp
    matrix = f2.columns(layout)
    values = image(layout)
    linear = all(values[i ^ j] == values[i] ^ values[j] for i in range(32) for j in (1, 2, 4, 8, 16))
    assert (matrix is not None) == linear
    if matrix is not None:
        assert [int(values[1 << bit]) for bit in range(5)] == matrix


def test_what_is_not_linear_has_no_columns() -> None:
    assert f2.columns(Layout((3, 2), (1, 4))) is None
    assert f2.columns(Layout((4, 2), (1, 3))) is None
    assert f2.columns(Layout((2, 2), (-1, 2))) is None
    assert f2.columns(Layout((4, 2), (1, 4)), 2) == [2, 4, 8]


def test_the_examples_in_the_text() -> None:
    assert doctest.testmod(f2).failed == 0
