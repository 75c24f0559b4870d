"""Where execution and intent part: corruption, faults, bytes not copied, bytes nobody asked for, races.

Memory is compared as it is *after* the copy. Every address of the destination that the layouts name must
hold the contents of the address of the source that they name, whoever brought it there and however often.
Contents are told apart by address: two elements of the source are never assumed to hold the same value.
"""

from __future__ import annotations

import math

import numpy as np

from layoutcheck.analysis.comparison.comparer import Comparer
from layoutcheck.analysis.comparison.footprint import footprint
from layoutcheck.analysis.comparison.kinds import KINDS, Comparison, Offender
from layoutcheck.analysis.comparison.observables import observe
from layoutcheck.analysis.comparison.table import in_table
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.moves import NOTHING, Execution, Intent
from layoutcheck.copies.offsets import IntArray

__all__ = ["KINDS", "Comparison", "Offender", "compare"]


def compare(
    intent: Intent, execution: Execution, copy: Copy, src_base: int, dst_base: int, *, brief: bool = False
) -> Comparison:
    """What differs, for the static `copy` (the instance) that both were made of, at the same bases.

    A `brief` comparison may stop at the first kind of difference, which it does not count.
    """
    grain = _grain(intent, execution)
    found = Comparer(intent, execution, grain)
    for side, accesses in (("src", execution.src_accesses), ("dst", execution.dst_accesses)):
        for access in accesses:
            if access.space != "tmem":  # whose addresses count columns
                found.misaligned(f"misaligned_{side}", access)
    if execution.fault:
        found.add("fault", 1, Offender(0, 0))
    if intent.unmatched:
        found.add("unmatched", intent.unmatched, Offender())
    if execution.never:
        found.add("never", execution.src.shape[0], Offender(0, 0))
    if execution.pred is not None and copy.pred is not None:
        found.predicate_range(execution.pred, copy.pred)
    repeated = None if brief and found.counts else _harmless(intent, execution, grain)
    if brief and (found.counts or repeated == WRONG):
        return Comparison({"wrong": 1})
    resolved = repeated is not None and repeated != WRONG
    if repeated is None or repeated == WRONG:
        repeated = found.memory()
    # A thread's own intent names what its views name, past the edge of the tile as well.
    if not resolved or (copy.tiling is not None and not intent.whole):
        for side, base in (("src", src_base), ("dst", dst_base)):
            found.outside(side, footprint(intent, copy, side, base, execution.unit_bits))
    beside = observe(copy, intent, execution, src_base, dst_base)
    return Comparison(
        found.counts, found.first, intent.dst.size, execution.dst.size, repeated, execution.unit_bits, beside
    )


_MANY = 4096  # addresses
WRONG = -1  # instead of a number of repetitions: some place certainly holds something else


def _harmless(intent: Intent, execution: Execution, grain: int) -> int | None:
    """Whether memory ends up exactly as asked, found without sorting: the number of harmless repetitions.

    WRONG where it certainly does not. None where this quick way cannot tell: with predicates, where the
    addresses of the destination are too far apart for a table of them, and where a place is named twice.
    """
    if intent.pred is not None or execution.pred is not None or not intent.dst.size or not execution.dst.size:
        return None
    asked_dst, asked_src, used_dst, used_src = (
        a[:, :, ::grain].reshape(-1) for a in (intent.dst, intent.src, execution.dst, execution.src)
    )
    wide = execution.dst.shape[2] // grain
    if all(_in_step(each, wide, grain) for each in (asked_dst, asked_src, used_dst, used_src)):
        asked_dst, asked_src, used_dst, used_src = (
            each[::wide] for each in (asked_dst, asked_src, used_dst, used_src)
        )
        grain *= wide
    placed = in_table(asked_dst, used_dst, grain=grain)
    if placed is None:
        return None
    (asked_at, used_at), count = placed
    want = np.zeros(count, dtype=np.int64)  # one more than the move that is asked to fill the place; 0: none
    got = np.zeros(count, dtype=np.int64)
    want[asked_at] = np.arange(1, asked_at.size + 1, dtype=np.int64)
    writes = np.arange(1, used_at.size + 1, dtype=np.int64)
    got[used_at] = writes
    last = got[used_at]
    asked, done = want[used_at], got[asked_at]
    alone = np.array_equal(want[asked_at], np.arange(1, asked_at.size + 1, dtype=np.int64))
    if alone and not done.all():
        return WRONG if (asked_src[done == 0] != NOTHING).any() else None
    if alone and not np.array_equal(used_src[done - 1], asked_src):
        return WRONG if (asked_src != NOTHING).all() else None
    if not asked.all() or not done.all():
        return None  # written where nobody asks, or not written where somebody does
    for mover, contents in ((asked_src[asked - 1], used_src), (used_src[done - 1], asked_src)):
        if not np.array_equal(mover, contents):
            return None  # other contents, or an address with two sources
    return int(np.count_nonzero(last != writes)) * grain


def _in_step(at: IntArray, wide: int, grain: int) -> bool:
    """Whether every `wide` addresses, each the first of `grain` units, are one aligned run of a move's width.

    Of few addresses it is not worth the looking.
    """
    if at.size < _MANY or grain == 1 or wide == 1 or wide & (wide - 1) or at.size % wide:
        return False
    runs = at.reshape(-1, wide)
    first = runs[:, 0]
    return not np.count_nonzero(first & (wide * grain - 1)) and all(
        np.array_equal(runs[:, i], first + i * grain) for i in range(1, wide)
    )


def _grain(intent: Intent, execution: Execution) -> int:
    """Units that every element and every move keep together, on one grid: what may be compared at once."""
    grain = math.gcd(intent.dst.shape[2], execution.dst.shape[2])
    if grain == 1 or grain & (grain - 1) or not execution.dst.size:
        return 1
    mask = grain - 1
    for moves in (intent.dst, execution.dst, intent.src, execution.src):
        first = moves[:, :, 0]
        # count_nonzero, where any() would do: of a thread's few addresses it takes a sixth of the time
        if np.count_nonzero(first & mask) or np.count_nonzero(moves[:, :, -1] - first != moves.shape[2] - 1):
            return 1
    return grain
