"""What cuTensorMapEncodeTiled and -Im2col would refuse of a tensor map: NVIDIA's limits, field by field.

Source: CUDA Driver API, of either. The DSL writes tensor maps without them, so nothing else looks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from layoutcheck.atoms.tma.descriptor import (
    CORNER_BITS,
    DRIVER,
    DRIVER_IM2COL,
    MOST_BOX,
    MOST_CHANNELS,
    MOST_PIXELS,
    MOST_STEP,
    PIECE_BYTES,
    SPAN_BYTES,
    WHOLE_PIECES,
    Corners,
    Descriptor,
    gapped,
)

ILLEGAL = "illegal instruction"


class Violation(NamedTuple):
    """A field that is not what NVIDIA demands: its `value`, the `demand`, and where that is written.

    `fits` is False where the tensor map has no bits for the value, so that its low ones are stored. `at` is
    the dimension, of fields that have one value for each.
    """

    field: str
    value: object
    demand: str
    source: str
    fits: bool = True
    at: int | None = None


def violations(map_: Descriptor) -> Iterator[Violation]:
    """What the driver would refuse. The DSL never asks it, so nothing else looks."""
    im2col = map_.corners is not None
    source = DRIVER_IM2COL if im2col else DRIVER
    if map_.base % PIECE_BYTES:
        yield Violation("globalAddress", map_.base, WHOLE_PIECES, DRIVER)
    for i, extent in enumerate(map_.dims):
        if not 1 <= extent <= 1 << 32:
            yield Violation("globalDim", extent, "1 to 2^32", DRIVER, fits=False, at=i)
    for i, stride in enumerate(map_.strides_bytes):
        if stride % PIECE_BYTES:
            yield Violation("globalStrides", stride, WHOLE_PIECES, DRIVER, at=i)
        if not 0 <= stride < 1 << 40:
            yield Violation("globalStrides", stride, "less than 2^40 bytes", DRIVER, fits=False, at=i)
    named = box_limits(map_)
    for i, ((name, most), extent) in enumerate(zip(named, map_.box, strict=True)):
        if not 1 <= extent <= most:
            yield Violation(name.partition("[")[0], extent, f"1 to {most}", source, at=i)
    inner = named[0][0]
    if map_.inner_bytes % PIECE_BYTES or map_.box[0] * map_.element_bits % 8:
        yield Violation(inner, map_.inner_bytes, WHOLE_PIECES, source)
    span = SPAN_BYTES[map_.swizzle]
    if span and map_.inner_bytes > span:
        yield Violation(inner, map_.inner_bytes, f"at most the swizzle's span of {span} bytes", source)
    for i, step in enumerate(map_.element_strides):
        if not 1 <= step <= MOST_STEP:
            yield Violation("elementStrides", step, f"1 to {MOST_STEP}", source, at=i)
    if map_.corners is not None:
        yield from _corner_violations(map_, map_.corners)


def box_fault(inner_bytes: int, swizzle: str, data_bits: int, arch: int, whole_row: bool = True) -> str:
    """The fault that an instruction raises for its box alone, on architecture `arch` (as an H200), or "".

    The box's first extent is `inner_bytes`, not of whole 16 bytes or wider than the swizzle's span; elements
    below a byte exist from sm_100 on. Without `whole_row` only a multiple of the first extent is known.
    """
    span = SPAN_BYTES[swizzle]
    too_wide = whole_row and span and inner_bytes > span
    refused = inner_bytes % PIECE_BYTES or too_wide or (data_bits < 8 and arch < 100)
    return ILLEGAL if refused else ""


def box_limits(map_: Descriptor) -> tuple[tuple[str, int], ...]:
    """The field of every extent of the box, and the most it may be."""
    if map_.corners is not None:
        return (("channelsPerPixel", MOST_CHANNELS), ("pixelsPerColumn", MOST_PIXELS))
    return tuple((f"boxDim[{i}]", MOST_BOX) for i in range(map_.rank))


def _corner_violations(map_: Descriptor, corners: Corners) -> Iterator[Violation]:
    half = 1 << (CORNER_BITS[map_.rank - 2] - 1)
    for name, corner in (("pixelBoxLowerCorner", corners.lower), ("pixelBoxUpperCorner", corners.upper)):
        for value in corner:
            if not -half <= value < half:
                demand = f"{-half} to {half - 1} for a tensor of rank {map_.rank}"
                yield Violation(name, value, demand, DRIVER_IM2COL)
    for i, (lower, upper) in enumerate(zip(corners.lower, corners.upper, strict=True)):
        least = lower - map_.dims[1 + i] + 1
        if upper < least:
            demand = f"at least {least}, or the box of pixels is empty"
            yield Violation("pixelBoxUpperCorner", upper, demand, DRIVER_IM2COL)


def format_violations(map_: Descriptor, kind: str) -> Iterator[Violation]:
    """What the formats of 4 and 6 bits demand beyond that, of a "load" or "store"."""
    if map_.format == "U4" and map_.dims[0] % 2:
        yield Violation("globalDim[0]", map_.dims[0], "a multiple of 2", DRIVER)
    if not gapped(map_.format):
        return
    if map_.dims[0] % 128:
        yield Violation("globalDim[0]", map_.dims[0], "a multiple of 128", DRIVER)
    for stride in map_.strides_bytes:
        if stride % 32:
            yield Violation("globalStrides", stride, "a multiple of 32 bytes", DRIVER)
    if map_.box[0] != 128:
        yield Violation("boxDim[0]", map_.box[0], "128", DRIVER)
    four = map_.data_bits == 4
    if four and kind != "load":
        yield Violation("tensorDataType", f"that of a {kind}", "that of a load", DRIVER)
    allowed = {"none", "128B", "128B_ATOM_32B"} | (
        {"128B_ATOM_64B"} if not four and kind != "load" else set()
    )
    if map_.swizzle not in allowed:
        yield Violation("swizzle", map_.swizzle, " or ".join(sorted(allowed)), DRIVER)
