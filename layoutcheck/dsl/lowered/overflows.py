"""32-bit offsets that overflow: the least extent and the least integer arguments with which they do."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection

import numpy as np

from layoutcheck.dsl.lowered import Kernel
from layoutcheck.dsl.lowered.blocks import Blocks
from layoutcheck.dsl.lowered.judged_blocks import Judged, judge_all
from layoutcheck.dsl.lowered.lowered_op import global_parts
from layoutcheck.dsl.lowered.record import Recorded
from layoutcheck.dsl.lowered.spaces import GLOBAL_STEP

_NEAR = 4  # multiples beyond a tensor of 2^31 elements, among which the first is that overflows
_INTEGERS = (1 << 14, 1 << 20, (1 << 31) - 1)  # given to integer arguments to see if offsets overflow


def overflowing(kernel: Kernel, tags: Collection[str], extent: int, widest_bytes: int) -> set[str]:
    """Those of `tags` whose 32-bit offsets overflow and leave their tensor with this extent."""
    assert kernel.grid is not None
    found = judge_all(kernel.grid.at(tags, extent), tags, extent, widest_bytes).items()
    return {tag for tag, one in found if isinstance(one, Judged) and any(f.overflows for f in one.faults)}


def least_extent(
    kernel: Kernel, tags: set[str], quantum: int, guess: int, high: int, widest_bytes: int
) -> dict[str, int]:
    """The least multiple of `quantum` that overflows, by tag: near `guess`, or `high`, with which all do."""
    found = dict.fromkeys(tags, high)
    left, extent = set(tags), max(quantum, guess - 2 * quantum)
    while left and extent <= min(high, guess + _NEAR * quantum):
        for tag in overflowing(kernel, left, extent, widest_bytes):
            found[tag] = extent
            left.discard(tag)
        extent += quantum
    return found


def least_integer(kernel: Kernel, tags: set[str], extent: int | None, widest_bytes: int) -> dict[str, int]:
    """The least number for all integer arguments with which a 32-bit offset overflows, by tag.

    Where several overflow, those that do so first.
    """
    assert kernel.grid is not None
    grid = kernel.grid

    def overflowing(number: int, negative: bool) -> set[str]:
        blocks = grid.at(tags, extent, integer=number)
        if isinstance(blocks, str):
            return set()
        accesses = {tag: blocks.accesses.get(tag, ()) for tag in tags}
        return {tag for tag in tags if _wraps(blocks, accesses[tag], widest_bytes, negative)}

    below = 0
    for number in _INTEGERS:
        if overflowing(number, negative=False):
            tried = range(below + 1, number)
            least = below + 1 + bisect_left(tried, True, key=lambda n: bool(overflowing(n, negative=False)))
            return dict.fromkeys(overflowing(least, negative=True), least)
        below = number
    return {}


def _wraps(blocks: Blocks, accesses: Collection[Recorded], widest_bytes: int, negative: bool) -> bool:
    """Whether 32-bit arithmetic of an address in a large tensor overflowed, `negative`: to before it."""
    total = blocks.threads * len(blocks.at)
    for access in (one for one in accesses if one.reached):
        second = access.second_space == "gmem" and access.second is not None
        own = access.second_provenance if second else access.provenance
        place = access.second if second else access.address
        size = blocks.sizes.get(int(np.asarray(place).flat[0]) // GLOBAL_STEP)
        if not own & blocks.overflow or (size is not None and size < 1 << 31):
            continue
        if not negative:
            return True
        on = np.ones(total, bool) if access.active is None else access.active
        parts = global_parts(access, widest_bytes)
        if any((on & (np.asarray(at) < 0)).any() for *_, space, _, at in parts if space == "gmem"):
            return True
    return False
