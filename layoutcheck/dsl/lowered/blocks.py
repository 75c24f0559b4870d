"""Which blocks of a grid are evaluated for all of them, and where loops and extents have their ends."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from layoutcheck.dsl.lowered.machine import Launch
from layoutcheck.dsl.lowered.record import Recorded
from layoutcheck.dsl.lowered.values import Reasons

SMALL = 32  # blocks of a grid that is evaluated whole
_MOST_BLOCKS = 4  # neighbours, the threads of which may have the same sum
Index = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Blocks:
    """Blocks `at` of a grid: thread i of block n is number n * threads + i of every access.

    `sizes` are the bytes of each tensor in global memory, by object; `rests` is what the grid rests on;
    `overflow` the bit, in the provenance of an address, of 32-bit arithmetic that overflowed; `whole` says
    that these are all blocks. `unfinished` are the tags whose accesses are not all here, with the reason.
    """

    at: tuple[Index, ...]
    threads: int
    accesses: dict[str, list[Recorded]]
    reasons: Reasons
    sizes: dict[int, int]
    rests: str
    overflow: int = 0
    whole: bool = False
    unfinished: Mapping[str, str] = field(default_factory=dict)


def period_ends(n: int, numbers: set[int]) -> list[int]:
    """Of 0 to n - 1: where quotients and remainders by these numbers, or by two in turn, begin or end."""
    found = {0, n - 1}
    inner = {1, *numbers}
    for small, large in itertools.product(inner, inner):
        period = small * large
        last = n // period * period
        for base in (0, last - period, last):
            found.update(base + i for i in (0, small - 1, period - small, period - 1))
    return sorted(i for i in found if 0 <= i < n) if numbers else []


def nested(numbers: set[int]) -> bool:
    """Whether each of the numbers divides the next larger, so that quotients by them begin together."""
    return min(numbers) > 0 and not any(b % a for a, b in itertools.pairwise(sorted(numbers)))


def sum_ends(
    sums: NDArray[np.int64], at: Sequence[Index], axis: int, n: int, numbers: set[int]
) -> set[int] | None:
    """The blocks, of n along an axis, where quotients and remainders of a sum by these numbers begin or end.

    `sums` are the sum of each thread of blocks `at`, of first degree in the block's index. None where those
    of all blocks are not evenly spaced by what divides the numbers, or where more than a few have the same.
    """
    rows, index = sums.reshape(len(at), -1), np.array([one[axis] for one in at])
    low, high = int(index.argmin()), int(index.argmax())
    if any(at[low][i] != at[high][i] for i in range(3) if i != axis) or index[low] == index[high]:
        return None
    step = int((rows[high] - rows[low])[0] // (index[high] - index[low]))
    within = np.unique(rows - step * index[:, None])
    least, most = int(within[0]), int(within[-1])
    space = int(np.diff(within)[0]) if len(within) > 1 else max(1, step)
    even = bool((np.diff(within) == space).all()) and not any(one % space for one in (step, *numbers))
    if not even or not 0 < step <= len(within) * space <= _MOST_BLOCKS * step:
        return None
    ends = period_ends(step * (n - 1) + most + 1, numbers)
    found = (range((i - space - most) // step, (i + space - least) // step + 1) for i in ends)
    return {block for blocks in found for block in blocks if 0 <= block < n}


def has_gaps(jumps: set[tuple[int, int, int]]) -> bool:
    """Whether some of these blocks are no neighbours in the grid."""
    return any(high - low > 1 for _, low, high in jumps)


def spread(low: int, high: int) -> range:
    """Blocks from one to another: all of a few, some of many."""
    return range(low, high + 1, max(1, (high - low) // 8))


def jumps_of(blocks: Blocks, accesses: Iterable[Recorded]) -> set[tuple[int, int, int]]:
    """(axis, index, index) of two evaluated blocks in a row, one of which accesses something."""
    on = np.zeros(len(blocks.at), bool)
    for access in (one for one in accesses if one.reached):
        each = np.ones(len(on) * blocks.threads, bool) if access.active is None else access.active
        if access.op.startswith("cp.async") and access.coordinates:  # how many bytes it reads
            each = each & (np.asarray(access.coordinates[0]) > 0)
        on |= each.reshape(len(on), -1).any(axis=1)
    if bool(on.all()) or not on.any():
        return set()
    found = set()
    active = dict(zip(blocks.at, on.tolist(), strict=True))
    for axis in range(3):
        after = dict(itertools.pairwise(sorted({index[axis] for index in active})))
        for index, here in active.items():
            there = after.get(index[axis], index[axis])
            other = active[(*index[:axis], there, *index[axis + 1 :])]  # type: ignore[index]
            if here != other:
                found.add((axis, index[axis], there))
    return found


def edges(how: Launch) -> tuple[Index, ...]:
    """The blocks that are evaluated, block 0 first and the last one last."""
    return every_block(how) if math.prod(how.grid) <= SMALL else all_of(edge_axes(how))


def edge_axes(how: Launch) -> list[list[int]]:
    """The same along each axis of a larger grid."""
    return [sorted({0, n // 2, max(0, n - 2), n - 1}) for n in how.grid]


def every_block(how: Launch) -> tuple[Index, ...]:
    """All blocks of a grid, x running fastest."""
    return all_of([list(range(n)) for n in how.grid])


def all_of(axes: Sequence[Sequence[int]]) -> tuple[Index, ...]:
    """All blocks with these indices along the axes, x running fastest."""
    x, y, z = axes
    return tuple((i, j, k) for k, j, i in itertools.product(z, y, x))
