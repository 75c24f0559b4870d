"""The tensor map: what is encoded reads back, and what NVIDIA forbids is named."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutcheck.errors import InputError
from layoutcheck.machine.tma import FORMATS, SWIZZLES, Descriptor, decode, encode
from layoutcheck.machine.tma_limits import violations


@st.composite
def descriptors(draw: st.DrawFn) -> Descriptor:
    rank = draw(st.integers(1, 5))

    def many(low: int, high: int, count: int) -> tuple[int, ...]:
        return tuple(draw(st.lists(st.integers(low, high), min_size=count, max_size=count)))

    return Descriptor(
        draw(st.sampled_from([name for name, _ in FORMATS])),
        many(1, 1 << 32, rank),
        tuple(16 * n for n in many(0, (1 << 36) - 1, rank - 1)),
        many(1, 256, rank),
        draw(st.sampled_from(sorted(SWIZZLES))),
        16 * draw(st.integers(0, (1 << 60) - 1)),
        many(1, 8, rank),
        draw(st.integers(0, 2)),
        draw(st.booleans()),
        draw(st.booleans()),
    )


@given(descriptors())
def test_a_map_reads_back(map_: Descriptor) -> None:
    assert decode(encode(map_)) == map_


@given(st.lists(st.integers(0, (1 << 64) - 1), max_size=9))
def test_any_words_are_a_map_or_refused(words: list[int]) -> None:
    try:
        decode(words)
    except InputError:
        return


def test_what_the_dsl_writes() -> None:
    """(256,256):(256,1) bf16 in boxes of (64,64) under S<3,4,3>, as DSL 4.8.1 stores it."""
    words = (1 << 40, 0x2000246512, 0, 0, 0xFF000000FF, 0, 0x3F00000000000000, 0x3F)
    map_ = Descriptor("BF16_RN", (256, 256), (512,), (64, 64), "128B", 1 << 40, large=True)
    assert encode(map_) == words
    assert decode(words) == map_


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"base": 8}, "globalAddress"),
        ({"strides_bytes": (500,)}, "globalStrides"),
        ({"strides_bytes": (1 << 40,)}, "globalStrides"),
        ({"dims": (0, 256)}, "globalDim"),
        ({"box": (64, 300)}, "boxDim"),
        ({"box": (7, 64)}, "boxDim[0]"),
        ({"box": (128, 64), "swizzle": "128B"}, "boxDim[0]"),
        ({"element_strides": (1, 9)}, "elementStrides"),
    ],
)
def test_limits(changed: dict[str, object], field: str) -> None:
    sound = {"format": "BF16_RN", "dims": (256, 256), "strides_bytes": (512,), "box": (64, 64)}
    assert not list(violations(Descriptor(**sound)))
    assert [bad.field for bad in violations(Descriptor(**{**sound, **changed}))] == [field]
