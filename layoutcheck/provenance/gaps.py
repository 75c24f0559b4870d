"""`Gaps`: loads of shared memory that find bytes which nothing in the kernel writes, in any turn.

    gaps = Gaps(kernel, launch)
    gaps.run(launched, types, rely)
    gaps.loads, gaps.written     # (blocks, bytes)

Only addresses are evaluated. Nothing is found if something else than loads, stores and `cp.async` reaches
shared memory, or if only a run knows where, or whether, something is written. An atomic sum or maximum writes
nothing in this sense: of bytes that nothing has written it makes such bytes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from layoutcheck.dsl.lowered import spaces
from layoutcheck.dsl.lowered.evaluate import Launched, prepare, run_kernel
from layoutcheck.dsl.lowered.flow import Turns
from layoutcheck.dsl.lowered.instructions import in_shared_by_ptx, is_memory, makes_of_old, numbers_and_data
from layoutcheck.dsl.lowered.machine import Launch, Step
from layoutcheck.dsl.lowered.types import CLUSTER, GLOBAL, SHARED, parse_type
from layoutcheck.dsl.lowered.values import Reasons, for_all, number
from layoutcheck.provenance.refs import Array
from layoutcheck.sources.mlir import Operation

COPY = "nvvm.cp.async.shared.global"
SPAN = 256 * 1024  # bytes of shared memory of a block
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


class Gaps:
    """One evaluation of a kernel's blocks."""

    def __init__(self, kernel: Operation, launch: Launch, accesses: list[Operation]) -> None:
        self.kernel, self.launch, self.accesses = kernel, launch, set(accesses)
        self.blocks = max(1, len(launch.blocks))
        self.written = np.zeros((self.blocks, SPAN), bool)
        self._read: dict[Operation, Array] = {}
        self.sure = True

    def run(
        self, launched: Launched, types: list[str], rely: Callable[[Reasons, int], bool], turns: int,
        tick: Callable[[], None],
    ) -> None:  # fmt: skip
        """Run it, loops without a count for so many turns."""
        roots = [(op, numbers_and_data(op)[0], []) for op in self.accesses]
        self.machine, self.flow = prepare(self.kernel, self.launch, roots, recorded=lambda _op: "")
        self._rely, self._inner = rely, self.flow.translate
        self.flow.translate, self.flow.tick = self._step, tick
        whiles = [op for op in self.kernel.walk() if op.name == "scf.while"]
        self.flow.turns = Turns(True, most=dict.fromkeys(whiles, turns))
        run_kernel(self.kernel, self.machine, self.flow, launched, types)
        self.sure &= not self.machine.notes and not self.flow.cut

    @property
    def loads(self) -> list[Operation]:
        """Those that find bytes which nothing writes."""
        return [op for op, read in self._read.items() if self.sure and (read & ~self.written).any()]

    def _step(self, op: Operation) -> Step:
        inner = self._inner(op)
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
            marks = self.written
            if op.name == "llvm.load":
                marks = self._read.setdefault(op, np.zeros_like(marks))
            marks[own[rows], cells] = True

        return run
