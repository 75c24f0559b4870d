"""Shared allocations of a kernel, and the places that each may get.

What `SmemAllocator` gives is one `llvm.alloca` for each call. The assembler puts them in an order of its own:
what is sure of each is its alignment. A swizzle permutes absolute addresses, so where
an allocation is less aligned than the swizzle's pattern, its bytes depend on that order. The kernel is
evaluated again with the allocations far apart, at the places that some order of them gives.

`cute.arch.alloc_smem` declares an array of a fixed size, a symbol for each call. They lie behind these.
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


def symbols(kernel: Operation) -> dict[str, Allocation]:
    """The shared arrays of a fixed size that a kernel names, by symbol, each at a multiple of `PERIOD`."""
    top = kernel
    while top.parent_operation is not None and top.parent_operation.name != "gpu.module":
        top = top.parent_operation
    end = 0
    for one in allocations(top).values():
        end = -(-end // one.align) * one.align + one.size
    named = {symbol(op) for op in top.walk() if op.name == "llvm.mlir.addressof"}
    module = top.parent_operation
    found = {}
    for op in [] if module is None or not named else module.walk():
        name = op.attributes.get("sym_name", "").strip('"') if op.name == "llvm.mlir.global" else ""
        if name not in named or integer(op.attributes.get("addr_space", "0")) != SHARED:
            continue
        if size := parse_type(op.attributes.get("global_type", "")).size_bytes:
            start = -(-end // PERIOD) * PERIOD
            found[name] = Allocation(size, integer(op.attributes.get("alignment", "1")) or 1, start)
            end = start + size
    return found


def symbol(op: Operation) -> str:
    """The name that `llvm.mlir.addressof` is of."""
    return op.attributes.get("global_name", "").lstrip("@").strip('"')


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
