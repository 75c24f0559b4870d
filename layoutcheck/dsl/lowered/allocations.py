"""Shared allocations of a kernel, and the places that each may get.

A kernel's static shared memory is one `llvm.alloca` for each call of the allocator. The assembler puts them
in an order of its own: what is sure of each is its alignment. A swizzle permutes absolute addresses, so where
an allocation is less aligned than the swizzle's pattern, its bytes depend on that order. The kernel is
evaluated again with the allocations far apart, at the places that some order of them gives.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from layoutcheck.dsl.lowered.types import SHARED, parse_type
from layoutcheck.sources.mlir import Operation, integer

PERIOD = 1024  # bytes: no swizzle's pattern is longer than that of 128 B (8 rows of 128 B)
APART = 1 << 19  # bytes between allocations, so that an access tells where it began
MOST = 10  # allocations; the orders of more are not followed
_MOST_PLACES = 16  # evaluations of a kernel with swizzled allocations of small alignment


@dataclass(frozen=True, slots=True)
class Allocation:
    """Bytes of shared memory, the alignment that they are sure to have, and where they begin here."""

    size: int
    align: int
    start: int = 0


def allocations(kernel: Operation) -> dict[Operation, Allocation]:
    """The static shared allocations of a kernel; none where one's size is not written in the module."""
    found = {}
    for op in kernel.walk():
        if op.name != "llvm.alloca" or parse_type(op.results[0].type).space != SHARED:
            continue
        count = op.operands[0].definition
        value = integer(count.attributes.get("value", "").partition(" : ")[0]) if count is not None else None
        if value is None:
            return {}
        each = parse_type(op.attributes.get("elem_type", "i8")).size_bytes
        found[op] = Allocation(value * each, integer(op.attributes.get("alignment", "1")) or 1)
    return found


def bases(found: Sequence[Allocation]) -> list[list[int]]:
    """Where each may begin, modulo `PERIOD`, in some order of them all without gaps but for alignment."""
    ends: dict[int, set[int]] = {0: {0}}
    places: list[set[int]] = [set() for _ in found]
    for taken in range(1 << len(found)):
        for i, one in enumerate(found):
            if taken >> i & 1:
                continue
            align = min(one.align, PERIOD)
            starts = {-(-end // align) * align % PERIOD for end in ends.get(taken, ())}
            places[i] |= starts
            ends.setdefault(taken | 1 << i, set()).update((at + one.size) % PERIOD for at in starts)
    return [sorted(one) for one in places]


def placements(found: Mapping[Operation, Allocation], every: bool) -> Iterator[dict[Operation, Allocation]]:
    """Places for an evaluation: all at multiples of `PERIOD`, then, with `every`, at the others possible."""
    allowed = bases(list(found.values())) if every and len(found) <= MOST else [[0]] * len(found)
    for n in range(min(_MOST_PLACES, max(map(len, allowed), default=0))):
        yield {
            op: Allocation(
                one.size, one.align, APART * (i + 1) + APART // 2 + allowed[i][n % len(allowed[i])]
            )
            for i, (op, one) in enumerate(found.items())
        }
