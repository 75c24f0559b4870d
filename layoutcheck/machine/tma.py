"""The tensor map of TMA copies: its fields, NVIDIA's limits for each, and the 128 bytes that hold them.

NVIDIA documents the fields and their limits (CUDA Driver API, cuTensorMapEncodeTiled and -Im2col), not the
bits. Where the bits of `decode` and `encode` are was found by having DSL 4.8.1, which writes tensor maps
itself, do so for tensors that differ in one field (tests/conformance/test_tma.py and test_im2col.py repeat it
over random ones), and an H200 reads them as they were meant (docs/evidence/tma.json, tma_im2col.json).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.errors import InputError

WORDS = 8  # of 64 bits, in the 16 that a CUtensorMap has room for
MOST_RANK = 5
MOST_BOX = 256

# The formats the DSL names, in the order of their encoding, with their element's bits in shared memory.
FORMATS = (
    ("U8", 8), ("U16", 16), ("U32", 32), ("S32", 32), ("U64", 64), ("S64", 64), ("F16_RN", 16),
    ("F32_RN", 32), ("F32_FTZ_RN", 32), ("F64_RN", 64), ("BF16_RN", 16), ("U4", 4),
    ("U4_UNPACK_U8", 8), ("U6_UNPACK_U8", 8),
)  # fmt: skip

GROUP = 16  # elements that the formats with gaps keep together, in 16 bytes of shared memory

# The swizzles of shared memory that TMA knows, as the byte-address swizzle each is.
SWIZZLES: dict[str, Swizzle | None] = {
    "none": None,
    "32B": Swizzle(1, 4, 3),
    "64B": Swizzle(2, 4, 3),
    "128B": Swizzle(3, 4, 3),
    "128B_ATOM_32B": Swizzle(2, 5, 2),
    "128B_ATOM_64B": Swizzle(1, 6, 2),
}
# cuTensorMapEncodeTiled: the box's first extent is at most the span, in bytes.
SPAN_BYTES = {"none": 0, "32B": 32, "64B": 64, "128B": 128, "128B_ATOM_32B": 128, "128B_ATOM_64B": 128}
# CUDA programming guide, TMA: the pattern repeats after, and so a tile should begin at a multiple of, that.
REPEAT_BYTES = {
    "none": 128,
    "32B": 256,
    "64B": 512,
    "128B": 1024,
    "128B_ATOM_32B": 1024,
    "128B_ATOM_64B": 1024,
}

DRIVER = "CUDA Driver API, cuTensorMapEncodeTiled"
DRIVER_IM2COL = "CUDA Driver API, cuTensorMapEncodeIm2col"
PTX = "PTX ISA, cp.async.bulk.tensor"
# cuTensorMapEncodeIm2col: bits of a corner by spatial dimensions (tensors of rank 3, 4 and 5), and of a
# filter offset in the instruction, which has no sign (PTX ISA, tensor im2col mode).
CORNER_BITS = {1: 16, 2: 8, 3: 5}
MOST_CHANNELS = 256
MOST_PIXELS = 1024
MOST_STEP = 8  # element strides of either mode
_SWIZZLE_CODE = {
    "none": (0, 0), "32B": (1, 0), "64B": (2, 0), "128B": (3, 0), "128B_ATOM_32B": (3, 1),
    "128B_ATOM_64B": (3, 3),
}  # fmt: skip
_LARGE_BYTES = 1 << 17  # the flag of word 1 that the DSL sets for tensors of at least 128 KiB


class Corners(NamedTuple):
    """What an im2col map has beside a tiled one's fields: the corners of the box that pixels are taken from.

    A pixel's coordinate of spatial dimension i, filter offset aside, runs from `lower[i]` to the dimension's
    last element plus `upper[i]`. W comes first.
    """

    lower: tuple[int, ...]
    upper: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A tensor map. Dimension 0 is the contiguous one; it has no stride.

    `dims` are extents of the global tensor in elements, `strides_bytes` those of dimensions 1 and up, `box`
    the extents of one instruction's box, all static. `tf32` rounds f32 to tf32; `large` is the hint that the
    DSL sets for tensors of at least 128 KiB (it changes no address). With `corners` it is an im2col map, of
    dimensions C, W, (H, D,) N, and its box has (channels per pixel, pixels per column).
    """

    format: str
    dims: tuple[int, ...]
    strides_bytes: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: str = "none"
    base: int = 0
    element_strides: tuple[int, ...] = ()
    interleave: int = 0
    tf32: bool = False
    large: bool = False
    corners: Corners | None = None

    def __post_init__(self) -> None:
        rank = len(self.dims)
        box = rank if self.corners is None else 2
        if not 1 <= rank <= MOST_RANK or len(self.box) != box or len(self.strides_bytes) != rank - 1:
            raise InputError(
                f"a tensor map of rank {rank} with box {self.box} and strides {self.strides_bytes}"
            )
        if not self.element_strides:
            object.__setattr__(self, "element_strides", (1,) * rank)

    @property
    def rank(self) -> int:
        """1 to 5."""
        return len(self.dims)

    @property
    def element_bits(self) -> int:
        """Bits that an element takes in shared memory, its share of a gap included."""
        return dict(FORMATS)[self.format]

    @property
    def data_bits(self) -> int:
        """Bits of an element in global memory."""
        return int(self.format[1]) if gapped(self.format) else self.element_bits

    @property
    def box_elements(self) -> int:
        """Elements that one instruction moves."""
        count = 1
        for extent in self.box:
            count *= extent
        return count

    @property
    def box_bytes(self) -> int:
        """Bytes that one instruction moves, which is what it adds to the barrier's transaction count."""
        return self.box_elements * self.data_bits // 8

    @property
    def inner_bytes(self) -> int:
        """Bytes of the box along dimension 0 in shared memory."""
        return self.box[0] * self.element_bits // 8

    def fields(self) -> dict[str, object]:
        """By NVIDIA's names, for a report."""
        box: dict[str, object] = {"boxDim": list(self.box)}
        if self.corners is not None:
            box = {
                "pixelBoxLowerCorner": list(self.corners.lower),
                "pixelBoxUpperCorner": list(self.corners.upper),
                "channelsPerPixel": self.box[0],
                "pixelsPerColumn": self.box[1],
            }
        return {
            "tensorDataType": self.format,
            "tensorRank": self.rank,
            "globalDim": list(self.dims),
            "globalStrides": list(self.strides_bytes),
            **box,
            "elementStrides": list(self.element_strides),
            "interleave": self.interleave,
            "swizzle": self.swizzle,
        }


