"""Reads of shared memory that nothing in the kernel writes.

    never_written(kernel, blocks, module, transfers) -> problems

A load or ldmatrix is told if no byte that it reads, in any turn and by any thread, is written by anything:
not by a store, a copy or an mbarrier, of any block of the cluster, whether its predicate holds or not. An
atomic operation that makes its result of what is there (add, max) writes nothing in this sense. Bytes
of which only some are missing are left alone (a tail that is read and never used is no fault). A
value that nothing uses is not loaded: the DSL's passes remove the load.

Where a write was not seen with all of its addresses (a branch that was not taken, an address that only a run
knows), it is taken to write its whole member of a struct, its whole allocation, or all of shared memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property

import numpy as np

from layoutcheck.copies.offsets import IntArray
from layoutcheck.dsl.lowered import spaces
from layoutcheck.dsl.lowered.allocations import Allocation, allocations
from layoutcheck.dsl.lowered.evaluate import KERNELS
from layoutcheck.dsl.lowered.instructions import is_memory
from layoutcheck.dsl.lowered.types import GENERIC, SHARED, parse_type
from layoutcheck.dsl.lowered.views import Members, SharedViews
from layoutcheck.order.events import WatchedKernel
from layoutcheck.order.meaning import IN_SHARED, Meaning, space_of
from layoutcheck.order.problems import Party, Problem
from layoutcheck.order.watched import Event, Watched, lanes_of
from layoutcheck.sources.mlir import Block, Operation, Value
from layoutcheck.sources.traced_module import TracedModule

KIND = "never-written"
_READS = ("read", "matrix_read")
_WRITES = ("write", "matrix_write", "atomic", "cp_async", "bulk_load", "bulk_peer", "st_async")
_ADDS = re.compile(r"\b(?:f?add|f?sub|inc|dec|and|x?or|[fu]?min|[fu]?max)\b")  # of what is there
_MBARRIER_BYTES = 8  # PTX ISA, mbarrier: an opaque 64-bit object
_MATRIX_ROW = 16


def never_written(
    kernel: WatchedKernel,
    blocks: list[Watched],
    module: TracedModule,
    transfers: Mapping[str, tuple[int, int]],
) -> list[Problem]:
    """One problem for each operation that reads such memory; none where a write may go anywhere."""
    reads = {
        op
        for op, m in kernel.meanings.items()
        if all(one.kind in _READS and one.space in IN_SHARED for one in m.all)
    }
    if not reads or unseen(kernel):
        return []
    written = _Written(kernel, blocks, module, transfers)
    found = dict(_unwritten(reads, blocks, written.bytes_))
    if found:  # what was not seen of writes takes time, and matters now
        written.add_unsure()
        found = dict(_unwritten(set(found), blocks, written.bytes_))
    for problem in found.values():
        problem.facts["adds"] = any(_adds(one) for m in kernel.meanings.values() for one in m.all)
    return list(found.values())


def _adds(meaning: Meaning) -> bool:
    """Whether it is an atomic operation on shared memory that needs what is there."""
    adds = meaning.kind == "atomic" and _ADDS.search(str(meaning.facts.get("op", "")))
    return bool(adds) and meaning.space in IN_SHARED


def _writes(meaning: Meaning) -> bool:
    return meaning.kind in _WRITES and not _adds(meaning)


def width_of(event: Event, transfers: Mapping[str, tuple[int, int]], most: int) -> int:
    """The bytes that each address of a write stands for; 0 for what writes nothing."""
    meaning = event.meaning
    if meaning.kind.startswith("mbar"):
        return _MBARRIER_BYTES
    if not _writes(meaning):
        return 0
    if meaning.facts.get("tensor"):
        return meaning.size or transfers.get(meaning.site, (most, 0))[0]
    if event.bulk is not None:
        return int(np.max(event.bulk[0]))
    return _MATRIX_ROW if meaning.kind == "matrix_write" else meaning.size or _MATRIX_ROW


def unseen(kernel: WatchedKernel) -> bool:
    """Whether something of the kernel may write shared memory in a way that is not followed."""
    if any(m.kind == "unknown" for m in kernel.meanings.values()):
        return True
    return any(
        any(space_of(v) in IN_SHARED for v in op.operands if parse_type(v.type).kind == "pointer")
        for op in kernel.operation.walk()
        if op not in kernel.meanings and (is_memory(op) or op.name == "llvm.call")
        if op.name not in ("llvm.load", "llvm.store")  # of registers in memory
        if not op.name.startswith("nvvm.tcgen05.")  # of tensor memory
    )


class _Written:
    """The bytes of shared memory that something writes, of all blocks of a cluster as one."""

    def __init__(
        self, kernel: WatchedKernel, blocks: list[Watched], module: TracedModule,
        transfers: Mapping[str, tuple[int, int]],
    ) -> None:  # fmt: skip
        self.kernel, self.blocks, self.module = kernel, blocks, module
        self.bytes_ = np.zeros(max(1 << 18, *(block.shared_bytes for block in blocks)), bool)
        self.partial: set[Operation] = set()  # writes of which some address is not known
        self.met: set[Operation | None] = set()
        self._varying: dict[Operation, bool] = {}
        known: set[tuple[int, bytes]] = set()
        for block in blocks:
            guessed = block.guessed or not block.complete
            for event in block.events:
                meaning = event.meaning
                width = width_of(event, transfers, len(self.bytes_))
                if not width or meaning.space not in IN_SHARED:
                    continue
                self.met.add(meaning.op)
                at = _offsets(event, block.launch.threads)
                if meaning.op is not None and (event.doubt or (guessed and self._turns(meaning.op))):
                    self.partial.add(meaning.op)
                key = id(meaning), at.tobytes()
                if key not in known:
                    known.add(key)
                    self._mark(at, width)

    def _turns(self, op: Operation) -> bool:
        """Whether the address of a write may differ from turn to turn of a loop, or with a branch."""
        if op not in self._varying:
            self._varying[op] = _varies(self.kernel.meanings[op].operands[0], set())
        return self._varying[op]

    def _mark(self, at: IntArray, width: int) -> None:
        for start in at[at < len(self.bytes_)] if width > 64 else ():
            self.bytes_[start : start + width] = True
        if width <= 64:
            cells = (at[:, None] + np.arange(width)).ravel()
            self.bytes_[cells[cells < len(self.bytes_)]] = True

    def add_unsure(self) -> None:
        """The places of writes that were not met, or of which not all addresses are known."""
        for op, meaning in self.kernel.meanings.items():
            unsure = op in self.partial or op not in self.met
            for one in meaning.all if unsure else ():
                if _writes(one) and one.space in IN_SHARED:
                    low, high = self._place(op, one)
                    self.bytes_[low:high] = True

    def _place(self, op: Operation, meaning: Meaning) -> tuple[int, int]:
        """The bytes that a write may reach: of a member of a struct, of an allocation, or all."""
        pointer = meaning.operands[0]
        if meaning.space == "generic" and _elsewhere(pointer):
            return 0, 0
        whole = (0, len(self.bytes_))
        root = allocation_of(pointer)
        if root not in self._allocations:
            return whole
        one = self._allocations[root]
        member = self._members.get((meaning.site, 1))
        if member is None or member.whole != one.size:
            return one.start, one.start + one.size
        return one.start + member.start, one.start + member.start + member.size

    @cached_property
    def _members(self) -> Members:
        return SharedViews(self.module.text).members

    @cached_property
    def _allocations(self) -> dict[Operation, Allocation]:
        return allocations(self.kernel.operation)


def _elsewhere(pointer: Value) -> bool:
    """Whether a generic pointer is surely not of shared memory: one of global memory, seen as generic."""
    made = pointer.definition
    while made is not None and made.name == "llvm.getelementptr":
        made = made.operands[0].definition
    if made is None or made.name != "llvm.addrspacecast":
        return False
    return parse_type(made.operands[0].type).space not in (SHARED, GENERIC)


def allocation_of(address: Value, seen: set[Value] | None = None) -> Operation | None:
    """The one allocation that an address is made of, through swizzles too; None where that is not known."""
    made, seen = address.definition, set() if seen is None else seen
    if address in seen or made is None or made.regions:
        return None
    seen.add(address)
    if made.name == "llvm.alloca":
        return made
    found = {one for operand in made.operands if (one := allocation_of(operand, seen)) is not None}
    return found.pop() if len(found) == 1 else None


def _varies(value: Value, seen: set[Value]) -> bool:
    """Whether a number is made of what a loop carries, a branch gives or memory holds."""
    if value in seen:
        return False
    seen.add(value)
    made = value.definition
    if made is None:
        around = value.owner.parent.parent if isinstance(value.owner, Block) else None
        if around is None or around.name in KERNELS:
            return around is None
        # A loop that is counted has had all of its turns.
        return (
            around.name != "scf.for"
            or bool(value.index)
            or any(_varies(bound, seen) for bound in around.operands[:3])
        )
    if made.regions or made.name in ("llvm.load", "llvm.inline_asm"):
        return True
    return any(_varies(operand, seen) for operand in made.operands)


def _offsets(event: Event, threads: int) -> IntArray:
    """Where each thread begins, whether it takes part or not: a predicate may hold in another run."""
    at = np.unique(np.asarray(event.values[0], np.int64))
    meaning = event.meaning
    if meaning.space == "generic":
        at = at[[spaces.space_of(0, int(one)) in ("smem", "dsmem") for one in at]]
    return at & (spaces.SHARED_BYTES - 1)


def _unwritten(
    reads: set[Operation], blocks: list[Watched], written: np.ndarray[tuple[int], np.dtype[np.bool_]]
) -> Iterator[tuple[Operation, Problem]]:
    """The operations of which every byte read is not written, with the first of their reads."""
    first: dict[Operation, Problem] = {}
    counts: dict[Operation, int] = {}
    right: set[Operation | None] = set()
    for number, block in enumerate(blocks):
        threads = block.launch.threads
        for event in block.events:
            op = event.meaning.op
            if op not in reads or op in right:
                continue
            at, who = reached(event, threads)
            if event.doubt or event.guarded or at is None or written[at].any():
                right.add(op)
            elif at.size and op is not None:
                width = _MATRIX_ROW if event.meaning.kind == "matrix_read" else event.meaning.size
                party = Party(event, number, who, int(at.flat[0]), width)
                first.setdefault(op, Problem(KIND, party, None))
                counts[op] = max(counts.get(op, 0), len(np.unique(at)))
    for op, problem in first.items():
        if op not in right:
            problem.facts["bytes"] = counts[op]
            yield op, problem


def reached(event: Event, threads: int) -> tuple[IntArray | None, int]:
    """The bytes that an event reads of its own block, and its first thread; None where it reads elsewhere."""
    meaning = event.meaning
    active = lanes_of(event, threads)
    if meaning.kind == "matrix_read":
        active = active & (np.arange(threads) % 32 < meaning.count)
    row = event.numbers(0, threads)[active]
    if not row.size:
        return row, 0
    space = meaning.space if meaning.space != "generic" else spaces.space_of(0, int(row[0]))
    if space not in ("smem", "dsmem"):
        return None, 0
    width = _MATRIX_ROW if meaning.kind == "matrix_read" else max(1, meaning.size)
    at = (row & (spaces.SHARED_BYTES - 1))[:, None] + np.arange(width)
    return (at if int(at.max()) < 1 << 18 else None), int(active.argmax())
