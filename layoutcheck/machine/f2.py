"""Bank conflicts of power-of-two layouts, by the rank of a matrix over F2 (two elements, XOR as addition).

Where every extent is a power of two and the strides do not carry into each other, an address is a *linear*
function of the bits of the coordinate: bit `j` of the coordinate toggles the address bits `column[j]`, and
a swizzle, being XOR, is linear too. Then no enumeration is needed (cf. Zhou et al., "Linear Layouts", 2025):

    lane bits -> granule    drop the address bits inside one access: rank r says 2^r different granules
    lane bits -> bank group keep only bits [log2(access), 7): rank q says they fall into 2^q bank groups
    ways of a phase         2^(r - q), the same in every phase, for phases differ by an XOR

    >>> ways([16, 32, 64], 128)          # 8 lanes, 16 bytes apart: all 32 banks, once
    1
    >>> ways([128, 256, 512], 128)       # 128 bytes apart: one bank group
    8
    >>> ways([128 ^ 16, 256 ^ 32, 512 ^ 64], 128)      # the same under S<3,4,3>
    1
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from layoutcheck.algebra.inttuple import flatten
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.swizzle import Swizzle
from layoutcheck.machine.arch import WARP
from layoutcheck.machine.banks import LANES_PER_PHASE, LOAD

BANK_SPAN_LOG2 = 7  # 32 banks of 4 bytes repeat every 128 bytes


def rank(columns: Iterable[int]) -> int:
    """The rank over F2 of the matrix whose columns are the bits of these integers."""
    return len(basis(columns))


def basis(columns: Iterable[int]) -> list[int]:
    """An independent set that spans the same space; no two have the same highest bit."""
    pivots: dict[int, int] = {}
    for column in columns:
        while column:
            top = column.bit_length()
            if top not in pivots:
                pivots[top] = column
                break
            column ^= pivots[top]
    return list(pivots.values())


def columns(layout: Layout, scale: int = 1) -> list[int] | None:
    """What each bit of the (colexicographic) index toggles in `layout(index) * scale`; None if not linear.

    Linear needs power-of-two extents, static strides that are not negative, and sums that never carry.
    """
    out: list[int] = []
    used = 0
    for extent, stride in zip(flatten(layout.shape), flatten(layout.stride), strict=True):
        if type(extent) is not int or type(stride) is not int or stride < 0 or extent & (extent - 1):
            return None
        for bit in range(extent.bit_length() - 1):
            column = stride * scale << bit
            if column & used:
                return None
            used |= column
            out.append(column)
    return out


def swizzled(matrix: Sequence[int], swizzle: Swizzle | None) -> list[int]:
    """The columns after the swizzle."""
    return list(matrix) if swizzle is None else [swizzle(column) for column in matrix]


def ways(phase_columns: Sequence[int], width_bits: int) -> int:
    """Wavefronts of one phase whose lane bits toggle these byte-address bits."""
    low = max(2, (width_bits // 8).bit_length() - 1)
    mask = (1 << BANK_SPAN_LOG2) - 1
    return 1 << (rank(c >> low for c in phase_columns) - rank((c & mask) >> low for c in phase_columns))


def wavefronts(lane_columns: Sequence[int], width_bits: int, op: str = LOAD) -> int:
    """Wavefronts of an access by all 32 lanes; `lane_columns` are the five lane bits' byte-address columns.

    The base address must not carry into the columns (a multiple of the power of two above them all will
    do). `op` is "ld", "st" or "matrix" of `banks`.
    """
    lanes = LANES_PER_PHASE[width_bits]
    if op == LOAD and lanes < WARP and (lane_columns[0] == 0 or lane_columns[1] == 0):
        lanes *= 2  # rule 3 of `banks`
    return WARP // lanes * ways(lane_columns[: lanes.bit_length() - 1], width_bits)