def gapped(format_: str) -> bool:
    """Whether 16 elements of 4 or 6 bits of that format take 16 bytes of shared memory."""
    return format_.endswith("_UNPACK_U8")


def dsl_kind(swizzle: Swizzle | None) -> str:
    """The swizzle that DSL 4.8.1 writes for a layout's, whether or not the two agree (measured).

    It looks at the base, and for base 4 at the number of bits; the shift it ignores.
    """
    if swizzle is None:
        return "none"
    if swizzle.base == 4:
        return ("none", "32B", "64B", "128B")[min(swizzle.bits, 3)]
    return "128B_ATOM_32B" if swizzle.base == 5 else "128B_ATOM_64B"


def machine_swizzle(kind: str, arch: int) -> Swizzle | None:
    """What a GPU of that architecture does for the kind: one before sm_100 ignores the atom (H200)."""
    return SWIZZLES["128B" if arch < 100 and kind.startswith("128B") else kind]


def row_pitch_bytes(inner_bytes: int, kind: str) -> int:
    """Bytes between rows of a box in shared memory: swizzled rows fill the span even where the box does not.

    Measured on an H200: a box of 48 bytes under the 64-byte swizzle has rows 64 bytes apart.
    """
    return SPAN_BYTES[kind] or inner_bytes


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
        raise InputError(f"{words[1]:#018x} is no word 1 of a tensor map that we know")
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


def is_large(dims: Sequence[int], strides_bytes: Sequence[int], element_bits: int) -> bool:
    """Whether the DSL calls a tensor of these dimensions large: by its last element's end."""
    reach = sum((n - 1) * d for n, d in zip(dims[1:], strides_bytes, strict=True))
    return dims[0] * element_bits // 8 + reach >= _LARGE_BYTES
