"""tcgen05.ld: which operations use what it brings, and which ones wait for it before an arrival does.

`find(kernel, meanings)` follows each loaded value to its first uses, whose `reads` are then the loads, and
through arithmetic to the first accesses of memory that depend on it, whose `after` they are. ptxas makes a
use wait, whether `tcgen05.wait::ld` stands before it or not: LDTM sets a scoreboard. It does not make an
arrival at an mbarrier wait, and may put arithmetic behind the arrival (flashinfer-ai/flashinfer#5334). So a
load can be in flight when its columns are given away. A store of what was loaded stays before the arrival,
which releases it. Loads whose registers lie in one piece of memory of the lowered module are used together.

PTX ISA, tcgen05.ld and tcgen05.wait: asynchronous; the registers may be used behind `tcgen05.wait::ld` only.
"""

from __future__ import annotations

from collections.abc import Iterator

from layoutcheck.order.accumulators import PASSING, handed_on
from layoutcheck.order.meaning import Meaning
from layoutcheck.order.unused import alloca
from layoutcheck.sources.mlir import Block, Operation, Value

_PASSES = 2  # the second brings what a loop carries to its beginning
_KEPT = ("write", "matrix_write", "atomic", "st_async", "tmem_write")  # an arrival does not overtake them
_MEETING = ("nvvm.shfl", "nvvm.vote", "nvvm.redux", "nvvm.match")  # lanes exchange what they loaded

Brought = dict[Value | Operation, int]  # value, or register memory -> a bit for each load


def find(kernel: Operation, meanings: dict[Operation, Meaning]) -> None:
    """Say in `meanings` which operations use which loads (`reads`, `after`), the first of each block."""
    loads = [op for op, meaning in meanings.items() if meaning.kind == "tmem_read"]
    if not loads:
        return
    kept = {op for op, meaning in meanings.items() if any(one.kind in _KEPT for one in meaning.all)}
    brought: Brought = {op.results[0]: 1 << i for i, op in enumerate(loads)}
    made = dict(brought)  # the same through arithmetic
    uses: dict[Operation, int] = {}
    after: dict[Operation, int] = {}
    operations = list(kernel.walk())
    for _ in range(_PASSES):
        for op in operations:
            if found := _follow(op, brought):
                uses[op] = found
            if (found := _follow(op, made)) and (op in kept or op.name.startswith(_MEETING)):
                after[op] = found
            elif found and not op.regions:
                for result in op.results:
                    _bring(made, result, found)
    for op, load in _first(uses, loads):
        meanings.setdefault(op, Meaning("registers", op=op)).reads.append(load)
    for op, load in _first(after, loads):
        meanings.setdefault(op, Meaning("registers", op=op)).after.append(load)


def _first(uses: dict[Operation, int], loads: list[Operation]) -> Iterator[tuple[Operation, Operation]]:
    """The first use of each load in each block."""
    seen: dict[tuple[Block | None, bool], int] = {}
    for op in sorted(uses, key=lambda op: op.start):
        for i, load in enumerate(loads):
            key = op.parent, op.start > load.start  # before the load: of the loop's turn before
            if uses[op] >> i & 1 and not seen.get(key, 0) >> i & 1:
                seen[key] = seen.get(key, 0) | 1 << i
                yield op, load


def _follow(op: Operation, brought: Brought) -> int:
    """Hand on what the operands bring; the loads that the operation uses."""
    if op.name == "scf.for":
        pairs = zip(op.operands[3:], op.regions[0].blocks[0].arguments[1:], strict=False)
        for value, argument in pairs:
            _bring(brought, argument, brought.get(value, 0))
        return 0
    if op.name == "scf.yield":
        for index, value in enumerate(op.operands):
            for target, _ in handed_on(op, index):
                _bring(brought, target, brought.get(value, 0))
        return 0
    found = 0
    for value in op.operands:
        found |= brought.get(value, 0)
    if op.name == "llvm.load":
        place = alloca(op.operands[0])
        found |= 0 if place is None else brought.get(place, 0)
    elif op.name == "llvm.store" and (place := alloca(op.operands[1])) is not None:
        _bring(brought, place, found)
        return 0
    if found and op.name in (*PASSING, "llvm.load"):
        for result in op.results:
            _bring(brought, result, found)
        return 0
    return found


def _bring(brought: Brought, to: Value | Operation, found: int) -> None:
    if found:
        brought[to] = brought.get(to, 0) | found
