"""The tensor map: what is encoded reads back, and what NVIDIA forbids is named."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutcheck.atoms.tma.descriptor import FORMATS, SWIZZLES, Corners, Descriptor
from layoutcheck.atoms.tma.limits import violations
from layoutcheck.atoms.tma.words import decode, encode
from layoutcheck.errors import InputError


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
    """(256,256):(256,1) bf16 in boxes of (64,64) under S<3,4,3>, as the DSL stores it."""
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


def test_im2col_words_are_read_back() -> None:
    """Also those of NVIDIA's driver, which leaves two bits clear that the DSL sets (docs/evidence)."""
    map_ = Descriptor(
        "BF16_RN", (64, 40, 12, 6, 3), (128, 5120, 61440, 368640), (64, 100), "128B", 1 << 40,
        (1, 8, 2, 1, 1), corners=Corners((-16, -1, 3), (3, 0, -1)),
    )  # fmt: skip
    words = encode(map_)
    assert decode(words) == map_
    assert decode((words[0], words[1] & ~(1 << 18 | 1 << 1), *words[2:])) == map_
    assert not list(violations(map_))
    cut = decode(encode(replace(map_, corners=Corners((-17, -1, 3), (3, 0, -1)))))
    assert cut.corners == Corners((15, -1, 3), (3, 0, -1))


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"corners": Corners((-17, 0, 0), (0, 0, 0))}, "pixelBoxLowerCorner"),
        ({"corners": Corners((0, 0, 0), (0, 16, 0))}, "pixelBoxUpperCorner"),
        ({"corners": Corners((0, 0, 0), (0, 0, -6))}, "pixelBoxUpperCorner"),
        ({"box": (256, 64), "swizzle": "none"}, ""),
        ({"box": (257, 64), "swizzle": "none"}, "channelsPerPixel"),
        ({"box": (64, 1025)}, "pixelsPerColumn"),
        ({"box": (4, 64)}, "channelsPerPixel"),
        ({"box": (128, 64)}, "channelsPerPixel"),
        ({"element_strides": (1, 9, 1, 1, 1)}, "elementStrides"),
    ],
)
def test_limits_of_im2col(changed: dict[str, object], field: str) -> None:
    sound = Descriptor(
        "BF16_RN", (64, 40, 12, 6, 3), (128, 5120, 61440, 368640), (64, 100), "128B",
        corners=Corners((0, 0, 0), (0, 0, 0)),
    )  # fmt: skip
    found = list(violations(replace(sound, **changed)))
    assert {bad.field for bad in found} == ({field} if field else set())
    assert all("Im2col" in bad.source for bad in found)


@pytest.mark.parametrize("swizzle", ["none", "32B", "64B", "128B", "128B_ATOM_32B", "128B_ATOM_64B"])
@pytest.mark.parametrize("rank", [1, 2, 3, 4, 5])
def test_every_swizzle_of_every_rank_is_read_back(swizzle: str, rank: int) -> None:
    dims = (256, 192, 64, 5, 3)[:rank]
    strides = (1 << 36, 4096, (1 << 39) + 16, 1 << 20)[: rank - 1]
    map_ = Descriptor("BF16_RN", dims, strides, (64, 8, 2, 1, 3)[:rank], swizzle, base=1 << 40)
    assert decode(encode(map_)) == map_
