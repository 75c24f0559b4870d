"""`Gaps`: loads of shared memory that find bytes which nothing in the kernel has written.

    gaps = Gaps(kernel, launch)
    gaps.run(launched, types, rely)
    gaps.loads, gaps.since     # (blocks, bytes)

Time is counted in barriers at which all threads meet: what is first written behind one is not there before.

Only addresses are evaluated. Nothing is found if something else than loads, stores and `cp.async` reaches
shared memory, or if only a run knows where, or whether, something is written. An atomic sum or maximum writes
nothing in this sense: of bytes that nothing has written it makes such bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from layoutcheck.dsl.lowered import spaces
from layoutcheck.dsl.lowered.evaluate import Launched, prepare, run_kernel
from layoutcheck.dsl.lowered.flow import Turns
from layoutcheck.dsl.lowered.instructions import in_shared_by_ptx, is_memory, makes_of_old, numbers_and_data
from layoutcheck.dsl.lowered.machine import Launch, Machine, Step
from layoutcheck.dsl.lowered.types import CLUSTER, GLOBAL, SHARED, parse_type
from layoutcheck.dsl.lowered.values import Reasons, for_all, number
from layoutcheck.provenance.refs import Array
from layoutcheck.sources.mlir import Operation

COPY = "nvvm.cp.async.shared.global"
SPAN = 256 * 1024  # bytes of shared memory of a block
NEVER = 1 << 30  # later than any barrier
_KNOWN = ("llvm.load", "llvm.store", "nvvm.ldmatrix", COPY)


def of_shared(kernel: Operation) -> list[Operation]:
    """The loads, stores and copies of shared memory, if nothing else reaches it, of this block or another."""
    found = []
    for op in kernel.walk():
        if op.name.startswith("nvvm.mbarrier") or in_shared_by_ptx(op):
            return []
        if is_memory(op):
            near = {parse_type(v.type).space for v in op.operands if v.type.startswith("!llvm.ptr")}
            near.discard(GLOBAL)
            if CLUSTER in near or (near and op.name not in _KNOWN and not makes_of_old(op)):
                return []
            if SHARED in near and op.name in ("llvm.load", "llvm.store", COPY):
                found.append(op)
    return found if any(op.name == "llvm.load" for op in found) else []


def meets(op: Operation) -> bool:
    """Whether it is a barrier of all threads of a block, wherever it stands."""
    return op.name in ("nvvm.barrier", "nvvm.barrier0") and not op.operands


def met(machine: Machine) -> bool:
    """Whether all threads come to what is executed now."""
    return machine.reached and (machine.mask is None or bool(np.all(machine.mask)))


class Gaps:
    """One evaluation of a kernel's blocks; `since` is the time of each byte's first write."""

    def __init__(self, kernel: Operation, launch: Launch, accesses: list[Operation]) -> None:
        self.kernel, self.launch, self.accesses = kernel, launch, set(accesses)
        self.blocks = max(1, len(launch.blocks))
        self.since: Any = np.full((self.blocks, SPAN), NEVER, np.int32)
        self._read: dict[Operation, Array] = {}
        self.sure, self.time = True, 0

    def run(
        self, launched: Launched, types: list[str], rely: Callable[[Reasons, int], bool], turns: int,
        tick: Callable[[], None],
    ) -> None:  # fmt: skip
        """Run it, loops without a count for so many turns."""
        roots = [(op, numbers_and_data(op)[0], []) for op in self.accesses]
        roots += [(op, [], []) for op in self.kernel.walk() if meets(op)]
        self.machine, self.flow = prepare(self.kernel, self.launch, roots, recorded=lambda _op: "")
        self._rely, self._inner = rely, self.flow.translate
        self.flow.translate, self.flow.tick = self._step, tick
        whiles = [op for op in self.kernel.walk() if op.name == "scf.while"]
        self.flow.turns = Turns(True, most=dict.fromkeys(whiles, turns))
        run_kernel(self.kernel, self.machine, self.flow, launched, types)
        self.sure &= not self.machine.notes and not self.flow.cut

    @property
    def loads(self) -> list[Operation]:
        """Those that find bytes which nothing has written."""
        return [op for op, read in self._read.items() if self.sure and (read < self.since).any()]

    def _step(self, op: Operation) -> Step:
        inner = self._inner(op)
        if meets(op):
            return self._barrier
        if op not in self.accesses:
            return inner
        machine, slot = self.machine, self.flow.slots[op.operands[op.name == "llvm.store"]]
        value = op.results[0] if op.results else op.operands[0]
        width = 16 if op.name == COPY else parse_type(value.type).size_bytes
        own = (np.arange(self.launch.threads) // (self.launch.threads // self.blocks))[:, None]

        def run() -> None:
            inner()
            if not machine.reached or (machine.mask is not None and not machine.mask.any()):
                return
            if op.name != "llvm.load":
                self.sure &= self._rely(machine.reasons, machine.provenance[slot] | machine.guard)
            rows = slice(None) if machine.mask is None else machine.mask
            at = for_all(spaces.in_object("smem", number(machine.values[slot]))[1], len(own))
            cells = np.clip(at[:, None] + np.arange(width), 0, SPAN - 1)[rows]
            marks = self.since
            if op.name == "llvm.load":
                if (marks[own[rows], cells] < NEVER).all():
                    return
                marks = self._read.setdefault(op, np.full_like(marks, NEVER))
            marks[own[rows], cells] = np.minimum(marks[own[rows], cells], self.time)

        return run

    def _barrier(self) -> None:
        self.time += met(self.machine) and self._rely(self.machine.reasons, self.machine.guard)
