"""Addresses as places in a table: what is in it is found without sorting.

Memory lies in one piece, with gaps where a tile has a pitch; of a table over it only what is touched costs
anything. Registers lie `PRIVATE` apart for each thread: their table has the threads side by side.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from layoutcheck.copies.addresses import PRIVATE
from layoutcheck.copies.offsets import IntArray

MOST_PLACES = 1 << 22


def in_table(*addresses: IntArray, grain: int = 1) -> tuple[tuple[IntArray, ...], int] | None:
    """The place of each address, one place every `grain` units, and the number of places.

    None where the addresses lie too far apart, or there are none.
    """
    if not all(one.size for one in addresses):
        return None
    low = min(int(one.min()) for one in addresses)
    high = max(int(one.max()) for one in addresses)
    if (high - low) // grain < MOST_PLACES:
        return tuple((one - low) // grain for one in addresses), (high - low) // grain + 1
    if low < 0 or high < PRIVATE:
        return None
    threads = [one // PRIVATE for one in addresses]
    own = [one - t * PRIVATE for one, t in zip(addresses, threads, strict=True)]
    low = min(int(one.min()) for one in own)
    width = (max(int(one.max()) for one in own) - low) // grain + 1
    first = min(int(one.min()) for one in threads)
    count = (max(int(one.max()) for one in threads) - first + 1) * width
    if count > MOST_PLACES:
        return None
    return tuple(
        (t - first) * width + (one - low) // grain for t, one in zip(threads, own, strict=True)
    ), count


def occurs(values: IntArray, among: IntArray) -> npt.NDArray[np.bool_] | None:
    """Which `values` occur among addresses in any order; None where they lie too far apart for a table."""
    placed = in_table(values, among)
    if placed is None:
        return None
    (wanted, known), count = placed
    there = np.zeros(count, dtype=np.bool_)
    there[known] = True
    return there[wanted]
