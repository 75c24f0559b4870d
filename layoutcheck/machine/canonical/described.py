"""What a matrix descriptor describes, element by element, beside what a layout says."""

from __future__ import annotations

from typing import Any

import numpy as np

from layoutcheck.algebra.image import image
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.errors import InputError
from layoutcheck.machine.canonical.decide import Decision
from layoutcheck.machine.canonical.modes import K_BITS, MODES, UNIT_BITS, size_of

_MAX_ELEMENTS = 1 << 20


def described(shape: tuple[int, int], bits: int, major: str, swizzle: Swizzle, decision: Decision) -> Any:
    """Bit offsets [mn, k] of the elements of one instruction, before the swizzle, as the descriptor says."""
    _, w, rows, _ = MODES[swizzle.bits, swizzle.base, swizzle.shift]
    mn, k = (np.arange(n, dtype=np.int64) for n in shape)
    leading, stride = decision.leading_bytes * 8, decision.stride_bytes * 8
    per = UNIT_BITS // bits
    if major == "K":
        row = mn % rows * (w * UNIT_BITS) + mn // rows * stride
        column = k // per * (leading if w == 1 else UNIT_BITS) + k % per * bits
        return row[:, None] + column
    across, along = (stride, leading) if w == 1 else (leading, stride)
    unit = mn // per
    row = unit % w * UNIT_BITS + unit // w * across + mn % per * bits
    return row[:, None] + (k % rows * (w * UNIT_BITS) + k // rows * along)


def first_wrong(
    layout: Layout, bits: int, major: str, swizzle: Swizzle, decision: Decision
) -> tuple[str, dict[str, Any]] | None:
    """Why the descriptor of each K step does not describe the layout; None where it does."""
    size = (size_of(layout[0].shape), size_of(layout[1].shape))
    step = min(size[1], K_BITS // bits)
    if size[0] * size[1] > _MAX_ELEMENTS:
        raise InputError(f"an operand of {size[0] * size[1]} elements is too large to compare")
    said = image(layout[0])[:, None] * bits + image(layout[1]) * bits
    want = described((size[0], step), bits, major, swizzle, decision)
    for start in range(0, size[1] - step + 1, step):
        base = int(said[0, start])
        if base % UNIT_BITS:
            return (
                f"K step {start // step} begins at bit {base}, and a descriptor's address counts 16 bytes",
                {"k": start, "offset_bits": base},
            )
        off = said[:, start : start + step] - base != want
        if off.any():
            mn, k = (int(i) for i in np.argwhere(off)[0])
            asked, used = int(said[mn, start + k]), base + int(want[mn, k])
            return (
                f"element ({mn},{start + k}) is {asked // bits} elements from the base, in the descriptor"
                f" {used / bits:g}: strides that are not multiples of 16 bytes are rounded up",
                {"mn": mn, "k": start + k, "asked_bits": asked, "used_bits": used},
            )
    return None
