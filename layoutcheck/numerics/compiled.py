"""The chain of block FMAs as one compiled loop, where numba is installed (`pip install layoutcheck[fast]`).

The same arithmetic as `block`, for finite inputs whose products and scales stay normal in float32;
bit-equal to it in the tests. The inner loops run over outputs of one row, 64 at a time, and are vectorised:
a product costs a multiplication, a scaling, a conversion to int32, which is the alignment's cut, and an
addition.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from layoutcheck.numerics.formats import Floats

TILE = 64
_FLUSH = 8  # terms below 4 * 2^26 each that an int32 holds the sum of


@njit(cache=True, nogil=True, error_model="numpy")
def chain(
    a: NDArray[Any], ea: NDArray[Any], b: NDArray[Any], eb: NDArray[Any], out: Floats, block: int,
    blocks: int, adds: bool, fraction_bits: int, floor: int, least: int, precision: int, nearest: bool,
    add_precision: int, largest: float,
) -> bool:  # fmt: skip
    """`out` (M, N) += a b in blocks: a (M, K), b (K, N in whole tiles) float32; ea, eb their exponents.

    `least` is the accumulator's smallest normal exponent. With `adds` each run of `blocks` blocks starts
    from zero and is added to the accumulator, to nearest. False where a result overflows: then `out` is
    unfinished.
    """
    m, depth = a.shape
    n = out.shape[1]
    own = np.empty(TILE)
    held = np.empty(TILE)
    anchor = np.empty(TILE, np.int32)
    scale_bits = np.empty(TILE, np.int32)
    scale = scale_bits.view(np.float32)
    up_bits = np.empty(TILE, np.int64)
    up = up_bits.view(np.float64)
    down_bits = np.empty(TILE, np.int64)
    down = down_bits.view(np.float64)
    part = np.empty(TILE, np.int32)
    total = np.empty(TILE)
    own_bits = own.view(np.int64)
    tops = np.empty(depth // block, np.int32)
    for t in range(depth // block):
        tops[t] = eb[t * block : (t + 1) * block].max()
    for i in range(m):
        for first in range(0, n, TILE):
            size = min(TILE, n - first)
            for j in range(TILE):
                own[j] = 0.0
                held[j] = out[i, first + j] if j < size else 0.0
            if not adds:
                own[:] = held
            for t in range(depth // block):
                start = t * block
                lowest = _held(anchor, own_bits, floor, least)
                if ea[i, start : start + block].max() + tops[t] > lowest:
                    _raise(anchor, ea[i], eb, start, start + block, first)
                for j in range(TILE):
                    shift = fraction_bits - anchor[j]
                    scale_bits[j] = (min(max(shift, -126), 126) + 127) << 23
                    up_bits[j] = np.int64(shift + 1023) << 52
                    down_bits[j] = np.int64(1023 - shift) << 52
                    total[j] = np.trunc(own[j] * up[j])
                _multiply(total, part, scale, a[i], b, start, start + block, first)
                for j in range(TILE):
                    own[j] = total[j] * down[j]
                if not _round(own, up_bits, down_bits, precision, least, nearest, largest):
                    return False
                if adds and (t + 1) % blocks == 0:
                    for j in range(TILE):
                        own[j] += held[j]
                    if not _round(own, up_bits, down_bits, add_precision, least, True, largest):
                        return False
                    for j in range(TILE):
                        held[j] = own[j]
                        own[j] = 0.0
            for j in range(size):
                out[i, first + j] = held[j] if adds else own[j]
    return True


@njit(cache=True, nogil=True, error_model="numpy")
def _held(anchor: NDArray[Any], bits: NDArray[Any], floor: int, least: int) -> int:
    """`anchor`: the exponents of the accumulators, `floor` for 0; the lowest of them."""
    lowest = np.int32(1 << 20)
    for j in range(TILE):
        field = np.int32((bits[j] >> 52) & 0x7FF)
        anchor[j] = (field - 1023 if field - 1023 > least else least) if field else floor
    for j in range(TILE):
        lowest = min(lowest, anchor[j])
    return int(lowest)


@njit(cache=True, nogil=True, error_model="numpy")
def _raise(
    anchor: NDArray[Any], ea: NDArray[Any], eb: NDArray[Any], start: int, stop: int, first: int
) -> None:
    """`anchor`, where an exponent of a product of the block is larger: that."""
    for k in range(start, stop):
        e, row = ea[k], eb[k, first : first + TILE]
        for j in range(TILE):
            anchor[j] = max(anchor[j], e + row[j])


@njit(cache=True, nogil=True, error_model="numpy")
def _multiply(
    total: Floats, part: NDArray[Any], scale: NDArray[Any], a: NDArray[Any], b: NDArray[Any], start: int,
    stop: int, first: int,
) -> None:  # fmt: skip
    """Add the scaled and cut products of one block. Slices of `b` here, so that its rows are contiguous."""
    for begin in range(start, stop, _FLUSH):
        part[:] = 0
        for k in range(begin, min(begin + _FLUSH, stop)):
            x, right = a[k], b[k, first : first + TILE]
            for j in range(TILE):
                part[j] += np.int32(x * right[j] * scale[j])
        for j in range(TILE):
            total[j] += part[j]


@njit(cache=True, nogil=True, error_model="numpy")
def _round(
    values: Floats, up_bits: NDArray[Any], down_bits: NDArray[Any], precision: int, least: int, nearest: bool,
    largest: float,
) -> bool:  # fmt: skip
    """`values` rounded in place; False where one overflows. The two arrays are room to work in."""
    bits = values.view(np.int64)
    up, down = up_bits.view(np.float64), down_bits.view(np.float64)
    for j in range(TILE):
        shift = precision - 1 - max(((bits[j] >> 52) & 0x7FF) - 1023, least)
        up_bits[j] = (shift + 1023) << 52
        down_bits[j] = (1023 - shift) << 52
    if nearest:
        for j in range(TILE):
            values[j] = np.rint(values[j] * up[j]) * down[j] + 0.0
    else:
        for j in range(TILE):
            values[j] = np.trunc(values[j] * up[j]) * down[j] + 0.0
    most = 0.0
    for j in range(TILE):
        most = max(most, abs(values[j]))
    return most <= largest
