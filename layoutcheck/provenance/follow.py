"""`follow(kernel, block)`: one block of a lowered kernel, evaluated with references in its registers.

The evaluator gives the addresses, a `Tracker` the references: `_step` says which function of `accesses`
or `matrix` follows an operation. What reads or writes memory, and every product, is kept as a
`Deed`, to be replayed in an order in which the block's warps can run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from layoutcheck.dsl.lowered.evaluate import enter, prepare
from layoutcheck.dsl.lowered.flow import Turns
from layoutcheck.dsl.lowered.instructions import BULK, TENSOR_LOAD, TENSOR_STORES, is_memory
from layoutcheck.dsl.lowered.machine import Launch, Step
from layoutcheck.dsl.lowered.needed import CARRIERS, NUMBER, Needed
from layoutcheck.dsl.lowered.types import parse_type
from layoutcheck.order.budget import Budget
from layoutcheck.order.events import WatchedKernel
from layoutcheck.order.meaning import Meaning
from layoutcheck.order.recorder import MOST_EVENTS, Full, Recorder
from layoutcheck.order.watched import Watched
from layoutcheck.provenance import accesses, matrix
from layoutcheck.provenance.carry import is_masked
from layoutcheck.provenance.deeds import Followed
from layoutcheck.provenance.tracker import FLOAT, TooMuch, Tracker
from layoutcheck.sources.mlir import Operation
from layoutcheck.sources.mlir import Value as SsaValue

MMA = "mma_sync"
_TENSOR_WRITES = re.compile(r"tcgen05\.(?:mma|st|cp|shift)")
_NUMBERS = frozenset(("f32", "i1", "i8", "i16", "i32", "i64"))
# What may write shared memory (`order.meaning`), and the operations of these that are followed, or that write
# one word of their own: an address, an answer.
_WRITES = ("unknown", "write", "atomic", "matrix_write", "cp_async", "bulk_load", "bulk_peer")
_FOLLOWED = frozenset(
    ("llvm.store", "nvvm.stmatrix", "nvvm.cp.async.shared.global", "nvvm.atomicrmw", "llvm.atomicrmw",
     "nvvm.tcgen05.alloc", "nvvm.clusterlaunchcontrol.try.cancel", TENSOR_LOAD, *BULK)
)  # fmt: skip
_DATA = frozenset((*matrix.TENSOR_MEMORY, "llvm.alloca", "nvvm.load.ext", "nvvm.ldmatrix", "nvvm.mma.sync"))
_TAKES = ("nvvm.mma.sync", "gpu.printf")
_MOVES = CARRIERS | _DATA | {"llvm.load", "llvm.store", "nvvm.stmatrix"}


def products_of(kernel: WatchedKernel) -> WatchedKernel:
    """The kernel with its warp-level products as events."""
    found = dict(kernel.meanings)
    for op in kernel.operation.walk():
        if op.name == "nvvm.mma.sync" or op.name in matrix.TENSOR_MEMORY:
            found[op] = Meaning(MMA, op=op)
    return replace(kernel, meanings=found)


def follow(kernel: WatchedKernel, block: tuple[int, int, int], budget: Budget, tiles: int = 1) -> Followed:
    """Evaluate one block, loops over tiles for so many turns. Raises OutOfTime.

    The steps are made once for all blocks of one shape, whatever the kernel's numbers are.
    """
    launch = replace(kernel.launch, index=block)
    key = "products", launch.block
    if key not in kernel.programs:
        kernel.programs[key] = _Steps(kernel, launch)
    return kernel.programs[key].run(kernel, launch, budget, tiles)


class _Steps:
    """A kernel's operations as steps on references; `run` starts them from the beginning."""

    def __init__(self, kernel: WatchedKernel, launch: Launch) -> None:
        every = list(kernel.operation.walk())
        roots: Any = [
            (op, op.operands, [])
            for op in every
            if op.operands and (is_memory(op) or op.name in _TAKES or matrix.is_wgmma(op))
        ]
        roots += [(op, m.needs, []) for op, m in kernel.meanings.items()]
        machine, flow = prepare(kernel.operation, launch, roots, recorded=lambda _op: "")
        self.machine, self.flow = machine, flow
        self.tracker = Tracker(machine, flow.slots, flow.translate, _addresses(kernel), kernel.meanings)
        self.tracker.every = not any(map(matrix.is_product, every))
        flow.translate = partial(_step, self.tracker)
        self.recorder = Recorder(machine, flow, kernel.meanings, Watched(launch), 1)
        flow.translate = self.recorder.step
        self.steps = flow.steps(kernel.operation.regions[0].blocks[0], fast=False)
        self.known = dict(machine.reasons.known)
        self.tiles = kernel.tiles()
        self.opaque, self.begun = _opaque(kernel), writes_tensor(every)

    def run(self, kernel: WatchedKernel, launch: Launch, budget: Budget, tiles: int) -> Followed:
        """What one block does; `tiles` and what is raised are those of `follow`."""
        machine, flow, tracker, watched = self.machine, self.flow, self.tracker, Watched(launch)
        machine.restart(launch, self.known)
        flow.restart()
        flow.tick, flow.turns = budget.check, Turns(True, most=dict.fromkeys(self.tiles, tiles))
        self.recorder.restart(watched, 1)
        tracker.restart(watched)
        enter(kernel.operation, machine, flow, kernel.given, kernel.types)
        problem = ""
        try:
            with np.errstate(all="ignore"):
                flow.run(self.steps)
        except TooMuch:
            problem = "the kernel has more data than is followed"
        except Full:
            problem = f"a block has more than {MOST_EVENTS:,} accesses and synchronisations"
        watched.shared_bytes = machine.all_shared_bytes
        watched.cut, watched.reasons = frozenset(flow.cut), machine.reasons.copy()
        watched.complete = not any("cut short" in note for note in machine.notes)
        met = np.concatenate([np.zeros((2, 0), np.int64), *tracker.met], 1)
        taken = np.unique(np.concatenate([np.zeros(0, np.int64), *tracker.taken]))
        pairs = np.concatenate([np.zeros((4, 0), np.int64), *tracker.pairs], 1)
        touched, opaque = frozenset(tracker.touched), bool(problem) or self.opaque
        return Followed(
            watched, tracker.deeds, tracker.next, met, pairs, taken, problem, touched, opaque, self.begun,
            tracker.rests, np.concatenate([np.zeros((2, 0), np.int64), *tracker.beside], 1),
        )  # fmt: skip


