"""Instructions that touch memory: what each reads and writes, recorded under its tag.

Loads from registers in memory give back what was stored; what is loaded from elsewhere is not known. Where an
address depends on it all the same, a number is put in its place and the provenance says which kind it is:
"uniform" (all threads of a warp load from one address, as of a tile scheduler or a sequence length; element i
is taken for 1024 i) or "data" (each thread loads its own, as of gather indices or page tables; element i is
taken for i).
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from layoutcheck.dsl.lowered import spaces
from layoutcheck.dsl.lowered.aligned import Alignments
from layoutcheck.dsl.lowered.inline_ptx import PtxAccess
from layoutcheck.dsl.lowered.instructions import (
    BULK,
    TENSOR_LOAD,
    TENSOR_STORES,
    is_mbarrier,
    is_memory,
    written_in_ptx,
)
from layoutcheck.dsl.lowered.machine import Step
from layoutcheck.dsl.lowered.needed import NUMBER
from layoutcheck.dsl.lowered.operations import Operations
from layoutcheck.dsl.lowered.record import BULK_COPY, Data, Number, Recorded
from layoutcheck.dsl.lowered.removed import Left
from layoutcheck.dsl.lowered.types import GENERIC, GLOBAL, Type, parse_type
from layoutcheck.dsl.lowered.values import Value, number, unsigned, wrap
from layoutcheck.sources.mlir import Operation, integer, integers
from layoutcheck.sources.mlir import Value as SsaValue

_CACHE = re.compile(r"load_cache_modifier (\w+)")
_WORD = re.compile(r"<(?:\w+\s+)?(\w+)>")
_PACKED = (1, 2, 4)  # bits of elements of which a byte holds several


class Memory:
    """Makes the steps of a kernel's memory instructions.

    `levels` says which loaded values are needed as numbers, `left` as `Flow` has it.
    """

    def __init__(
        self, operations: Operations, levels: dict[SsaValue, int], tag: Callable[[Operation], str], left: Left
    ) -> None:
        self.machine, self.slots = operations.machine, operations.slots
        self.operations, self.levels, self.tag, self.left = operations, levels, tag, left
        self.alignments = Alignments(self.machine, self.slots.__getitem__)

    def step(self, op: Operation) -> Step | None:
        """The step of a memory instruction; None for other operations."""
        own = {
            "llvm.load": self._load, "llvm.store": self._store, "nvvm.ldmatrix": self._ldmatrix,
            "nvvm.stmatrix": self._stmatrix, "nvvm.cp.async.shared.global": self._cp_async,
        }.get(op.name)  # fmt: skip
        if own is not None:
            return own(op)
        if op.name == TENSOR_LOAD:
            return self._tensor(op, load=True)
        if op.name in TENSOR_STORES:
            return self._tensor(op, load=False)
        if op.name in BULK:
            return self._bulk(op)
        written = written_in_ptx(op)
        if self.tag(op) and isinstance(written, tuple) and written:
            return self._in_ptx(op, written)
        if self.tag(op) and (is_memory(op) or is_mbarrier(op)):
            return self._other(op)
        return None

    def _pointer(self, value: SsaValue) -> tuple[int, int]:
        """A pointer's slot and the space that its type says."""
        return self.slots[value], parse_type(value.type).space

    def _place(self, pointer: tuple[int, int]) -> tuple[Number, str, int]:
        """Where a pointer points now, in which space, and what that rests on."""
        slot, space = pointer
        address = number(self.machine.values[slot])
        return address, spaces.space_of(space, address), self.machine.provenance[slot]

    def _access(
        self, tag: str, op: str, size: int, pointer: tuple[int, int], align: int = 0,
        facts: dict[str, str] | None = None, second: tuple[int, int] | None = None,
    ) -> Recorded:  # fmt: skip
        """An access where a pointer points now; `second` is a copy's source."""
        address, space, provenance = self._place(pointer)
        access = Recorded(tag, op, size, address, space, align, provenance=provenance, facts=facts or {})
        if second is not None:
            access.second, access.second_space, access.second_provenance = self._place(second)
        return access

    def _record(self, access: Recorded) -> None:
        if access.tag:
            self.machine.record(access)

    def _load(self, op: Operation) -> Step:
        machine = self.machine
        pointer, out = self._pointer(op.operands[0]), self.slots[op.results[0]]
        kind = parse_type(op.results[0].type)
        size = kind.size_bytes
        align = integer(op.attributes.get("alignment", "")) or kind.align_bytes
        nibbles = _nibbles(kind)
        tag, numeric = self.tag(op), self.levels.get(op.results[0], 0) == NUMBER
        left, align_of = self.left(op), self.alignments.of(op.operands[0], align)

        def run() -> None:
            first, end = (0, size) if left is None else left()
            sure = align_of() if end - first == size else align  # what is cut stays in pieces
            access = self._access(tag, "ld", end - first, pointer, sure, nibbles)
            address, name, provenance = access.address, access.space, access.provenance
            access.address = address + first
            self._record(access)
            if name == "rmem" and numeric:
                value, bits, known = self._from_registers(address, kind)
                if not known:
                    bits |= machine.reasons.bit(
                        "blocked", "registers at an index or with contents not followed"
                    )
                machine.values[out], machine.provenance[out] = value, bits | provenance
                return
            found = self._held(address, name, kind) if machine.launch.memories and numeric else None
            if found is not None:
                machine.values[out], machine.provenance[out] = found, provenance
                return
            guess, bit = self._guess(address, name, size)
            machine.values[out], machine.provenance[out] = Data(access, -first, size, guess), provenance | bit

        return run

    def _from_registers(self, address: Number, kind: Type) -> tuple[Value, int, bool]:
        """What registers in memory hold, an aggregate part by part."""
        load = self.machine.registers.load
        if kind.kind in ("array", "struct"):
            count = kind.count or len(kind.parts)
            found = [self._from_registers(address + kind.offset(i), kind.part(i)) for i in range(count)]
        elif kind.kind == "vector" and (width := kind.element_bits) in _PACKED:
            held = [(at, *load(address + at // 8, 1)) for at in range(0, kind.bits, width)]
            found = [(wrap(number(value) >> at % 8, width), more, known) for at, value, more, known in held]
        elif kind.kind != "vector" or kind.bits % (8 * kind.count):
            return load(address, kind.size_bytes)
        else:
            each = kind.bits // 8 // kind.count
            found = [load(address + i * each, each) for i in range(kind.count)]
        bits = 0
        for _, provenance, _ in found:
            bits |= provenance
        return tuple(value for value, _, _ in found), bits, all(known for _, _, known in found)

    def _held(self, address: Number, space: str, kind: Type) -> Value | None:
        """Integers that the program's call has there, a vector's as a tuple; None if some are not known."""
        if space != "gmem" or not self.machine.reached:
            return None
        base, offset = spaces.in_object(space, address)
        memory = self.machine.launch.memories.get(base)
        part = kind.parts[0] if kind.kind == "vector" else kind
        if memory is None or part.kind != "scalar":
            return None
        each = part.size_bytes
        found = [memory.at(offset + i * each, each, self.machine.mask) for i in range(kind.count or 1)]
        if any(one is None for one in found):
            return None
        return tuple(found) if len(found) > 1 else found[0]

    def _guess(self, address: Number, space: str, size: int) -> tuple[Number, int]:
        """What a loaded number counts as, and the bit that says so."""
        name = {"gmem": "global memory", "smem": "shared memory", "dsmem": "shared memory of the cluster"}
        where = name.get(space, "memory")
        same = isinstance(address, int) or bool((address == address[0]).all())
        uniform = same or self.machine.same_by_warp(address)
        if uniform:
            who = "all threads load" if same else "all threads of a warp load"
            bit = self.machine.reasons.bit("uniform", f"a value that {who} from {where}")
        else:
            bit = self.machine.reasons.bit("data", f"values that each thread loads from {where}")
        if space != "gmem":
            return 0, bit
        _, offset = spaces.in_object(space, address)
        index = offset // max(1, size)
        if not uniform:
            return index, bit
        if same and not isinstance(index, int):
            index = int(index[0])
        if size == 8:  # mostly a pointer: an object of its own
            return spaces.object_at(64 + index % 64), bit
        return 1024 * (index % 1024), bit

    def _store(self, op: Operation) -> Step:
        machine = self.machine
        value, pointer = self.slots[op.operands[0]], self._pointer(op.operands[1])
        kind = parse_type(op.operands[0].type)
        size = kind.size_bytes
        align = integer(op.attributes.get("alignment", "")) or kind.align_bytes
        tag, nibbles = self.tag(op), _nibbles(kind)
        align_of = self.alignments.of(op.operands[1], align)

        def run() -> None:
            if tag:
                access = self._access(tag, "st", size, pointer, align_of(), nibbles)
                access.data = _data(machine.values[value], size)
                access.value, access.value_provenance = machine.values[value], machine.provenance[value]
                self._record(access)
            address, name, provenance = self._place(pointer)
            if name == "rmem":
                bits = machine.provenance[value] | provenance | machine.guard
                machine.registers.store(address, _stored(machine.values[value], kind), bits, machine.mask)

        return run

    def _ldmatrix(self, op: Operation) -> Step:
        machine = self.machine
        pointer, out = self._pointer(op.operands[0]), self.slots[op.results[0]]
        count = integer(op.attributes.get("num", "1")) or 1
        facts, tag = _words(op), self.tag(op)

        def run() -> None:
            access = self._access(tag, f"ldmatrix.x{count}", 16, pointer, 16, facts)
            self._record(access)
            parts = tuple(Data(access, 4 * i, 4) for i in range(count))
            bit = machine.reasons.bit("data", "values that each thread loads from shared memory")
            machine.values[out] = parts if count > 1 else parts[0]
            machine.provenance[out] = access.provenance | bit

        return run

    def _stmatrix(self, op: Operation) -> Step:
        machine = self.machine
        pointer, sources = self._pointer(op.operands[0]), [self.slots[v] for v in op.operands[1:]]
        facts, tag = _words(op), self.tag(op)

        def run() -> None:
            access = self._access(tag, f"stmatrix.x{len(sources)}", 16, pointer, 16, facts)
            pieces: list[tuple[int, int, Data | None]] = []
            for i, slot in enumerate(sources):
                pieces += [(4 * i + at, n, data) for at, n, data in _data(machine.values[slot], 4)]
                access.value_provenance |= machine.provenance[slot]
            access.data = tuple(pieces)
            access.value = tuple(machine.values[slot] for slot in sources)
            self._record(access)

        return run

    def _cp_async(self, op: Operation) -> Step:
        machine = self.machine
        target, source = map(self._pointer, op.operands[:2])
        size = integer(op.attributes.get("size", "")) or 0
        given = self.slots[op.operands[2]] if len(op.operands) > 2 else None
        match = _CACHE.search(op.attributes.get("modifier", ""))
        name = f"cp.async.{match[1] if match else 'ca'}"
        tag = self.tag(op)

        def run() -> None:
            access = self._access(tag, name, size, target, size, second=source)
            if given is not None:
                access.coordinates = (number(machine.values[given]),)
                access.counted = machine.provenance[given]
            self._record(access)

        return run

    def _tensor(self, op: Operation, load: bool) -> Step:
        """A TMA copy: a place in shared memory and coordinates, of one thread."""
        machine, tag = self.machine, self.tag(op)
        sizes = integers(op.attributes.get("operandSegmentSizes", "")) or (1, 1, len(op.operands) - 2)
        shared, descriptor = (0, 1) if load else (1, 0)
        at = [self.slots[v] for v in op.operands[2 : 2 + sizes[2]]]
        place, map_ = self._pointer(op.operands[shared]), self.slots[op.operands[descriptor]]
        kind, facts = "tma.load" if load else "tma.store", _words(op)

        def run() -> None:
            access = self._access(tag, kind, 0, place, 16, facts)
            access.second, access.second_space = number(machine.values[map_]), "descriptor"
            access.second_provenance = machine.rests_of([map_, *at])
            access.coordinates = tuple(number(machine.values[slot]) for slot in at)
            self._record(access)

        return run

    def _bulk(self, op: Operation) -> Step:
        machine, tag = self.machine, self.tag(op)
        target, source = map(self._pointer, op.operands[:2])
        size = self.slots[op.operands[BULK[op.name]]] if len(op.operands) > BULK[op.name] else None

        def run() -> None:
            count = number(machine.values[size]) if size is not None else 0
            whole = count if isinstance(count, int) else int(np.max(count))
            access = self._access(tag, BULK_COPY, whole, target, 16, second=source)
            if size is not None:
                access.coordinates = (count,)
                access.counted = machine.provenance[size]
            self._record(access)

        return run

    def _in_ptx(self, op: Operation, written: tuple[PtxAccess, ...]) -> Step:
        """Loads and stores of inline PTX, each under its own predicate."""
        machine, tag, rest_of = self.machine, self.tag(op), self.operations.step(op)
        slots = [
            (
                one,
                (self.slots[op.operands[one.operand]], GENERIC if one.space == "generic" else GLOBAL),
                self.slots[op.operands[max(0, one.guard)]],
            )
            for one in written
        ]

        def run() -> None:
            outer, guard = machine.mask, machine.guard
            for one, pointer, tested in slots:
                access = self._access(tag, one.kind, one.size, pointer)
                access.address = access.address + one.offset
                if one.guard >= 0:
                    taken = np.broadcast_to(number(machine.values[tested]) != 0, (machine.launch.threads,))
                    taken = ~taken if one.negated else taken
                    machine.mask = taken if outer is None else outer & taken
                    machine.guard = guard | machine.provenance[tested]
                machine.record(access)
                machine.mask, machine.guard = outer, guard
            rest_of()

        return run

    def _other(self, op: Operation) -> Step:
        """An instruction known by its pointers only: tcgen05.*, atomics, prefetches, mbarriers."""
        machine, tag = self.machine, self.tag(op)
        pointers = [v for v in op.operands if parse_type(v.type).kind == "pointer"]
        first, name = self._pointer(pointers[0]), op.name.removeprefix("nvvm.").removeprefix("llvm.")
        rest = [self.slots[v] for v in pointers[1:2]]
        facts = {key: value for key, value in op.attributes.items() if len(value) < 200}
        types = [v.type for v in (*op.results, *op.operands)]
        size = max(
            (k.size_bytes for t in types if (k := parse_type(t)).kind in ("vector", "scalar")), default=0
        )
        other = self.operations
        # A wait at an mbarrier succeeds.
        rest_of = other.step(op) if is_mbarrier(op) else other.assume(op, "data", f"what {op.name} returns")

        def run() -> None:
            access = self._access(tag, name, size, first, facts=facts)
            if rest:
                access.second = number(machine.values[rest[0]])
                access.second_provenance = machine.provenance[rest[0]]
            machine.record(access)
            rest_of()

        return run


def _nibbles(kind: Type) -> dict[str, str]:
    """A mark for vectors of elements below a byte, which the back end takes apart."""
    below = kind.kind == "vector" and 0 < kind.parts[0].bits < 8
    return {"sub_byte": "yes"} if below else {}


def _words(op: Operation) -> dict[str, str]:
    """Attributes that are one word: the mode of a TMA copy, the order of a matrix."""
    found = {}
    for key, value in op.attributes.items():
        match = _WORD.search(value)
        if match:
            found[key] = match[1]
    return found


def _data(value: Value, size: int) -> tuple[tuple[int, int, Data | None], ...]:
    """What the bytes to be stored were loaded by: (offset, size, data)."""
    if isinstance(value, Data):
        return ((0, size, value),) if value.size >= size else ((0, value.size, value),)
    if isinstance(value, tuple) and value and size % len(value) == 0:
        each = size // len(value)
        found: list[tuple[int, int, Data | None]] = []
        for i, part in enumerate(value):
            found += [(i * each + at, n, data) for at, n, data in _data(part, each)]
        return tuple(found)
    return ((0, size, None),)


def _stored(value: Value, kind: Type) -> list[tuple[int, Value]]:
    """The elements to be stored, each with its size; of those below a byte the bytes."""
    bits = kind.element_bits
    if kind.kind == "vector" and bits in _PACKED and not isinstance(value, Data):
        parts = value if isinstance(value, tuple) else (value,) * kind.count
        packed = [unsigned(number(part), bits) << bits * i % 8 for i, part in enumerate(parts)]
        return [(1, wrap(sum(packed[k : k + 8 // bits]), 8)) for k in range(0, len(parts), 8 // bits)]
    if isinstance(value, tuple) and value and kind.size_bytes % len(value) == 0:
        each = kind.size_bytes // len(value)
        return [(each, part) for part in value]
    whole = bits < 8 or isinstance(value, Data) or (value.__class__ is int and value == 0)
    if kind.kind == "vector" and not whole:
        return [(kind.size_bytes // kind.count, value)] * kind.count  # the same in every element
    return [(kind.size_bytes, value)]
