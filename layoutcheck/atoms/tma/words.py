"""The words of a tensor map: `encode` as the DSL writes them, `decode` what is read in them.

Where the bits are was found by having the DSL, which writes tensor maps itself, do so for tensors that
differ in one field (tests/conformance/test_tma.py and test_im2col.py repeat it over random ones). An H200
reads them as they were meant, and NVIDIA's own driver writes the same for im2col (docs/evidence/tma.json and
tma_im2col.json).
"""

from __future__ import annotations

from collections.abc import Sequence

from layoutcheck.atoms.tma.descriptor import CORNER_BITS, FORMATS, MOST_PIXELS, MOST_RANK, Corners, Descriptor
from layoutcheck.errors import InputError

WORDS = 8  # of 64 bits, in the 16 that a CUtensorMap has room for
_SWIZZLE_CODE = {
    "none": (0, 0), "32B": (1, 0), "64B": (2, 0), "128B": (3, 0), "128B_ATOM_32B": (3, 1),
    "128B_ATOM_64B": (3, 3),
}  # fmt: skip


def encode(map_: Descriptor) -> tuple[int, ...]:
    """The eight words, as the DSL writes them: what a field has no room for is lost.

    Address and strides lose their low four bits, corners their high ones; an element stride above 8 spills
    into the next one's bits.
    """
    low, high = (1 << 32) - 1, 0
    strides = [(stride >> 4) & ((1 << 36) - 1) for stride in map_.strides_bytes] + [0] * 4
    dims = [(extent - 1) & low for extent in map_.dims] + [0] * 4
    box = [(extent - 1) & 0xFF for extent in map_.box] + [0] * 4
    steps = [step - 1 for step in map_.element_strides] + [0] * 4
    code = [name for name, _ in FORMATS].index(map_.format)
    kind, atom = _SWIZZLE_CODE[map_.swizzle]
    flags = (
        (2 if map_.corners is None else 3)
        | (map_.rank - 1) << 4
        | code << 7
        | map_.interleave << 11
        | kind << 13
    )
    flags |= map_.tf32 << 16 | 1 << 18 | atom << 19 | map_.large << 21
    for i in range(4):
        high |= (strides[i] >> 32) << (4 * i)
    stepped = 0
    for i, step in enumerate(steps[:5]):
        stepped |= (step & low) << (3 * i)
    last = sum(extent << (8 * i) for i, extent in enumerate(box[1:5]))
    if map_.corners is not None:
        last = _corner(map_.corners.lower) | _corner(map_.corners.upper) << 16
        last |= ((map_.box[1] - 1) & (MOST_PIXELS - 1)) << 32
    return (
        map_.base & ~15 & ((1 << 64) - 1),
        flags | (strides[0] & low) << 32,
        (strides[1] & low) | (strides[2] & low) << 32,
        (strides[3] & low) | high << 32,
        dims[0] | dims[1] << 32,
        dims[2] | dims[3] << 32,
        dims[4] | (stepped & low) << 32 | box[0] << 56,
        last,
    )


def _corner(corner: Sequence[int]) -> int:
    """The 16 bits of a corner, W in the lowest."""
    bits = CORNER_BITS[len(corner)]
    return sum((value & ((1 << bits) - 1)) << (bits * i) for i, value in enumerate(corner))


def _read_corner(word: int, count: int) -> tuple[int, ...]:
    bits = CORNER_BITS[count]
    fields = ((word >> (bits * i)) & ((1 << bits) - 1) for i in range(count))
    return tuple(value - (1 << bits) if value >> (bits - 1) else value for value in fields)


def decode(words: Sequence[int]) -> Descriptor:
    """The tiled or im2col tensor map in eight words. Raises InputError for what is none."""
    if len(words) < WORDS:
        raise InputError(f"a tensor map has {WORDS} words, not {len(words)}")
    low = (1 << 32) - 1
    flags = words[1] & low
    rank, code = (flags >> 4 & 7) + 1, flags >> 7 & 15
    kind, atom = flags >> 13 & 3, flags >> 19 & 3
    swizzle = next((name for name, bits in _SWIZZLE_CODE.items() if bits == (kind, atom)), None)
    im2col = (
        flags & 1 == 1
    )  # in either mode the DSL sets bits 1 and 18, which NVIDIA's driver 580 leaves clear
    known = im2col or flags & 3 == 2
    if rank > MOST_RANK or code >= len(FORMATS) or swizzle is None or not known or (im2col and rank < 3):
        raise InputError(f"{words[1]:#018x} is not a known word 1 of a tensor map")
    lows = (words[1] >> 32, words[2] & low, words[2] >> 32, words[3] & low)
    strides = tuple(((words[3] >> (32 + 4 * i) & 15) << 32 | part) << 4 for i, part in enumerate(lows))
    dims = (words[4] & low, words[4] >> 32, words[5] & low, words[5] >> 32, words[6] & low)
    box = (words[6] >> 56, *(words[7] >> (8 * i) & 0xFF for i in range(4)))
    steps = tuple((words[6] >> (32 + 3 * i) & 7) + 1 for i in range(rank))
    boxed = tuple(extent + 1 for extent in box[:rank])
    corners = None
    if im2col:
        corners = Corners(*(_read_corner(words[7] >> at, rank - 2) for at in (0, 16)))
        boxed = (boxed[0], (words[7] >> 32 & (MOST_PIXELS - 1)) + 1)
    return Descriptor(
        FORMATS[code][0],
        tuple(extent + 1 for extent in dims[:rank]),
        strides[: rank - 1],
        boxed,
        swizzle,
        words[0],
        steps,
        flags >> 11 & 3,
        bool(flags >> 16 & 1),
        bool(flags >> 21 & 1),
        corners,
    )
