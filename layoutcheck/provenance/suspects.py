"""Loads of registers that may find bytes which nothing has written, and who would notice.

    found = Suspects(kernel)
    found.readers                # stores and products that such bytes may reach

Most kernels fill a fragment, at offsets that are numbers, before they read it: they have no readers, and are
not evaluated again (`bare`). Nothing is claimed here.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Sequence
from copy import copy

from layoutcheck.dsl.lowered.instructions import in_shared_by_ptx, is_memory, makes_of_old
from layoutcheck.dsl.lowered.needed import handed_on
from layoutcheck.dsl.lowered.removed import constant_of
from layoutcheck.dsl.lowered.types import GLOBAL, SHARED, TENSOR, parse_type
from layoutcheck.provenance.labels import hands_on
from layoutcheck.provenance.matrix import accumulator_count, is_product, is_wgmma, scale_of
from layoutcheck.sources.mlir import Block, Operation, Value, integers

_POINTER = "!llvm.ptr"
_READS = ("llvm.load", "llvm.store", "llvm.alloca", "nvvm.ldmatrix")
_OPERAND = -(1 << 31)  # in rawConstantIndices: the index is an operand
_STORES = {
    "llvm.store": (1, 0), "nvvm.store.ext": (1, 0), "nvvm.red": (0, 1), "nvvm.atomicrmw": (0, 1),
    "llvm.atomicrmw": (0, 1),
}  # fmt: skip
_LOOPS = ("scf.for", "scf.while")
_MOST_STEPS = 4096  # operations of a loop that is gone through turn by turn
_ARITHMETIC: dict[str, Callable[..., int]] = {
    "arith.addi": operator.add, "arith.muli": operator.mul, "arith.subi": operator.sub,
    "arith.index_cast": operator.pos, "arith.extsi": operator.pos, "arith.trunci": operator.pos,
}  # fmt: skip
Bytes = int  # a bit for each byte of an array


def stored_by(op: Operation) -> tuple[int, int] | None:
    """Which operand of a store, or of an atomic operation, is the address, and which is stored."""
    return _STORES.get(op.name)


class Suspects:
    """Whom bytes that nothing has written may reach: `loads` may find some, `values` may hold some.

    `readers` are the stores and products that may take some, and all else that does not hand them on.
    """

    def __init__(self, kernel: Operation, loads: Collection[Operation] = ()) -> None:
        """`loads` of shared memory that find such bytes; none: those of registers are looked for."""
        self.loads, self.timed = set(loads), bool(loads)  # timed: what such a load finds depends on barriers
        self.values: set[Value] = set()
        self.readers: dict[Operation, None] = {}
        self.in_shared = False  # whether they may reach shared memory
        self.escaped: set[Operation] = set()  # arrays that more than loads and stores reach
        self.shared_elsewhere = False  # whether more than stores writes shared memory
        self._places: dict[Value, tuple[Operation, int | None] | None] = {}
        self._turns: dict[Value, int] = {}  # the numbers of the loops that are gone through turn by turn
        self._gather(kernel)

    def _gather(self, kernel: Operation) -> None:
        if not self.loads:
            self._written(kernel.regions[0].blocks[0], {})
        if self.loads:
            self._reached(kernel)

    def place(self, pointer: Value) -> tuple[Operation, int | None] | None:
        """The array that a pointer points into, and the offset in bytes, None where it is not a number."""
        before = self._places.get(pointer)
        if pointer in self._places and not (self._turns and before is not None and before[1] is None):
            return before
        found = self._found(pointer)
        if not self._turns:
            self._places[pointer] = found
        return found

    def _found(self, pointer: Value) -> tuple[Operation, int | None] | None:
        op = pointer.definition
        if op is None or op.name not in ("llvm.alloca", "llvm.getelementptr") or _space(pointer) == SHARED:
            return None
        if op.name == "llvm.alloca":
            return op, 0
        base = self.place(op.operands[0])
        indices = integers(op.attributes.get("rawConstantIndices", "")) or ()
        if base is None or base[1] is None or len(indices) != 1:
            return None if base is None else (base[0], None)
        index = indices[0] if indices[0] != _OPERAND else self._number(op.operands[1])
        each = parse_type(op.attributes["elem_type"]).size_bytes
        return base[0], None if index is None else base[1] + index * each

    def _number(self, value: Value) -> int | None:
        """A number that is written, or follows from turns of loops."""
        if value in self._turns:
            return self._turns[value]
        made = value.definition
        if made is None or not self._turns or made.name not in _ARITHMETIC:
            return constant_of(value)
        parts = [self._number(operand) for operand in made.operands]
        return None if None in parts else int(_ARITHMETIC[made.name](*parts))

    def _written(self, block: Block, written: dict[Operation, Bytes]) -> None:
        """Go through a block with the bytes that are surely written before it; add those of its own."""
        for op in block.operations:
            if op.name in ("llvm.store", "llvm.load"):
                store = op.name == "llvm.store"
                place = self.place(op.operands[store])
                if place is None:
                    continue
                array, offset = place
                size = parse_type((op.operands if store else op.results)[0].type).size_bytes
                if offset is not None and store:
                    written[array] = written.get(array, 0) | ((1 << size) - 1) << offset
                elif not store:
                    read = ((1 << size) - 1) << offset if offset is not None else (1 << _size(array)) - 1
                    if read & ~written.get(array, 0):
                        self.loads.add(op)
            elif op.regions:
                self._branched(op, written)

    def _branched(self, op: Operation, written: dict[Operation, Bytes]) -> None:
        """Go through the regions of a branch or loop; only what all branches write is surely written."""
        turns = self._counted(op)
        if turns:
            block = op.regions[0].blocks[0]
            for turn in turns:
                self._turns[block.arguments[0]] = turn
                self._written(block, written)
            del self._turns[block.arguments[0]]
            return
        ends = []
        for region in op.regions:
            end = dict(written)
            for block in region.blocks:
                self._written(block, end)
            ends.append(end)
        for array in set.intersection(*map(set, ends)) if op.name not in _LOOPS else ():
            both = ends[0][array]
            for end in ends[1:]:
                both &= end[array]
            written[array] = both

    def _counted(self, op: Operation) -> range:
        """The turns of a short loop that is counted by numbers; none of another."""
        if op.name != "scf.for":
            return range(0)
        start, stop, step = (self._number(value) for value in op.operands[:3])
        if start is None or stop is None or step is None or step < 1:
            return range(0)
        turns = range(start, stop, step)
        size = len(op.regions[0].blocks[0].operations) if turns else 0
        return turns if len(turns) * size <= _MOST_STEPS else turns[:1]

    def _reached(self, kernel: Operation) -> None:
        """Follow the suspects forwards, through arrays, until nothing is new."""
        every = list(kernel.walk())
        for op in every:
            self._others(op)
        self._spread(every, self.loads)
        kinds = ((op, stored_by(op)) for op in self.readers)
        spaces = {_space(op.operands[at[0]]) for op, at in kinds if at is not None}
        stores = (op for op in every if op.name == "llvm.store" and _space(op.operands[1]) in spaces)
        self.readers.update(dict.fromkeys(stores))  # what else is stored there counts

    def _spread(self, every: Sequence[Operation], loads: Collection[Operation]) -> None:
        arrays, values = set[Operation](), self.values
        values.update(value for op in loads for value in op.results)
        size = -1
        while size != len(arrays) + len(values) + self.in_shared:
            size = len(arrays) + len(values) + self.in_shared
            for op in every:
                self._follow(op, arrays, values)

    def through(self, kernel: Operation, load: Operation) -> tuple[list[Operation], set[Value]]:
        """The operations that what a load finds goes through, with the readers, and the values that hold it.

        So with what other loads find in the same array.
        """
        place = self.place(load.operands[0])
        where = ((op, self.place(op.operands[0])) for op in self.loads)
        loads = [op for op, at in where if at is not None and place is not None and at[0] is place[0]]
        alone, every = copy(self), list(kernel.walk())
        alone.values, alone.readers, alone.in_shared = set(), {}, False
        alone._spread(every, loads)
        handed = (op for op in every if hands_on(op) and not alone.values.isdisjoint(op.operands))
        return [*handed, *alone.readers], alone.values

    def _others(self, op: Operation) -> None:
        """Note what an operation does with arrays and shared memory that is no load and no store."""
        if op.name not in ("llvm.load", "llvm.getelementptr"):
            given = op.operands[:1] if op.name == "llvm.store" else op.operands
            places = (self.place(v) for v in given if v.type == _POINTER)
            self.escaped.update(place[0] for place in places if place is not None)
        if (is_memory(op) and op.name not in _READS and not makes_of_old(op)) or in_shared_by_ptx(op):
            spaces = {_space(v) for v in op.operands if v.type.startswith(_POINTER)}
            self.shared_elsewhere |= not spaces <= {GLOBAL, TENSOR} or op.name == "llvm.inline_asm"

    def _follow(self, op: Operation, arrays: set[Operation], values: set[Value]) -> None:
        if op.name == "llvm.load":
            place = self.place(op.operands[0])
            shared = self.in_shared and _space(op.operands[0]) == SHARED
            if shared or (place is not None and place[0] in arrays):
                values.update(op.results)
        elif op.regions:
            values.update(_carried(op, values))
        elif not values.isdisjoint(op.operands):
            place = self.place(op.operands[1]) if op.name == "llvm.store" else None
            if place is not None:
                arrays.add(place[0])
            elif hands_on(op):
                values.update(op.results)
            elif not op.name.startswith("scf.") and not (is_product(op) and _begins(op)):
                self.readers[op] = None
                self.in_shared |= op.name == "llvm.store" and _space(op.operands[1]) == SHARED


def _begins(product: Operation) -> bool:
    """Whether a wgmma surely begins a sum: its accumulators do not count, and A is in shared memory."""
    scale = scale_of(product)[:1] if is_wgmma(product) else []
    count = accumulator_count(product) if scale else 0
    return bool(scale) and constant_of(scale[0]) == 0 and product.operands[count].type == "i64"


def _carried(op: Operation, values: set[Value]) -> list[Value]:
    """What becomes of values that a loop or branch takes or gives; a loop that counts has a turn."""
    every = [(out, handed_on(out)[op.name == "scf.for" :]) for out in op.results]
    blocks = [block for region in op.regions for block in region.blocks]
    every += [(variable, handed_on(variable)) for block in blocks for variable in block.arguments]
    return [out for out, given in every if not values.isdisjoint(given)]


def _space(pointer: Value) -> int:
    return parse_type(pointer.type).space


def _size(array: Operation) -> int:
    """The bytes of an array."""
    return parse_type(array.attributes["elem_type"]).size_bytes * (constant_of(array.operands[0]) or 1)
