from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from layoutcheck.algebra import ComposedLayout, Layout, Swizzle, image, parse_any_layout, parse_layout
from layoutcheck.algebra.image import MAX_IMAGE
from layoutcheck.errors import InputError
from tests.algebra.reference import offset, offsets
from tests.algebra.strategies import layouts, swizzles


@given(swizzles())
def test_a_swizzle_is_an_involution_on_its_bits(s: Swizzle) -> None:
    x = np.arange(1 << 12)
    y = s(x)
    assert np.array_equal(s(y), x)
    assert np.array_equal(y // s.granule * s.granule + x % s.granule, y)
    for i in (0, 1, 77, 1000, 4095):
        assert s(i) == y[i]
        assert s(i + s.period) == s(i) + s.period


@given(swizzles(), layouts(3))
def test_composed_layouts_apply_it_to_the_offset(s: Swizzle, a: Layout) -> None:
    whole = ComposedLayout(s, 16, a)
    assert np.array_equal(image(whole), [s(int(x) + 16) for x in offsets(a)])
    assert whole(0) == s(16)
    assert whole.shape == a.shape


@given(layouts(3), layouts(2))
def test_a_layout_inside(inner: Layout, outer: Layout) -> None:
    whole = ComposedLayout(inner, 3, outer)
    assert np.array_equal(image(whole), offset(inner, offsets(outer) + 3))


@pytest.mark.parametrize("numbers", [(-1, 0, 0), (1, -1, 1), (3, 4, 2), (3, 50, 9)])
def test_bad_swizzles(numbers: tuple[int, int, int]) -> None:
    with pytest.raises(InputError):
        Swizzle(*numbers)


def test_images_that_are_not() -> None:
    for a, why in (
        ("(4,?):(1,4)", "run-time"),
        ("4:1@0", "coordinates"),
        ("(1000000000,8):(1,0)", "too many"),
    ):
        with pytest.raises(InputError, match=why):
            image(parse_layout(a))
    assert len(image(parse_layout("(1024,64):(0,1)"))) < MAX_IMAGE
    assert image(parse_any_layout("S<0,4,3> o 0 o 4:1")).tolist() == [0, 1, 2, 3]
