"""Neighbouring accesses of a thread to shared memory, which LLVM makes one.

Its load-store vectorizer joins loads, and stores, of adjacent addresses in one piece of straight code, up to
128 bits, where it knows the address for a multiple of their size. In shared memory it mostly does: the
allocation's alignment is known to it, and offsets are arithmetic on the thread's index (measured in the PTX:
four `st.shared.b32` of a row padded to 132 words are one `st.shared.v4.b32`). Global memory's pointers come
without an alignment: there nothing is joined.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from layoutcheck.analysis.cost import SideCost, accesses_cost
from layoutcheck.copies.moves import Access

WIDEST_BYTES = 16
JOINED = ("ld.shared", "st.shared")


def joined(accesses: Sequence[Access]) -> list[Access]:
    """Accesses of one instruction and width, as LLVM joins them; as they are where it does not."""
    first, *_ = accesses
    rows = np.concatenate([one.addresses for one in accesses])
    on = rows[0] >= 0
    if first.op not in JOINED or not on.any() or not ((rows >= 0) == on).all():
        return list(accesses)
    rows = rows[rows[:, on.argmax()].argsort(kind="stable")]
    return [
        first._replace(width_bytes=count * first.width_bytes, addresses=rows[begins])
        for count, begins in _runs(rows[:, on], first.width_bytes).items()
    ]


def joined_side(name: str, accesses: Sequence[Access]) -> SideCost | None:
    """What accesses of one instruction and width cost joined; None where they are not, or not all alike.

    Where none of several kinds has a bank conflict, it is that of the widest.
    """
    wide = joined(accesses)
    if max(one.width_bytes for one in wide) == accesses[0].width_bytes:
        return None
    sides = [accesses_cost((one,), ()).sides[0]._replace(side=name) for one in wide]
    free = all(side.wavefronts == side.ideal_wavefronts for side in sides)
    return max(sides, key=lambda side: side.width_bits) if free or len(sides) == 1 else None


def _runs(rows: np.ndarray, width: int) -> dict[int, list[int]]:
    """The rows at which joined accesses begin, by how many they join; `rows` ascend."""
    adjacent = (np.diff(rows, axis=0) == width).all(axis=1)
    found: dict[int, list[int]] = {}
    at = 0
    while at < len(rows):
        count = max(1, WIDEST_BYTES // width)
        while count > 1 and not (
            at + count <= len(rows)
            and adjacent[at : at + count - 1].all()
            and (rows[at] % (count * width) == 0).all()
        ):
            count //= 2
        found.setdefault(count, []).append(at)
        at += count
    return found
