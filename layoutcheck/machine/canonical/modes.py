"""The swizzle modes of a matrix descriptor (PTX ISA, Matrix Descriptor; Shared Memory Matrix Layout)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from layoutcheck.algebra.inttuple import flatten
from layoutcheck.algebra.swizzle import Swizzle

UNITS = {"wgmma": "GMMA", "tcgen05": "UMMA"}
UNIT_BITS = 128
K_BITS = 256  # one instruction's K (PTX ISA: 32 bytes)


class Mode(NamedTuple):
    """The DSL's name, 128-bit units of a row of the pattern, its rows, bytes after which it repeats."""

    name: str
    units: int
    rows: int
    repeat_bytes: int


# By the bits, base and shift of the swizzle of byte addresses.
MODES = {
    (0, 4, 3): Mode("INTER", 1, 8, 128),
    (1, 4, 3): Mode("SW32", 2, 8, 256),
    (2, 4, 3): Mode("SW64", 4, 8, 512),
    (3, 4, 3): Mode("SW128", 8, 8, 1024),
    (2, 5, 2): Mode("SW128_32B", 8, 4, 1024),
}
NONE = Swizzle(0, 4, 3)


def mode_of(swizzle: Swizzle) -> Mode | None:
    """The mode of a swizzle of byte addresses; None where no descriptor has one."""
    return MODES.get((swizzle.bits, swizzle.base, swizzle.shift))


def size_of(shape: Any) -> int:
    """Elements of a static shape."""
    return math.prod(flatten(shape))
