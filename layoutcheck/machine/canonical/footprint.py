"""The bytes of shared memory that tensor cores read, by the matrix descriptors of wgmma and tcgen05.

PTX ISA, "Asynchronous wgmma: Shared Memory Matrix Layout" and "Matrix-descriptor"; tcgen05's descriptors have
the same addresses and strides. Everything is a multiple of 16 bytes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

UNIT = 16
_SWIZZLE_BYTES = {0: 16, 1: 128, 2: 64, 3: 32}  # wgmma: bits 62 and 63
_TCGEN05_BYTES = {0: 16, 1: 128, 2: 128, 4: 64, 6: 32}  # bits 61 to 63; 1: 128 bytes in 32-byte atoms


def operand(
    descriptor: int, rows: range, major: str, k_bytes: int = 32, *, size: int = 2, tcgen05: bool = False
) -> NDArray[np.int64]:
    """Addresses of the 16-byte units of the rows (of M or N) of an operand, `k_bytes` along K.

    `major` is "k" where K is contiguous, "m" where M or N is; elements have `size` bytes.
    """
    start = (descriptor & 0x3FFF) << 4
    leading = (descriptor >> 16 & 0x3FFF) << 4
    stride = (descriptor >> 32 & 0x3FFF) << 4
    kind = descriptor >> 61 & 7
    width = _TCGEN05_BYTES.get(kind, 16) if tcgen05 else _SWIZZLE_BYTES[kind >> 1]
    if major == "k":
        row = np.arange(rows.start, rows.stop, dtype=np.int64)[:, None]
        unit = np.arange(max(1, k_bytes // UNIT), dtype=np.int64)[None, :]
        if width == UNIT:  # core matrices of 8 rows of 16 bytes; leading: to the next along K
            at = start + row // 8 * stride + row % 8 * UNIT + unit * leading
        else:
            at = start + row // 8 * stride + row % 8 * width + unit * UNIT
        return _swizzled(at.ravel(), width)
    # M or N contiguous, in units of 16 bytes: `width` bytes of them, then the next group
    many = UNIT // size
    unit = np.arange(rows.start // many, -(-rows.stop // many), dtype=np.int64)[:, None]
    k = np.arange(max(1, k_bytes // size), dtype=np.int64)[None, :]
    each = width // UNIT
    along, across = (leading, stride) if width != UNIT else (stride, leading)
    at = start + unit // each * along + unit % each * UNIT + k // 8 * across + k % 8 * width
    return _swizzled(at.ravel(), width)


def _swizzled(address: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    """The unit's place: bits 4.. are exclusive-ored with bits 7.. (S<3,4,3>, S<2,4,3>, S<1,4,3>)."""
    bits = {128: 7, 64: 3, 32: 1, 16: 0}[width]
    return address ^ (((address >> 7) & bits) << 4)
