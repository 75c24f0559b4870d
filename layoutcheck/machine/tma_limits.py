"""What cuTensorMapEncodeTiled would refuse of a tensor map: NVIDIA's limits, field by field.

Source: CUDA Driver API, cuTensorMapEncodeTiled. The DSL writes tensor maps without it, so nothing else looks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from layoutcheck.machine.tma import DRIVER, MOST_BOX, SPAN_BYTES, Descriptor, gapped


class Violation(NamedTuple):
    """A field that is not what NVIDIA demands: its `value`, the `demand`, and where that is written."""

    field: str
    value: object
    demand: str
    source: str


def violations(map_: Descriptor) -> Iterator[Violation]:
    """What cuTensorMapEncodeTiled would refuse. The DSL never calls it, so nothing else looks."""
    if map_.base % 16:
        yield Violation("globalAddress", map_.base, "a multiple of 16 bytes", DRIVER)
    for extent in map_.dims:
        if not 1 <= extent <= 1 << 32:
            yield Violation("globalDim", extent, "1 to 2^32", DRIVER)
    for stride in map_.strides_bytes:
        if stride % 16:
            yield Violation("globalStrides", stride, "a multiple of 16 bytes", DRIVER)
        if not 0 <= stride < 1 << 40:
            yield Violation("globalStrides", stride, "less than 2^40 bytes", DRIVER)
    for extent in map_.box:
        if not 1 <= extent <= MOST_BOX:
            yield Violation("boxDim", extent, f"1 to {MOST_BOX}", DRIVER)
    if map_.inner_bytes % 16 or map_.box[0] * map_.element_bits % 8:
        yield Violation("boxDim[0]", map_.inner_bytes, "a multiple of 16 bytes", DRIVER)
    span = SPAN_BYTES[map_.swizzle]
    if span and map_.inner_bytes > span:
        yield Violation("boxDim[0]", map_.inner_bytes, f"at most the swizzle's span of {span} bytes", DRIVER)
    for step in map_.element_strides:
        if not 1 <= step <= 8:
            yield Violation("elementStrides", step, "1 to 8", DRIVER)


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
