"""Shared allocations of a kernel, and where each begins.

What `SmemAllocator` gives is one `llvm.alloca` for each call, and all of them are dynamic shared memory. The
compiler puts `RESERVED` ones before `USER` ones, each kind as the program has them and as aligned. If the
launch says so, those of branches of which one runs begin at one place. Its own pass is asked (`passes.py`):
the location of each says where it begins. Where it does not (an older DSL), they lie as the lowered text
has them.

`cute.arch.alloc_smem` declares an array of a fixed size, a symbol for each call. They lie behind these.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from layoutcheck.dsl.lowered.types import SHARED, parse_type
from layoutcheck.sources.mlir import Operation, integer

PERIOD = 1024  # bytes: the compiler's alignment of all; no swizzle's pattern (8 rows of 128 B) is longer
APART = 1 << 19  # bytes between allocations, so that an access tells where it began
_PLACE = re.compile(r'"smem@([0-9]+)"')


@dataclass(frozen=True, slots=True)
class Allocation:
    """Bytes of shared memory, the alignment that they are sure to have, and where they begin here."""

    size: int
    align: int
    start: int = 0


def allocations(kernel: Operation) -> dict[Operation, Allocation]:
    """The shared allocations of a kernel; none where one's size is not written in the module."""
    found: dict[Operation, Allocation] = {}
    end = 0
    for op in kernel.walk():
        if op.name != "llvm.alloca" or parse_type(op.results[0].type).space != SHARED:
            continue
        count = op.operands[0].definition
        value = integer(count.attributes.get("value", "").partition(" : ")[0]) if count is not None else None
        if value is None:
            return {}
        each = parse_type(op.attributes.get("elem_type", "i8")).size_bytes
        align = integer(op.attributes.get("alignment", "1")) or 1
        found[op] = Allocation(value * each, align, place(op, align, end))
        end = end_of(found.values())
    return found


def place(op: Operation, align: int, end: int) -> int:
    """Where an allocation begins: as the compiler says, or behind the `end` of those before it."""
    said = _PLACE.search(op.location_text)
    return int(said[1]) if said else -(-end // align) * align


def end_of(found: Iterable[Allocation]) -> int:
    """The end of the last one."""
    return max((one.start + one.size for one in found), default=0)


def symbols(kernel: Operation) -> dict[str, Allocation]:
    """The shared arrays of a fixed size that a kernel names, by symbol, each at a multiple of `PERIOD`."""
    top = kernel
    while top.parent_operation is not None and top.parent_operation.name != "gpu.module":
        top = top.parent_operation
    end = end_of(allocations(top).values())
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


def far_apart(found: Mapping[Operation, Allocation]) -> dict[Operation, Allocation]:
    """Other places, as the compiler's modulo `PERIOD`: an access tells by its address where it began."""
    return {
        op: Allocation(one.size, one.align, APART * (i + 1) + APART // 2 + one.start % PERIOD)
        for i, (op, one) in enumerate(found.items())
    }
