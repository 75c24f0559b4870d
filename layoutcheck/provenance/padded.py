"""`Padded`: sums over lanes in which what stands beyond a tensor's end counts.

    run = Padded(kernel, launch, rely)
    run.go(launched, types)
    run.stores                   # of such sums, and of what is made of them

It evaluates what `Bare` does, with the labels of `fills`. A lane that a predicate lets load nothing holds a
fill: the 0 of `cp.async`, or what the registers were filled with. Warps that have roles are not followed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from layoutcheck.dsl.lowered import spaces
from layoutcheck.dsl.lowered.evaluate import Launched, enter
from layoutcheck.dsl.lowered.flow import Flow, Maker
from layoutcheck.dsl.lowered.instructions import is_memory
from layoutcheck.dsl.lowered.machine import Launch, Step
from layoutcheck.dsl.lowered.needed import DATA, NUMBER
from layoutcheck.dsl.lowered.record import Number
from layoutcheck.dsl.lowered.types import GLOBAL, SHARED, Type, parse_type
from layoutcheck.dsl.lowered.values import Reasons, number
from layoutcheck.provenance.bare import Bare, Stored
from layoutcheck.provenance.carry import carry
from layoutcheck.provenance.fills import (
    ANOTHER,
    BAD,
    CONST,
    FILL,
    KNOWN,
    LOADED,
    MIXED,
    computed,
    constant,
    filled,
    label,
    word_of,
)
from layoutcheck.provenance.fills import NUMBER as FROM
from layoutcheck.provenance.gaps import COPY
from layoutcheck.provenance.labels import NOTHING, labels_of
from layoutcheck.provenance.matrix import is_product
from layoutcheck.provenance.refs import Array, Refs, elements
from layoutcheck.provenance.sliced import Slice
from layoutcheck.provenance.suspects import Suspects
from layoutcheck.sources.mlir import Operation, integer
from layoutcheck.sources.mlir import Value as SsaValue

FLOAT = re.compile(r"(?:\b|[0-9]x)b?f(?:16|32|64)")
MOVES = re.compile(
    r"vector\.(?!reduction|multi_reduction)\w+|llvm\.(?:extract|insert)value|.*\.(?:bitcast|freeze)"
)
_ARGUMENT = 0.75  # the sample of an argument of the kernel


class _Every(set[SsaValue]):
    """All values of a kernel."""

    def __contains__(self, _value: object) -> bool:
        return True


class _Stores(Suspects):
    """The stores of a kernel, and its copies to shared memory, as readers of everything."""

    def _gather(self, kernel: Operation) -> None:
        self.values = _Every()
        for op in kernel.walk():
            store = op.name == "llvm.store" and parse_type(op.operands[1].type).space in (GLOBAL, SHARED)
            if store or op.name == COPY:
                self.readers[op] = None
            if op.name != COPY:
                self._others(op)


_stores = lru_cache(maxsize=1)(_Stores)  # several evaluations of a kernel ask for them


class _Arithmetic(Slice):
    """What makes the numbers that are stored: floating point is followed, and decides nothing."""

    def _mark(self, value: SsaValue, level: int) -> None:
        super()._mark(value, DATA if FLOAT.search(value.type) else NUMBER)

    def _trace(self, value: SsaValue) -> None:
        super()._trace(value)
        op = value.definition
        if op is not None and (not op.operands or op.name == "llvm.load"):
            self._keep(op)
            for pointer in op.operands:
                self._mark(pointer, NUMBER)


def may_pad(kernel: Operation) -> bool:
    """Whether a kernel may sum over lanes what a predicate keeps from being loaded."""
    every = adding(kernel)
    if any("mbarrier" in op.name or "barrier.arrive" in op.name for op in every):
        return False
    guarded = (one for op in every if op.name == "scf.if" for one in op.walk() if one.name == "llvm.load")
    return any(op.name == COPY and len(op.operands) > 2 for op in every) or any(
        parse_type(op.operands[0].type).space == GLOBAL for op in guarded
    )


def adding(kernel: Operation) -> list[Operation]:
    """The operations of a kernel of one basic block that shuffles floats and has no products, else none."""
    every = [] if len(kernel.regions[0].blocks) > 1 else list(kernel.walk())
    shuffles = any(op.name == "nvvm.shfl.sync" and FLOAT.search(op.results[0].type) for op in every)
    return every if shuffles and not any(map(is_product, every)) else []


class Floats(Bare):
    """One evaluation of a kernel's blocks in which floating point is followed; `rely` as in `Bare`."""

    argument = 0  # the label of a number that the kernel is given
    _loaded: Any  # (width, number of the load) -> the labels of what it takes from global memory
    _function: Any  # (operation) -> what it makes of labels

    def __init__(self, kernel: Operation, launch: Launch, rely: Callable[[Reasons, int], bool]) -> None:
        self._numbers: list[Operation] = []
        super().__init__(kernel, _stores(kernel), launch, rely, kind=_Arithmetic)

    def _number(self, op: Operation) -> int:
        self._numbers.append(op)
        return len(self._numbers)

    def go(self, launched: Launched, types: list[str]) -> None:
        """Run it."""
        block = self.kernel.regions[0].blocks[0]
        enter(self.kernel, self.machine, self.flow, launched, types)
        for value in block.arguments:
            if FLOAT.fullmatch(value.type):
                slot, width = self.slots[value], parse_type(value.type).size_bytes
                self.machine.values[slot] = Refs(np.full((1, width), self.argument, np.int64))
                self.machine.provenance[slot] = 0
        with np.errstate(all="ignore"):
            self.flow.run(self.flow.steps(block, fast=False))

    def _step(self, op: Operation) -> Step:
        if op.name == "llvm.alloca" or not op.results:
            return super()._step(op)
        if any(self.slice.levels.get(v) == NUMBER for v in op.results):
            return self._decided(op)
        if op.name == "llvm.load":
            return self._load(op)
        return super()._step(op) if op.name == "nvvm.shfl.sync" else self._made(op)

    def _decided(self, op: Operation) -> Step:
        """What is made of floating point, and decides something, is not known."""
        inner, values, provenance = self.inner(op), self.machine.values, self.machine.provenance
        sources, outs = self.flow.slots_of(op.operands), self.flow.slots_of(op.results)

        def run() -> None:
            inner()
            if any(isinstance(values[slot], Refs) for slot in sources):
                for slot in outs:
                    provenance[slot] |= self.machine.unknown

        return run

    def _load(self, op: Operation) -> Step:
        values, machine = self.machine.values, self.machine
        pointer, out = self.slots[op.operands[0]], self.slots[op.results[0]]
        width, space = parse_type(op.results[0].type).size_bytes, parse_type(op.operands[0].type).space
        own = self._number(op)

        def run() -> None:
            address = number(values[pointer])
            where, at = spaces.space_of(space, address), np.zeros((1, width), np.int64)
            if where == "rmem":
                cells, offset = self._place(address)
                if cells is not None and not self._lost & {cells.op, None}:
                    at = labels_of(cells.load(offset, width, machine.mask, 0), width)
            elif where == "smem" and not self.suspects.shared_elsewhere:
                at = self.bare[self._block(), self._bytes(address, width)]
            elif where == "gmem":
                at = self._loaded(width, own)
            values[out], machine.provenance[out] = Refs(at), machine.provenance[pointer]

        return run

    def _made(self, op: Operation) -> Step:
        """Arithmetic, and what moves registers."""
        values, provenance = self.machine.values, self.machine.provenance
        sources, outs = self.flow.slots_of(op.operands), self.flow.slots_of(op.results)
        sizes = [max(1, parse_type(v.type).size_bytes) for v in op.operands]
        function = self._function(op)

        def run() -> None:
            bits = self.machine.rests_of(sources)
            given = [labels_of(values[slot], size) for slot, size in zip(sources, sizes, strict=True)]
            for slot, at in zip(outs, function(given), strict=True):
                values[slot], provenance[slot] = Refs(at), bits

        return run