def _opaque(kernel: WatchedKernel) -> bool:
    """Whether an operation may write shared memory in a way that is not followed."""
    return any(
        part.kind in _WRITES and op.name not in _FOLLOWED
        for op, one in kernel.meanings.items()
        for part in one.all
    )


def writes_tensor(ops: Iterable[Operation]) -> bool:
    """Whether inline PTX, which is not followed, may write tensor memory."""
    texts = (op.attributes.get("asm_string", op.attributes.get("ptxCode", "")) for op in ops)
    return any(_TENSOR_WRITES.search(text) for text in texts)


def _addresses(kernel: WatchedKernel) -> set[SsaValue]:
    """The values that addresses, conditions and descriptors rest on: they stay numbers."""
    roots: list[Any] = [(op, m.needs, []) for op, m in kernel.meanings.items()]
    for op in kernel.operation.walk():
        if matrix.is_wgmma(op):
            rest = op.operands[matrix.accumulator_count(op) :]
            numbers = [v for v in rest if v.type in ("i64", "i1")]
            roots.append((op, numbers + matrix.scale_of(op), []))
        elif op.name in (TENSOR_LOAD, *TENSOR_STORES, *BULK) or matrix.is_tcgen05(op):
            roots.append((op, op.operands, []))
        elif is_memory(op):
            roots.append((op, [v for v in op.operands if parse_type(v.type).kind == "pointer"], []))
            if op.name == "nvvm.cp.async.shared.global":
                roots.append((op, op.operands, []))
    levels = Needed(kernel.operation, roots).levels
    return {value for value, level in levels.items() if level == NUMBER}


def _single(op: Operation) -> bool:
    """Whether an operation makes one number from others that are f32, or f32 from others."""
    kinds = [v.type for v in (*op.operands, *op.results)]
    reaches = is_memory(op) or op.name in _DATA or "asm" in op.name or op.regions
    return len(op.results) == 1 and "f32" in kinds and not reaches and all(k in _NUMBERS for k in kinds)


def _step(on: Tracker, op: Operation) -> Step:
    """The step of an operation."""
    step = _following(on, op)
    moves = op.name in _MOVES or op.regions or matrix.is_wgmma(op) or matrix.is_product(op)
    return step if moves else accesses.taking(on, op, step)


def _following(on: Tracker, op: Operation) -> Step:
    """The step that follows what an operation does with references."""
    name = op.name
    if _single(op) and op.results[0] in on.addresses and not is_masked(op):
        return accesses.counted(on, op)
    if name not in _DATA and any(on.numeric(v) for v in op.results):
        if name == "llvm.load":
            return accesses.load_number(on, op)
        if not any(FLOAT.search(v.type) for v in op.operands):
            return on.inner(op)
    made = {
        "llvm.load": accesses.load, "llvm.store": accesses.store, "nvvm.ldmatrix": accesses.ldmatrix,
        "nvvm.stmatrix": accesses.stmatrix, "nvvm.cp.async.shared.global": accesses.cp_async,
        "nvvm.atomicrmw": accesses.atomic, "llvm.atomicrmw": accesses.atomic,
        "nvvm.mma.sync": matrix.mma, "nvvm.shfl.sync": accesses.shuffle, TENSOR_LOAD: accesses.tma,
        **dict.fromkeys(TENSOR_STORES, accesses.tma), **dict.fromkeys(BULK, accesses.bulk),
    }.get(name)  # fmt: skip
    if made is not None:
        return made(on, op)
    if matrix.is_wgmma(op):
        return matrix.wgmma(on, op)
    if name in matrix.TENSOR_MEMORY:
        return matrix.tensor_memory(on, op)
    if matrix.is_product(op):
        return matrix.tcgen05(on, op)
    if not op.results or is_memory(op) or name.startswith("llvm.alloca"):
        return accesses.lost(on, op)
    if any(parse_type(v.type).kind in ("pointer", "other") for v in op.results):
        return on.inner(op)
    return accesses.carried(on, op)
