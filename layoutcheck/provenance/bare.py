"""`Bare`: which bytes of registers nothing has written, followed through arithmetic to stores and products.

    run = Bare(kernel, suspects, launch, rely)
    run.go(launched, types)
    run.stores, run.products, run.left

A kernel's blocks are evaluated side by side, and of them only what the readers of suspects (`suspects`) need:
addresses, conditions, and what is stored in the registers that they come from. A register holds labels, one a
byte: 0 for what something has written, else the number of the load that found nothing. Arithmetic of such
bytes gives such bytes, `select` those of its choice. Whatever is not followed counts as written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutcheck.dsl.lowered import spaces
from layoutcheck.dsl.lowered.evaluate import Launched, prepare, run_kernel
from layoutcheck.dsl.lowered.flow import Flow, Maker, Turns
from layoutcheck.dsl.lowered.instructions import makes_of_old
from layoutcheck.dsl.lowered.machine import Launch, Step
from layoutcheck.dsl.lowered.needed import NUMBER, condition
from layoutcheck.dsl.lowered.record import Number
from layoutcheck.dsl.lowered.types import parse_type
from layoutcheck.dsl.lowered.values import Reasons, for_all, number
from layoutcheck.provenance.gaps import SPAN, meets, met
from layoutcheck.provenance.handed import UNSURE, Multiplied, carried, ends, product
from layoutcheck.provenance.labels import CLEAN, NOTHING, Cells, is_bare, labels_of
from layoutcheck.provenance.matrix import is_product
from layoutcheck.provenance.refs import FIRST, FLAGS, Array, Refs
from layoutcheck.provenance.sliced import Slice, sliced
from layoutcheck.provenance.suspects import Suspects, stored_by
from layoutcheck.sources.mlir import Operation

IN_SHARED = "what other instructions than loads and stores make of them in shared memory"
IN_CLUSTER = "they are stored in another block's shared memory"
Bools = NDArray[np.bool_]


@dataclass(eq=False, slots=True)
class Stored:
    """A store to global memory of bytes that nothing has written, and that no later store overwrites.

    Their addresses `at`, each with its thread of all blocks side by side. `load` found nothing in registers,
    others of which `writers` write, `elsewhere` in other threads.
    """

    op: Operation
    load: Operation
    writers: tuple[Operation, ...]
    elsewhere: bool
    threads: Array
    at: Array


@dataclass(eq=False, slots=True)
class Beyond:
    """A load of `width` bytes at offsets `at` that are not in its array of registers, of `size` bytes."""

    op: Operation
    width: int
    size: int
    at: set[int] = field(default_factory=set)


class Bare:
    """One evaluation of a kernel's blocks. `rely` says of provenance whether it can be relied on.

    `shared` are the labels that a run before gave bytes of shared memory of each block, `since` the times of
    their first writes, as `Gaps` has them.
    """

    def __init__(
        self, kernel: Operation, suspects: Suspects, launch: Launch, rely: Callable[[Reasons, int], bool],
        shared: Array | None = None, kind: type[Slice] = Slice, since: Array | None = None,
    ) -> None:  # fmt: skip
        self.kernel, self.launch, self.suspects, self._rely = kernel, launch, suspects, rely
        self.slice = sliced(kernel, suspects, kind)
        self.machine, self.flow = prepare(kernel, launch, self.slice, recorded=lambda _op: "")
        self.slots, self.shared, self.since, self.time = self.flow.slots, shared, since, 0
        self.blocks = max(1, len(launch.blocks))
        self.each = launch.threads // self.blocks
        self.stores: dict[Operation, Stored] = {}
        self.products: dict[tuple[Operation, str], Multiplied] = {}
        self.beyond: dict[Operation, Beyond] = {}
        self.left: dict[str, None] = {}  # what such bytes may have reached unnoticed
        self.loads: list[Operation] = []
        self._found: dict[Operation, tuple[Cells, bool]] = {}  # where a load last found nothing
        self.bare = np.zeros((self.blocks, SPAN), np.int64)  # labels that stores put into shared memory
        self.written = np.zeros((self.blocks, SPAN), bool)  # bytes of shared memory
        self._arrays: dict[int, Cells] = {}
        self._met, self._unsure = set[Operation](), set[Operation]()  # readers, branches and loops
        self._lost: set[Any] = set(suspects.escaped)
        self.inner, self.flow.translate = self.flow.translate, self._step
        self.flow.control = {name: self._guarded(maker) for name, maker in self.flow.control.items()}
        self.flow.turns = Turns(every=True)
        for value, slot in self.slots.items():
            if self.slice.levels.get(value) != NUMBER:
                self.machine.provenance[slot] = 0

    def go(self, launched: Launched, types: list[str]) -> None:
        """Run it."""
        run_kernel(self.kernel, self.machine, self.flow, launched, types)
        if any(self._may_run(op) for op in self.suspects.readers.keys() - self._met):
            self.left[UNSURE] = None

    def lost(self) -> list[tuple[Operation, int, Array]]:
        """Loads that a sum over lanes leaves out, a step that it does not have, and threads of a block."""
        return []

    def _may_run(self, op: Operation | None) -> bool:
        """Whether an operation stands in a branch or loop whose condition only a run knows."""
        return op is not None and (op in self._unsure or not self._unsure.isdisjoint(op.around()))

    def sure(self, bits: int) -> bool:
        """Whether what rests on this, and that it happens at all, can be relied on."""
        return self._rely(self.machine.reasons, bits | self.machine.guard)

    def _guarded(self, maker: Maker) -> Maker:
        """A branch or loop: if only a run knows its condition, so are the arrays that it writes."""

        def make(flow: Flow, op: Operation, fast: bool) -> Step:
            step = maker(flow, op, fast)
            slots, machine = flow.slots_of(condition(op)), self.machine

            def run() -> None:
                notes, machine.notes, cut = machine.notes, set(), len(flow.cut)
                step()
                bits = machine.rests_of(slots)
                limited = machine.notes or len(flow.cut) != cut
                machine.notes |= notes
                if not self.sure(bits):
                    self._unsure.add(op)
                if not self.sure(bits) or limited:
                    written = self.slice.stored_in(op)
                    self._lost |= written
                    self.written[:] |= False in written  # in shared memory, or global

            return run

        return make

    def _step(self, op: Operation) -> Step:
        """The step of an operation."""
        if meets(op):
            return self._barrier
        if op.name == "llvm.alloca":
            return self._alloca(op)
        if op.name == "llvm.store" or op in self.suspects.readers:
            stored = stored_by(op)
            if stored is not None:
                return self._reader(op, self._store(op, *stored))
            return self._reader(op, product(self, op) if is_product(op) else ends(self, op))
        if not op.results or any(self.slice.levels.get(v) == NUMBER for v in op.results):
            return self.inner(op)
        if op.name == "llvm.load":
            return self._load(op)
        return carried(self, op)

    def _barrier(self) -> None:
        self.time += met(self.machine) and self.sure(0)

    def _reader(self, op: Operation, step: Step) -> Step:
        def run() -> None:
            if self.machine.reached:
                self._met.add(op)
            step()

        return run

    def _alloca(self, op: Operation) -> Step:
        inner, out = self.inner(op), self.slots[op.results[0]]

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
                if cells is not None:
                    self._outside(op, cells, offset, width, machine.provenance[pointer])
                    found, rests = cells.load(offset, width, machine.mask, label), cells.rests
                if found is not CLEAN and self._lost & {cells and cells.op, None}:
                    self.left[UNSURE] = None
                    found = CLEAN
                elif found is not CLEAN and cells is not None:
                    self._found[op] = cells, cells.elsewhere(offset, width)
            elif where == "smem" and self.shared is not None:
                place = self._block(), self._bytes(address, width)
                at = self.shared[place]
                if self.since is not None:
                    at = np.where(self.time < self.since[place], NOTHING, at)
                found = Refs(np.where(at == NOTHING, label if op in self.suspects.loads else 0, at))
            values[out], provenance[out] = found, rests | provenance[pointer] if found is not CLEAN else 0

        return run

    def _outside(self, op: Operation, cells: Cells, offset: Any, width: int, bits: int) -> None:
        """Note a load that leaves its array, if the text does not have the offset: LC204 has those."""
        machine = self.machine
        at = cells.outside(offset, width, machine.mask)
        if not at.size or not machine.reached or machine.reasons.read(bits | machine.guard):
            return
        place = self.suspects.place(op.operands[0])
        if place is not None and place[1] is None:
            self.beyond.setdefault(op, Beyond(op, width, cells.at.shape[1])).at.update(map(int, at))

    def _block(self) -> Any:
        return (np.arange(self.launch.threads) // self.each)[:, None]

    def _bytes(self, address: Number, width: int) -> Array:
        _, offset = spaces.in_object("smem", address)
        at = for_all(offset, self.launch.threads)
        return np.minimum(at[:, None] + np.arange(width), SPAN - 1)

    def _store(self, op: Operation, at: int, given: int) -> Step:
        """A store, or an atomic operation, which leaves what others have stored: see `stored_by`."""
        machine, values, inner = self.machine, self.machine.values, self.inner(op)
        value, pointer = self.slots[op.operands[given]], self.slots[op.operands[at]]
        space = parse_type(op.operands[at].type).space
        width, whole = parse_type(op.operands[given].type).size_bytes, op.name == "llvm.store"
        places = ("gmem",) if makes_of_old(op) else ("smem", "dsmem", "gmem")
        numeric = any(self.slice.levels.get(v) == NUMBER for v in (op.operands[given], *op.results))

        def run() -> None:
            address = number(values[pointer])
            where = spaces.space_of(space, address)
            held = values[value]
            if numeric:
                inner()
            mask = machine.mask
            if not machine.reached or (mask is not None and not np.count_nonzero(mask)):
                return
            sure, bare = self.sure(machine.provenance[pointer]), is_bare(held)
            rests = machine.provenance[value] if bare else 0
            if where == "rmem":
                cells, offset = self._place(address)
                if cells is not None:
                    cells.store(op, offset, width, mask, labels_of(held, width) if bare else None, rests)
                if not sure:
                    self._lost.add(cells and cells.op)
                return
            told = sure and self.sure(rests)
            if where == "dsmem":
                self.written[:] = True
            if where not in places or not (where == "smem" or bare or self.stores):
                return
            rows = np.arange(self.launch.threads) if mask is None else np.flatnonzero(mask)
            labels = np.broadcast_to(labels_of(held, width), (self.launch.threads, width))
            if bare and labels[rows].any():
                self._leave(where, told)
            labels = labels if told else labels * 0
            if where == "smem":
                self._shared(address, labels, rows, sure)
            elif where == "gmem":
                self._note(op, address, labels, rows, whole)

        return run

    def _leave(self, where: str, told: bool) -> None:
        """Bytes that nothing has written are stored: say what is not followed."""
        if not told:
            self.left[UNSURE] = None
        if where == "dsmem":
            self.left[IN_CLUSTER] = None
        elif where == "smem" and self.suspects.shared_elsewhere:
            self.left[IN_SHARED] = None

    def _shared(self, address: Number, labels: Array, rows: Array, sure: bool) -> None:
        if not sure:
            self.written[:] = True
            return
        block = np.broadcast_to(self._block(), labels.shape)[rows]
        at = self._bytes(address, labels.shape[1])[rows]
        bare = labels[rows] != 0
        self.bare[block[bare], at[bare]] = labels[rows][bare]
        self.written[block[~bare], at[~bare]] = True

    def _note(self, op: Operation, address: Number, labels: Array, rows: Array, whole: bool) -> None:
        """What a store puts into global memory; if it is `whole`, in the place of what was there."""
        bare = labels[rows] != 0
        at = for_all(address, self.launch.threads)[rows, None]
        at = at + np.arange(labels.shape[1])
        for one in list(self.stores.values()) if whole else ():
            kept = ~np.isin(one.at, at[~bare])
            one.threads, one.at = one.threads[kept], one.at[kept]
            if not kept.any():
                del self.stores[one.op]
        if not bare.any() or op in self.stores:
            return
        threads = np.broadcast_to(rows[:, None], bare.shape)
        self.stores[op] = self._came(op, int(labels[rows][bare][0]), threads[bare], at[bare])

    def _came(self, op: Operation, first: int, threads: Array, at: Array) -> Stored:
        """A store of labels, of which this is the first."""
        load = self.loads[(first & ~FLAGS) - FIRST]
        cells, elsewhere = self._found.get(load, (None, False))
        writers = () if cells is None else tuple(cells.writers)
        return Stored(op, load, writers, elsewhere, threads, at)