class Padded(Floats):
    """One evaluation of sums and the fills in them."""

    argument = int(label(_ARGUMENT, KNOWN | CONST))

    def __init__(self, kernel: Operation, launch: Launch, rely: Callable[[Reasons, int], bool]) -> None:
        self._made_of: dict[int, Operation] = {}  # of a sum: the load whose fills it has
        super().__init__(kernel, launch, rely)
        thread = np.arange(launch.threads, dtype=np.int64)[:, None]
        self._samples = 0.5 + thread * 37 % 61 / 61

    def _step(self, op: Operation) -> Step:
        if op.name == COPY:
            return self._copy(op)
        if op.name == "llvm.store":
            return self._kept(op, super()._step(op))
        number = any(self.slice.levels.get(v) == NUMBER for v in op.results)
        if not number and (op.name == "nvvm.shfl.sync" or op.name.endswith(".select")):
            return self._picked(op, Bare._step(self, op))
        return super()._step(op)

    def _guarded(self, maker: Maker) -> Maker:
        """A branch or loop: what comes out of it is not known if only a run decides it."""
        outer = super()._guarded(maker)

        def make(flow: Flow, op: Operation, fast: bool) -> Step:
            step, values = outer(flow, op, fast), self.machine.values
            outs = [(self.slots[v], max(1, parse_type(v.type).size_bytes)) for v in op.results]
            shares = any(is_memory(one) and one.name != "llvm.load" for one in op.walk())

            def run() -> None:
                step()
                unsure = op in self._unsure
                for slot, size in outs:
                    if isinstance(values[slot], Refs):
                        values[slot] = Refs(filled(labels_of(values[slot], size)) * (not unsure))
                if self.written.any() or (unsure and shares):
                    self.bare[:], self.written[:] = 0, False

            return run

        return make

    def _copy(self, op: Operation) -> Step:
        """`cp.async`: what it is told not to read is 0."""
        values, machine = self.machine.values, self.machine
        slots, width = self.flow.slots_of(op.operands), integer(op.attributes.get("size", "")) or 16
        own = self._number(op)

        def run() -> None:
            if not machine.reached:
                return
            rows = np.arange(self.launch.threads) if machine.mask is None else np.flatnonzero(machine.mask)
            size = number(values[slots[2]]) if slots[2:] else width
            read = np.arange(width) < np.broadcast_to(np.asarray(size), (self.launch.threads,))[:, None]
            bits = machine.rests_of(slots)
            labels = np.where(read, self._loaded(width, own), label(0.0, KNOWN | FILL | own << FROM))
            self._shared(number(values[slots[0]]), labels, rows, self.sure(bits))

        return run

    def _loaded(self, width: int, own: int) -> Array:
        return np.broadcast_to(
            label(self._samples, KNOWN | LOADED | own << FROM), (self.launch.threads, width)
        )

    def _kept(self, op: Operation, inner: Step) -> Step:
        """A store: what some threads have loaded into registers, others may have filled before."""
        machine, pointer = self.machine, self.slots[op.operands[1]]
        width, space = parse_type(op.operands[0].type).size_bytes, parse_type(op.operands[1].type).space

        def run() -> None:
            inner()
            address = number(machine.values[pointer])
            if spaces.space_of(space, address) == "rmem" and machine.mask is not None:
                cells, offset = self._place(address)
                if cells is not None and isinstance(offset, int):
                    at = cells.at[:, offset : offset + width]
                    at[:] = np.where(at == NOTHING, NOTHING, filled(np.where(at == NOTHING, 0, at)))

        return run

    def _shared(self, address: Number, labels: Array, rows: Array, sure: bool) -> None:
        block, moved = np.broadcast_to(self._block(), labels.shape)[rows], labels & (LOADED | FILL) == 0
        told = np.where((labels != 0) & moved, labels | ANOTHER, labels) * sure
        self.bare[block, self._bytes(address, labels.shape[1])[rows]] = told[rows]

    def _note(self, op: Operation, address: Number, labels: Array, rows: Array, whole: bool) -> None:
        super()._note(op, address, np.where(labels & BAD != 0, labels, 0), rows, whole)

    def _came(self, op: Operation, first: int, threads: Array, at: Array) -> Stored:
        total = self._numbers[(first >> FROM) - 1]
        fills = self._made_of.get(first >> FROM)
        return Stored(op, total, () if fills is None else (fills,), False, threads, at)

    def _picked(self, op: Operation, inner: Step) -> Step:
        """A shuffle, or a choice."""
        machine, width = self.machine, parse_type(op.results[0].type).size_bytes
        out, condition = self.slots[op.results[0]], self.slots[op.operands[0]]

        def run() -> None:
            inner()
            at = labels_of(machine.values[out], width)
            if op.name == "nvvm.shfl.sync":
                at = np.where(at != 0, at | ANOTHER, 0)
            else:
                at = filled(at) * self.sure(machine.provenance[condition])
            machine.values[out] = Refs(at)

        return run

    def _function(self, op: Operation) -> Callable[[list[Array]], list[Array]]:
        kinds, made = ([parse_type(v.type) for v in every] for every in (op.operands, op.results))
        word = word_of(op)
        if not op.operands:
            return lambda _given: [constant(op, kind) for kind in made]
        if op.name in ("arith.sitofp", "arith.uitofp"):
            return lambda _given: [self._converted(self.slots[op.operands[0]], made[0].size_bytes)]
        if MOVES.fullmatch(op.name):
            return carry(op)
        if len(made) != 1 or not word:
            return lambda _given: [np.zeros((1, max(1, kind.size_bytes)), np.int64) for kind in made]
        own = self._number(op)
        if op.name == "vector.reduction":
            return lambda given: [self._reduced(word, own, elements(given[0], kinds[0]), given[1:], made[0])]

        def each(given: list[Array]) -> list[Array]:
            parts = [elements(at, kind) for at, kind in zip(given, kinds, strict=True)]
            return [self._computed(word, parts, own, made[0])]

        return each

    def _converted(self, slot: int, width: int) -> Array:
        """The labels of an integer: that of an address, or of a count."""
        known = self.sure(self.machine.provenance[slot])
        value = np.asarray(number(self.machine.values[slot])).reshape(-1, 1)
        return np.repeat(label(value, KNOWN | CONST) * known, width, 1)

    def _computed(self, word: str, parts: list[Array], own: int, made: Type) -> Array:
        found = computed(word, parts, own)
        for part in parts:
            begun = (found >> FROM == own) & (found & BAD != 0) & (part & (FILL | MIXED) != 0)
            if begun.any() and own not in self._made_of:
                origin = int(np.broadcast_to(part, found.shape)[begun][0]) >> FROM
                self._made_of |= {own: self._numbers[origin - 1]} if origin else {}
        count = made.count if made.kind == "vector" else 1
        return np.repeat(found, made.size_bytes // count, 1)

    def _reduced(self, word: str, own: int, each: Array, first: list[Array], made: Type) -> Array:
        total = first[0][:, :1] if first else each[:, :1]
        for i in range(0 if first else 1, each.shape[1]):
            total = computed(word, [total, each[:, i : i + 1]], own)
        return np.repeat(total, made.size_bytes, 1)
