"""What stores write, as far as it can be told apart: a kernel evaluated as if memory held random bytes.

`evaluate.Evaluated.contents` runs a kernel on these operations, for the values that its stores write. Every
byte of memory counts as a random one that follows from its address. Floating-point numbers count as integers
modulo 2^64: sums and products are theirs, so that sums in another order are equal; every other function of a
thread's own operands gives a number that follows from them. So two threads have the same number where they
compute the same from the same bytes, and another one where they do not, but for a chance of 2^-8 a byte.
Matrix products and tensor memory give each lane numbers of its own.

What else an instruction may return is not followed; the provenance of a value then says "blocked".
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Iterator
from typing import Any

import numpy as np

from layoutcheck.dsl.lowered import spaces
from layoutcheck.dsl.lowered.integers import compare
from layoutcheck.dsl.lowered.machine import Step
from layoutcheck.dsl.lowered.matrices import matrix_register
from layoutcheck.dsl.lowered.memory import Memory
from layoutcheck.dsl.lowered.operations import CONSTANTS, Operations
from layoutcheck.dsl.lowered.record import Number
from layoutcheck.dsl.lowered.removed import Left
from layoutcheck.dsl.lowered.types import Type, parse_type
from layoutcheck.dsl.lowered.values import Value, flat, for_all, number, wrap
from layoutcheck.sources.mlir import Operation, integer

_MASK = (1 << 64) - 1
_RING: dict[str, Callable[[Any, Any], Any]] = {
    "addf": lambda a, b: a + b,
    "subf": lambda a, b: a - b,
    "mulf": lambda a, b: a * b,
    "fadd": lambda a, b: a + b,
    "fsub": lambda a, b: a - b,
    "fmul": lambda a, b: a * b,
    "maximumf": np.maximum,
    "maxnumf": np.maximum,
    "minimumf": np.minimum,
    "minnumf": np.minimum,
}
_SAME = frozenset(
    ("arith.extf", "arith.truncf", "arith.sitofp", "arith.uitofp", "llvm.fpext", "llvm.fptrunc")
)
_FUNCTION = re.compile(r"arith\.(?:\w*f|fpto\w+)\Z|math\.|llvm\.f|llvm\.intr\.|nvvm\.(?:f|cvt|rcp|ex2)")
# arith.cmpf's predicates, ordered and unordered, as integers' signed ones.
_FCMP = {1: 0, 2: 4, 3: 5, 4: 2, 5: 3, 6: 1, 8: 0, 9: 4, 10: 5, 11: 2, 12: 3, 13: 1}
# PTX that is a function of a lane's own operands.
_LANEWISE = re.compile(
    r"(?:\.reg|cvt|ex2|lg2|rcp|rsqrt|sqrt|tanh|sin|cos|fma|add|sub|mul|mad|max|min|mov|and|or|xor|not|shl|shr|prmt|lop3|selp|"
    r"setp|set|neg|abs|bfe|bfi|div|copysign)\b"
)
_STATEMENT = re.compile(r"[^;{}]+")
_INFINITE = {"0xFF800000", "0xFC00", "0xFF80", "0xFFF0000000000000"}


def mixed(*given: Any) -> Any:
    """A number that follows from numbers, each an int or one for every thread (splitmix64's finaliser)."""
    found: Any = np.uint64(0x9E3779B97F4A7C15)
    with np.errstate(over="ignore"):
        for one in given:
            found = found ^ np.asarray(one & _MASK if isinstance(one, int) else one).astype(np.uint64)
            found = (found ^ (found >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            found = (found ^ (found >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            found = found ^ (found >> np.uint64(31))
    signed = found.astype(np.int64)
    return signed if signed.ndim else int(signed)


def named(text: str) -> int:
    """A number that stands for a text."""
    return int(mixed(*text.encode()))


def bytes_at(space: str, address: Number, size: int) -> Number:
    """The `size` random bytes (8 at most) at an address, as one number, signed if it has 64 bits."""
    whole, place = spaces.in_object(space, address)
    found: Any = 0
    for k in range(size):
        byte = mixed(named(space), whole, place + k) & 255
        found = found | (byte << (8 * k))
    return wrap(found, 64)


def leaves(kind: Type) -> Iterator[Type]:
    """The scalars of a type, in order."""
    if kind.kind in ("vector", "array"):
        for _ in range(kind.count):
            yield from leaves(kind.parts[0])
    elif kind.kind == "struct":
        for part in kind.parts:
            yield from leaves(part)
    else:
        yield kind


def shaped(kind: Type, parts: Iterator[Value]) -> Value:
    """A value of a type, made of its scalars."""
    if kind.kind in ("vector", "array"):
        found = tuple(shaped(kind.parts[0], parts) for _ in range(kind.count))
        return found[0] if kind.kind == "vector" and kind.count == 1 else found
    if kind.kind == "struct":
        return tuple(shaped(part, parts) for part in kind.parts)
    return next(parts)


class RandomOperations(Operations):
    """Operations on data as well as on addresses."""

    def step(self, op: Operation) -> Step:
        """The step of an operation."""
        name = op.name
        short = name.rpartition(".")[2]
        if name in CONSTANTS and "." in op.attributes.get("value", ""):
            return self.constant(op, _constant(op.attributes["value"]))
        if name.startswith(("arith.", "llvm.")) and short in _RING and len(op.operands) == 2:
            ring = _RING[short]
            return self.binary(op, lambda a, b, _: ring(a, b))
        if name in ("arith.negf", "llvm.fneg"):
            return self.unary(
                op, lambda v: tuple(-n for n in flat(v)) if isinstance(v, tuple) else -number(v)
            )
        if name in _SAME:
            return self.unary(op, lambda v: v)
        if name == "math.fma" or name == "llvm.intr.fma":
            return self.lanewise(op, lambda a, b, c: a * b + c)
        if name in ("arith.cmpf", "llvm.fcmp"):
            how = _FCMP.get(integer(op.attributes.get("predicate", "")) or 0)
            if how is not None:
                return self.binary(op, lambda a, b, _: compare(how, a, b, 64))
        if name == "nvvm.mma.sync" or "wgmma" in op.attributes.get("asm_string", ""):
            return self.matrix(op, 32 if name == "nvvm.mma.sync" else 128)
        if name == "llvm.inline_asm" and "mul.hi" not in op.attributes.get("asm_string", ""):
            text = op.attributes.get("asm_string", "")
            pure = all(
                _LANEWISE.match(s.strip().strip('"')) for s in _STATEMENT.findall(text) if s.strip(' "')
            )
            return (
                self.pure(op, text) if pure else self.assume(op, "blocked", "inline assembly is not followed")
            )
        if name == "nvvm.redux.sync":
            return self.reduced(op)
        if _FUNCTION.match(name) and op.results:
            return self.pure(op, name + op.attributes.get("intrin", "") + op.attributes.get("predicate", ""))
        return super().step(op)

    def lanewise(self, op: Operation, function: Callable[..., Any]) -> Step:
        """A function of numbers, element by element."""

        def each(*given: Value) -> tuple[Value]:
            count = max((len(v) for v in given if isinstance(v, tuple)), default=0)
            columns = [v if isinstance(v, tuple) else (v,) * max(1, count) for v in given]
            rows = [function(*(number(n) for n in row)) for row in zip(*columns, strict=False)]
            return (tuple(rows) if count else rows[0],)

        return self.apply(op, each)

    def pure(self, op: Operation, text: str) -> Step:
        """A function of the lane's operands of which nothing else is known."""
        salt = named(text)
        kinds = [parse_type(v.type) for v in op.results]
        if len(kinds) == 1 and kinds[0].kind == "vector" and "asm" not in op.name:
            return self.lanewise(op, lambda *given: mixed(salt, *given))

        def lanes(given: list[Number]) -> Any:
            return mixed(salt, *given)

        return self._made(op, lanes)

    def matrix(self, op: Operation, together: int) -> Step:
        """A matrix product: each of the `together` lanes has elements of its own, made of what all give."""
        lane = np.arange(self.machine.launch.threads, dtype=np.int64) % together
        salt = named(op.name + op.attributes.get("asm_string", ""))

        def lanes(given: list[Number]) -> Any:
            own = np.broadcast_to(np.asarray(mixed(salt, *given, lane)), lane.shape)
            everything = np.zeros_like(lane)
            for at in range(0, lane.size, together):
                everything[at : at + together] = own[at : at + together].sum()
            return mixed(everything, lane)

        return self._made(op, lanes)

    def reduced(self, op: Operation) -> Step:
        """`redux.sync`: what all lanes of a warp give, in any order."""
        lane, salt = self.machine.lane, named(op.attributes.get("kind", ""))

        def lanes(given: list[Number]) -> Any:
            own = np.broadcast_to(np.asarray(given[0]), lane.shape)
            each = np.asarray(mixed(salt, own))
            found = np.zeros_like(lane)
            for at in range(0, lane.size, 32):
                found[at : at + 32] = each[at : at + 32].sum()
            return found

        return self._made(op, lanes)

    def _made(self, op: Operation, lanes: Callable[[list[Number]], Any]) -> Step:
        kinds = [parse_type(v.type) for v in op.results]

        def each(*given: Value) -> list[Value]:
            base = lanes([n for value in given for n in flat(value)])
            numbers = (mixed(base, at) for at in itertools.count())
            return [shaped(kind, numbers) for kind in kinds]

        return self.apply(op, each)


class RandomMemory(Memory):
    """Memory of random bytes; `plain` are the loads that addresses rest on, which stay as they were."""

    def __init__(
        self, operations: Operations, levels: Any, tag: Any, left: Left, plain: Collection[Any]
    ) -> None:
        super().__init__(operations, levels, tag, left)
        self.plain = plain

    def step(self, op: Operation) -> Step | None:
        """The step of a memory instruction; None for other operations."""
        if op.results and op.results[0] not in self.plain:
            if op.name == "llvm.load":
                return self._random_load(op)
            if op.name == "nvvm.ldmatrix":
                return self._random_matrix(op)
            if op.name.startswith("nvvm.tcgen05.ld"):
                return self._tensor_memory(op)
        return super().step(op)

    def _random_load(self, op: Operation) -> Step:
        machine, plain = self.machine, super().step(op)
        assert plain is not None
        pointer, out = self._pointer(op.operands[0]), self.slots[op.results[0]]
        kind = parse_type(op.results[0].type)

        def run() -> None:
            address, name, provenance = self._place(pointer)
            if name == "rmem":
                plain()
                return
            parts = []
            for i, leaf in enumerate(leaves(kind)):
                size = max(1, leaf.size_bytes)
                at = i * size if leaf.bits >= 8 or leaf.kind == "pointer" else i * leaf.bits // 8
                parts.append(bytes_at(name, address + at, min(8, size)))
            bit = machine.reasons.bit("data", "values that each thread loads from memory")
            machine.values[out], machine.provenance[out] = shaped(kind, iter(parts)), provenance | bit

        return run

    def _random_matrix(self, op: Operation) -> Step:
        machine = self.machine
        pointer, out = self._pointer(op.operands[0]), self.slots[op.results[0]]
        count = integer(op.attributes.get("num", "1")) or 1
        how = named(op.attributes.get("layout", "") + op.attributes.get("shape", ""))
        threads = machine.launch.threads

        def run() -> None:
            address, name, provenance = self._place(pointer)
            rows = for_all(address, threads)
            each = tuple(mixed(how, named(name), matrix_register(rows, i)) & 0xFFFFFFFF for i in range(count))
            bit = machine.reasons.bit("data", "values that each thread loads from shared memory")
            machine.values[out] = each if count > 1 else each[0]
            machine.provenance[out] = provenance | bit

        return run

    def _tensor_memory(self, op: Operation) -> Step:
        machine, salt = self.machine, named(op.name + op.attributes.get("shape", ""))
        pointer, out = self.slots[op.operands[0]], self.slots[op.results[0]]
        kind = parse_type(op.results[0].type)
        lane = np.arange(machine.launch.threads, dtype=np.int64) % 128

        def run() -> None:
            place = mixed(salt, number(machine.values[pointer]), lane)
            parts = (mixed(place, i) for i, _ in enumerate(leaves(kind)))
            machine.values[out] = shaped(kind, parts)
            machine.provenance[out] = machine.provenance[pointer]

        return run


def _constant(text: str) -> Value:
    text = text.partition(" : ")[0].strip()
    if text.startswith("dense<["):
        return tuple(_one(part.strip()) for part in text[7:].partition("]")[0].split(","))
    return _one(text[6:].partition(">")[0] if text.startswith("dense<") else text)


def _one(text: str) -> int:
    """A written floating-point number; whole ones count as themselves, as sums and products need."""
    if text in _INFINITE:
        return -(1 << 62)
    try:
        found = float(text)
    except ValueError:
        return named(text)
    return int(found) if found.is_integer() and abs(found) < 1 << 62 else named(text)
