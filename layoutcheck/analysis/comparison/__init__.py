"""Where execution and intent part: corruption, faults, bytes not copied, bytes nobody asked for, races.

Memory is compared as it is *after* the copy. Every address of the destination that the layouts name must
hold the contents of the address of the source that they name, whoever brought it there and however often.
Contents are told apart by address: two elements of the source are never assumed to hold the same value.
"""

from __future__ import annotations

import math

import numpy as np

from layoutcheck.analysis.comparison.comparer import Comparer, in_table
from layoutcheck.analysis.comparison.kinds import KINDS, Comparison, Offender
from layoutcheck.analysis.comparison.observables import observe
from layoutcheck.atoms.tmem.addresses import LABELS
from layoutcheck.copies.addresses import AUX_APART, addresses, recast_offsets, swizzled, thread_offsets
from layoutcheck.copies.atom import WarpAtom
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.lanes import lane_offsets
from layoutcheck.copies.moves import NOTHING, Execution, Intent, Places
from layoutcheck.copies.offsets import IntArray, offsets
from layoutcheck.copies.opaque import DescriptorView

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
        found.add("never", execution.source.shape[0], Offender(0, 0))
    if execution.pred is not None and copy.pred is not None:
        found.predicate_range(execution.pred, copy.pred)
    repeated = None if brief and found.counts else _harmless(intent, execution, grain)
    if brief and (found.counts or repeated == WRONG):
        return Comparison({"wrong": 1})
    resolved = repeated is not None and repeated != WRONG
    if repeated is None or repeated == WRONG:
        repeated = found.memory(tails=copy.dst.space == "gmem")
    # A thread's own intent names what its views name, past the edge of the tile as well.
    if not resolved or (copy.tiling is not None and not intent.whole):
        for side, base in (("src", src_base), ("dst", dst_base)):
            found.outside(side, footprint(intent, copy, side, base, execution.unit_bits))
    beside = observe(copy, intent, execution, src_base, dst_base)
    sizes = intent.target.size, execution.target.size
    return Comparison(found.counts, found.first, *sizes, repeated, execution.unit_bits, beside)


WRONG = -1  # instead of a number of repetitions: some place certainly holds something else


def _harmless(intent: Intent, execution: Execution, grain: int) -> int | None:
    """Whether memory ends up exactly as asked, found without sorting: the number of harmless repetitions.

    WRONG where it certainly does not. None where this quick way cannot tell: with predicates, where the
    addresses of the destination are too far apart for a table of them, and where a place is named twice.
    """
    asked, done = (intent.target, intent.source), (execution.target, execution.source)
    if intent.pred is not None or execution.pred is not None or not all(one.size for one in (*asked, *done)):
        return None
    wide = execution.target.width
    gridded = not wide & (wide - 1) and all(one.on_grid(wide) for one in done)
    runs = _runs(asked, wide, grain) if gridded else None
    if runs is not None:
        grain = wide
    asked_dst, asked_src = (each.every(grain) for each in asked) if runs is None else runs
    used_dst, used_src = (each.every(grain).reshape(-1) for each in done)
    asked_dst, asked_src = asked_dst.reshape(-1), asked_src.reshape(-1)
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
    asked_of, done_of = want[used_at], got[asked_at]
    alone = np.array_equal(want[asked_at], np.arange(1, asked_at.size + 1, dtype=np.int64))
    if alone and not done_of.all():
        return WRONG if (asked_src[done_of == 0] != NOTHING).any() else None
    if alone and not np.array_equal(used_src[done_of - 1], asked_src):
        return WRONG if (asked_src != NOTHING).all() else None
    if not asked_of.all() or not done_of.all():
        return None  # written where nobody asks, or not written where somebody does
    for mover, contents in ((asked_src[asked_of - 1], used_src), (used_src[done_of - 1], asked_src)):
        if not np.array_equal(mover, contents):
            return None  # other contents, or an address with two sources
    return int(np.count_nonzero(last != writes)) * grain


def _runs(asked: tuple[Places, Places], wide: int, grain: int) -> tuple[IntArray, IntArray] | None:
    """The first addresses of runs of `wide` units that a thread's adjacent moves make on both sides alike.

    None where they do not, or not all of them.
    """
    found = []
    each = wide // asked[0].width
    for places in asked:
        moves, threads, width = places.shape
        if grain != width or each < 2 or moves % each:
            return None
        runs = places.first.reshape(-1, each, threads)
        first = runs[:, :1]
        if np.count_nonzero(first & (wide - 1)):
            return None
        if not np.array_equal(first + np.arange(0, wide, width, dtype=np.int64)[:, None], runs):
            return None
        found.append(first)
    return found[0], found[1]


def _grain(intent: Intent, execution: Execution) -> int:
    """Units that every element and every move keep together, on one grid: what may be compared at once."""
    grain = math.gcd(intent.target.width, execution.target.width)
    if grain == 1 or grain & (grain - 1) or not execution.target.size:
        return 1
    sides = (intent.target, execution.target, intent.source, execution.source)
    return grain if all(places.on_grid(grain) for places in sides) else 1


def footprint(intent: Intent, copy: Copy, side: str, base: int, unit: int) -> IntArray:
    """Every address of the operand, unordered: of the whole tile if it is in memory, else of all views.

    With the destination comes a second one, and with the source what is worked out for that.
    """
    found = _footprint(intent, copy, side, base, unit)
    if copy.aux is None:
        return found
    if side == "src":
        return np.append(found, intent.src[intent.src >= LABELS])
    threads = lane_offsets(copy, side).reshape(-1)
    more = addresses(copy.aux, base + AUX_APART, offsets(copy.aux.layout)[:, None] + threads, unit)
    return np.concatenate([found.reshape(-1), more.reshape(-1)])


def _footprint(intent: Intent, copy: Copy, side: str, base: int, unit: int) -> IntArray:
    memref = copy.side(side)
    if copy.needs_map and memref.space != "smem":
        return intent.src if side == "src" else intent.dst  # the tensor may be of any size
    if copy.tiling and memref.space != "rmem":
        memref = copy.whole(side)
        return addresses(memref, base, offsets(memref.layout), unit)
    if memref.space == "tmem" or isinstance(memref, DescriptorView):
        return _named(intent, copy, side, base, unit)
    if isinstance(copy.atom, WarpAtom):
        threads = lane_offsets(copy, side).reshape(-1)
    else:
        threads = thread_offsets(copy, side)
    original = recast_offsets(memref)
    if original is not None and unit == 8:
        return swizzled(memref, original + base, unit)
    return addresses(memref, base, offsets(memref.layout)[:, None] + threads, unit)


def _named(intent: Intent, copy: Copy, side: str, base: int, unit: int) -> IntArray:
    """What a view of tensor memory or a descriptor names: all threads together."""
    asked = intent.src if side == "src" else intent.dst
    memref = copy.side(side)
    if isinstance(memref, DescriptorView):
        return asked
    return np.append(asked, addresses(memref, base, offsets(memref.layout), unit))
