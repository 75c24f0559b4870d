"""The tensor map of TMA copies: its fields, and what the machine makes of them.

NVIDIA documents the fields and their limits (CUDA Driver API, cuTensorMapEncodeTiled and -Im2col;
`atoms.tma.limits`), not the bits (`atoms.tma.words`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.errors import InputError

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
PIECE_BYTES = 16  # what TMA moves at least
WHOLE_PIECES = f"a multiple of {PIECE_BYTES} B"  # base, strides, rows of a box, the first coordinate
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
        return math.prod(self.box)

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
    """The swizzle that the DSL writes for a layout's, whether or not the two agree (measured).

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


def is_large(dims: Sequence[int], strides_bytes: Sequence[int], element_bits: int) -> bool:
    """Whether the DSL calls a tensor of these dimensions large: by its last element's end."""
    reach = sum((n - 1) * d for n, d in zip(dims[1:], strides_bytes, strict=True))
    return dims[0] * element_bits // 8 + reach >= _LARGE_BYTES
