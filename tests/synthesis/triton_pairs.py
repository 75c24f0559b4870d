"""The pairs of register layouts that Triton's tests of generic swizzling convert between, as bases of bits.

Read in triton-lang/triton, unittest/Dialect/TritonGPU/SwizzleTest.cpp: a name, the tile, bits of an element,
then each side's value, lane and warp bases (row, column). Where a pair has 64 lanes (AMD's), the sixth is a
warp's bit here.
"""

from __future__ import annotations

from layoutcheck.algebra.layout import Layout

Bases = list[tuple[int, int]]
Registers = tuple[Bases, Bases, Bases]


def c(*steps: int) -> Bases:
    """Bases along the columns."""
    return [(0, n) for n in steps]


def r(*steps: int) -> Bases:
    """Bases along the rows."""
    return [(n, 0) for n in steps]


def transposed(side: Registers) -> Registers:
    values, lanes, warps = ([(b, a) for a, b in part] for part in side)
    return values, lanes, warps


_F8: Registers = (c(1, 2, 4, 8) + r(1, 2), c(16, 32, 64) + r(4, 8), r(16, 32, 64))
_NONE: Bases = []

PAIRS: list[tuple[str, tuple[int, int], int, Registers, Registers]] = [
    ("f8 transpose", (128, 128), 8, _F8, transposed(_F8)),
    (
        "bf16 blocked to mma", (16, 16), 16,
        (c(1, 2, 4), c(8) + r(1, 2, 4, 8), _NONE),
        (c(1) + r(8) + c(8), c(2, 4) + r(1, 2, 4), _NONE),
    ),
    (
        "u4 blocked to mma", (16, 256), 4,
        (c(1, 2, 4, 8, 16) + r(4, 8), c(32, 64, 128) + r(1, 2), _NONE),
        (c(1, 2, 4) + r(8) + c(32, 64, 128), c(8, 16) + r(1, 2, 4), _NONE),
    ),
    (
        "f32 transpose", (32, 16), 32,
        (r(4, 8, 16), c(1, 2, 4, 8) + r(1), r(2)),
        (c(2, 4, 8), r(1, 2, 4, 8, 16), c(1)),
    ),
    (
        "f16 transpose", (128, 128), 16,
        (r(1, 2, 4) + c(32, 64), r(8, 16, 32, 64) + c(1), c(2, 4, 8, 16)),
        (c(1, 2, 4) + r(32, 64), c(8, 16, 32, 64) + r(1), r(2, 4, 8, 16)),
    ),
    (
        "f16 blocked to linear", (64, 128), 16,
        (c(1, 2, 4) + r(16, 32), c(8, 16, 32, 64) + r(1), r(2, 4, 8)),
        (c(1, 2, 8, 16, 32, 64) + r(32), r(1, 2, 4, 8, 16), [*c(4), (0, 0), (0, 0)]),
    ),
    (
        "f16 blocked to mfma", (64, 128), 16,
        (r(1, 2) + c(1, 2, 4), c(8, 16, 32, 64) + r(4), r(8, 16, 32)),
        (r(1, 2, 8, 16, 32) + c(32, 64), c(1, 2, 4, 8, 16), [*r(4), (0, 0), (0, 0)]),
    ),
]  # fmt: skip


def layout_tv(side: Registers, rows: int) -> Layout:
    """(thread, value) -> index into the tile."""
    values, lanes, warps = side

    def steps(bases: Bases) -> tuple[int, ...]:
        return tuple(row + column * rows for row, column in bases)

    threads = steps([*lanes, *warps])
    return Layout(((2,) * len(threads), (2,) * len(values)), (threads, steps(values)))
