"""`Bare`: which bytes of registers nothing has written, followed through arithmetic to stores and products.

    run = Bare(kernel, suspects, launch, rely)
    run.go(launched, types)
    run.stores, run.products

A kernel's blocks are evaluated side by side, and of them only what the readers of suspects (`suspects`) need:
addresses, conditions, and what is stored in the registers that they come from. A register holds labels, one a
byte: 0 for what something has written, else the number of the load that found nothing. Arithmetic of such
bytes gives such bytes, `select` those of its choice. Whatever is not followed counts as written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutcheck.dsl.lowered import spaces
from layoutcheck.dsl.lowered.evaluate import Launched, prepare, run_kernel
from layoutcheck.dsl.lowered.flow import Flow, Maker
from layoutcheck.dsl.lowered.machine import Launch, Step
from layoutcheck.dsl.lowered.needed import NUMBER, terminator
from layoutcheck.dsl.lowered.record import Number
from layoutcheck.dsl.lowered.types import parse_type
from layoutcheck.dsl.lowered.values import Reasons, number
from layoutcheck.provenance.labels import CLEAN, NOTHING, Cells, is_bare, labelled, labels_of
from layoutcheck.provenance.matrix import is_wgmma, scale_of
from layoutcheck.provenance.refs import FIRST, FLAGS, Array, Refs
from layoutcheck.provenance.sliced import Slice, parts_of
from layoutcheck.provenance.suspects import Suspects
from layoutcheck.sources.mlir import Operation

_SPAN = 256 * 1024  # bytes of shared memory of a block
Bools = NDArray[np.bool_]


@dataclass(eq=False, slots=True)
class Stored:
    """A store to global memory of bytes that nothing has written, and that no later store overwrites.

    Their addresses `at`, each with its thread of all blocks side by side. `load` found nothing in registers,
    others of which `writers` write.
    """

    op: Operation
    load: Operation
    writers: tuple[Operation, ...]
    threads: Array
    at: Array


@dataclass(eq=False, slots=True)
class Multiplied:
    """A product of which nothing has written any register of operand `letter`, in any of the threads."""

    op: Operation
    letter: str
    thread: int


class Bare:
    """One evaluation of a kernel's blocks. `rely` says of provenance whether it can be relied on.

    `shared` are the labels that a run before gave bytes of shared memory of each block.
    """

    def __init__(
        self, kernel: Operation, suspects: Suspects, launch: Launch, rely: Callable[[Reasons, int], bool],
        shared: Array | None = None,
    ) -> None:  # fmt: skip
        self.kernel, self.launch, self.suspects, self._rely = kernel, launch, suspects, rely
        self.slice = Slice(kernel, suspects)
        self.machine, self.flow = prepare(kernel, launch, self.slice, recorded=lambda _op: "")
        self.slots, self.shared = self.flow.slots, shared
        self.blocks = max(1, len(launch.blocks))
        self.each = launch.threads // self.blocks
        self.stores: dict[Operation, Stored] = {}
        self.products: dict[tuple[Operation, str], Multiplied] = {}
        self.loads: list[Operation] = []
        self._found: dict[Operation, Cells] = {}  # where a load last found nothing
        self.bare = np.zeros((self.blocks, _SPAN), np.int64)  # labels that stores put into shared memory
        self.written = np.zeros((self.blocks, _SPAN), bool)  # bytes of shared memory that something has written
        self._arrays: dict[int, Cells] = {}
        self._lost: set[Any] = set(suspects.escaped)
        self._inner, self.flow.translate = self.flow.translate, self._step
        self.flow.control = {name: self._guarded(maker) for name, maker in self.flow.control.items()}
        self.flow.consecutive = True
        for value, slot in self.slots.items():
            if self.slice.levels.get(value) != NUMBER:
                self.machine.provenance[slot] = 0

    def go(self, launched: Launched, types: list[str]) -> None:
        """Run it."""
        run_kernel(self.kernel, self.machine, self.flow, launched, types)

    def sure(self, bits: int) -> bool:
        """Whether what rests on this, and that it happens at all, can be relied on."""
        return self._rely(self.machine.reasons, bits | self.machine.guard)

    def _guarded(self, maker: Maker) -> Maker:
        """A branch or loop: if only a run knows its condition, so are the arrays that it writes."""

        def make(flow: Flow, op: Operation, fast: bool) -> Step:
            step = maker(flow, op, fast)
            values = op.operands[: 3 if op.name == "scf.for" else 1]
            if op.name == "scf.while":
                values = terminator(op.regions[0].blocks[0]).operands[:1]
            slots, machine = flow.slots_of(values), self.machine

            def run() -> None:
                notes, machine.notes, cut = machine.notes, set(), len(flow.cut)
                step()
                bits = 0
                for slot in slots:
                    bits |= machine.provenance[slot]
                limited = machine.notes or len(flow.cut) != cut
                machine.notes |= notes
                if not self.sure(bits) or limited:
                    written = self.slice.stored_in(op)
                    self._lost |= written
                    self.written[:] |= False in written  # in shared memory, or global

            return run

        return make

    def _step(self, op: Operation) -> Step:
        """The step of an operation."""
        if op.name == "llvm.alloca":
            return self._alloca(op)
        if op.name == "llvm.store":
            return self._store(op)
        if op in self.suspects.readers:
            return self._product(op)
        if not op.results or any(self.slice.levels.get(v) == NUMBER for v in op.results):
            return self._inner(op)
        if op.name == "llvm.load":
            return self._load(op)
        return self._carried(op)

    def _alloca(self, op: Operation) -> Step:
        inner, out = self._inner(op), self.slots[op.results[0]]

        def run() -> None:
            inner()
            at = number(self.machine.values[out])
            if isinstance(at, int) and at >= spaces.LOCAL:
                index = (at - spaces.LOCAL) // spaces.LOCAL_STEP
                size = self.machine.registers.arrays[index].size
                self._arrays[index] = Cells(op, np.full((self.launch.threads, size), NOTHING, np.int64))

        return run

    def _place(self, address: Number) -> tuple[Cells | None, Number]:
        """The array of registers that an address points into, and the offset."""
        first = address if isinstance(address, int) else int(address.flat[0])
        index = (first - spaces.LOCAL) // spaces.LOCAL_STEP
        return self._arrays.get(index), address - spaces.LOCAL - index * spaces.LOCAL_STEP

    def _load(self, op: Operation) -> Step:
        """Labels from registers, or from shared memory."""
        values, provenance, machine = self.machine.values, self.machine.provenance, self.machine
        pointer, out = self.slots[op.operands[0]], self.slots[op.results[0]]
        space, width = parse_type(op.operands[0].type).space, parse_type(op.results[0].type).size_bytes
        self.loads.append(op)
        label = FIRST + len(self.loads) - 1

        def run() -> None:
            address = number(values[pointer])
            found, rests = CLEAN, 0
            where = spaces.space_of(space, address)
            if where == "rmem":
                cells, offset = self._place(address)
                if cells is not None and not self._lost & {cells.op, None}:
                    found, rests = cells.load(offset, width, machine.mask, label), cells.rests
                    if found is not CLEAN:
                        self._found[op] = cells
            elif where == "smem" and self.shared is not None:
                found = Refs(self.shared[self._block(), self._bytes(address, width)])
            values[out], provenance[out] = found, rests | provenance[pointer] if found is not CLEAN else 0

        return run

    def _block(self) -> Any:
        return (np.arange(self.launch.threads) // self.each)[:, None]

    def _bytes(self, address: Number, width: int) -> Array:
        _, offset = spaces.in_object("smem", address)
        at = np.broadcast_to(np.asarray(offset, np.int64), (self.launch.threads,))
        found: Array = np.minimum(at[:, None] + np.arange(width), _SPAN - 1)
        return found

    def _store(self, op: Operation) -> Step:
        machine, values = self.machine, self.machine.values
        value, pointer = self.slots[op.operands[0]], self.slots[op.operands[1]]
        kind = parse_type(op.operands[0].type)
        space, width, inner = parse_type(op.operands[1].type).space, kind.size_bytes, self._inner(op)
        numeric = self.slice.levels.get(op.operands[0]) == NUMBER

        def run() -> None:
            address = number(values[pointer])
            where = spaces.space_of(space, address)
            if numeric:
                inner()
            mask, held = machine.mask, values[value]
            if not machine.reached or (mask is not None and not mask.any()):
                return
            sure, bare = self.sure(machine.provenance[pointer]), is_bare(held)
            rests = machine.provenance[value] if bare else 0
            if where == "rmem":
                cells, offset = self._place(address)
                if cells is not None:
                    cells.store(op, offset, width, mask, labels_of(held, width) if bare else None, rests)
                if not sure:
                    self._lost.add(cells and cells.op)
            elif where == "dsmem":
                self.written[:] = True
            elif where == "smem" or bare or self.stores:
                rows = np.arange(self.launch.threads) if mask is None else np.flatnonzero(mask)
                labels = np.broadcast_to(labels_of(held, width), (self.launch.threads, width))
                if where == "smem":
                    self._shared(address, labels if self.sure(rests) else labels * 0, rows, sure)
                elif where == "gmem":
                    told = bare and sure and self.sure(rests)
                    self._note(op, address, labels if told else labels * 0, rows)

        return run

    def _shared(self, address: Number, labels: Array, rows: Array, sure: bool) -> None:
        if not sure:
            self.written[:] = True
            return
        block, at = (
            np.broadcast_to(self._block(), labels.shape)[rows],
            self._bytes(address, labels.shape[1])[rows],
        )
        bare = labels[rows] != 0
        self.bare[block[bare], at[bare]] = labels[rows][bare]
        self.written[block[~bare], at[~bare]] = True

    def _note(self, op: Operation, address: Number, labels: Array, rows: Array) -> None:
        bare = labels[rows] != 0
        at = np.broadcast_to(np.asarray(address, np.int64), (self.launch.threads,))[rows, None]
        at = at + np.arange(labels.shape[1])
        for one in list(self.stores.values()):
            kept = ~np.isin(one.at, at[~bare])
            one.threads, one.at = one.threads[kept], one.at[kept]
            if not kept.any():
                del self.stores[one.op]
        if not bare.any() or op in self.stores:
            return
        first = int(labels[rows][bare][0]) & ~FLAGS
        load = self.loads[first - FIRST]
        writers = tuple(self._found[load].writers) if load in self._found else ()
        threads = np.broadcast_to(rows[:, None], bare.shape)
        self.stores[op] = Stored(op, load, writers, threads[bare], at[bare])

    def _product(self, op: Operation) -> Step:
        machine, values = self.machine, self.machine.values
        parts = {
            letter: [(self.slots[v], parse_type(v.type).size_bytes) for v in part]
            for letter, part in parts_of(op).items()
        }
        scale = [self.slots[v] for v in scale_of(op)] if is_wgmma(op) else []

        def run() -> None:
            threads = np.ones(self.launch.threads, bool) if machine.mask is None else machine.mask
            for letter, part in parts.items():
                active = threads
                bits = 0
                if letter == "C" and scale:
                    active = active & (np.asarray(number(values[scale[0]])) != 0)
                    bits = machine.provenance[scale[0]]
                rows = np.flatnonzero(active)
                if not rows.size or not part or not machine.reached or (op, letter) in self.products:
                    continue
                every = all(is_bare(values[s]) for s, _ in part) and all(
                    (np.broadcast_to(labels_of(values[s], n), (len(active), n))[rows] != 0).all()
                    for s, n in part
                )
                for slot, _ in part if every else ():
                    bits |= machine.provenance[slot]
                if every and self.sure(bits):
                    self.products[op, letter] = Multiplied(op, letter, int(rows[0]))

        return run

    def _carried(self, op: Operation) -> Step:
        """An operation on registers: what `carry` does to labels; a choice and a shuffle by their numbers."""
        values, provenance = self.machine.values, self.machine.provenance
        if op.name == "nvvm.shfl.sync":
            return self._shuffle(op)
        chosen, function = op.name.endswith(".select"), labelled(op)
        sources = [(self.slots[v], max(1, parse_type(v.type).size_bytes)) for v in op.operands]
        outs = [self.slots[v] for v in op.results]

        def run() -> None:
            bare = [slot for slot, _ in sources if is_bare(values[slot])]
            if not bare:
                for slot in outs:
                    values[slot], provenance[slot] = CLEAN, 0
                return
            taken = [labels_of(values[s], n) for s, n in sources]
            bits = 0
            for slot in (*bare, sources[0][0]) if chosen else bare:
                bits |= provenance[slot]
            found = [self._chosen(values[sources[0][0]], *taken[1:])] if chosen else function(taken)
            for slot, at in zip(outs, found, strict=True):
                values[slot], provenance[slot] = Refs(at), bits

        return run

    @staticmethod
    def _chosen(condition: Any, yes: Array, no: Array) -> Array:
        parts = [
            np.asarray(number(one)).reshape(-1, 1)
            for one in (condition if isinstance(condition, tuple) else (condition,))
        ]
        mask = np.concatenate(np.broadcast_arrays(*parts), 1) & 1 != 0
        found: Array = np.where(np.repeat(mask, yes.shape[1] // mask.shape[1], 1), yes, no)
        return found

    def _shuffle(self, op: Operation) -> Step:
        values, provenance = self.machine.values, self.machine.provenance
        a, out = self.slots[op.operands[1]], self.slots[op.results[0]]
        inner, width = self._inner(op), parse_type(op.results[0].type).size_bytes
        own = np.arange(self.launch.threads, dtype=np.int64)

        def run() -> None:
            kept, rests = values[a], provenance[a]
            at = labels_of(kept, width)
            values[a], provenance[a] = own, 0
            inner()
            source, bits = np.broadcast_to(np.asarray(number(values[out])), own.shape), provenance[out]
            values[a], provenance[a] = kept, rests
            values[out] = Refs(np.broadcast_to(at, (len(own), width))[source])
            provenance[out] = rests | bits if at.any() else 0

        return run
