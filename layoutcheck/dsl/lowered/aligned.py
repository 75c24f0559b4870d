"""The alignment that the compiler works out of an address where an instruction states less.

LLVM knows the zeros that an address ends with, as far as constants decide them through sums, products and
masks (`computeKnownBits`). It takes a vector whole that is aligned by these, and makes one access of several
that lie side by side (LoadStoreVectorizer). Where an allocation begins it knows at times (in PTX of DSL
4.8.1: not behind the shuffle that tells all lanes the address), and always here: what it then costs is the
least that it may.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import numpy as np

from layoutcheck.dsl.lowered.allocations import symbol
from layoutcheck.dsl.lowered.machine import Machine
from layoutcheck.dsl.lowered.removed import constant_of, turns_of
from layoutcheck.dsl.lowered.types import parse_type
from layoutcheck.dsl.lowered.values import number
from layoutcheck.sources.mlir import Operation, Value, integer, integers

_WIDEST = 4  # zeros of the widest access, 16 bytes
_MOST_DEEP = 24
_SAME = (
    "llvm.inttoptr", "llvm.ptrtoint", "llvm.addrspacecast", "arith.extsi", "arith.extui", "arith.trunci",
    "arith.index_cast", "llvm.sext", "llvm.zext", "llvm.trunc",
)  # fmt: skip
_LEAST = ("add", "addi", "sub", "subi", "or", "ori", "xor", "xori", "rem", "remsi", "remui", "srem", "urem")
_Zeros = tuple[float, tuple[tuple[Value, float], ...]]
"""How many zeros end a value, and terms beside: numbers of unrolled loops, and the zeros behind each."""


class Alignments:
    """Of a kernel's addresses; `slot` says where the `machine` holds a value, such as the turn of a loop."""

    def __init__(self, machine: Machine, slot: Callable[[Value], int]) -> None:
        self._machine, self._slot = machine, slot
        self._known: dict[Value, _Zeros] = {}

    def of(self, pointer: Value, stated: int) -> Callable[[], int]:
        """What an access's address is a multiple of, in this turn of the loops around it."""
        zeros, turns = self._zeros(pointer, 0)
        if stated & -stated >= 1 << int(min(zeros, _WIDEST)):
            return lambda: stated
        terms = [(self._slot(value), behind) for value, behind in turns]

        def known() -> int:
            values = self._machine.values
            least = min([zeros, *(_ending(number(values[at])) + behind for at, behind in terms)])
            return max(stated & -stated, 1 << int(min(least, _WIDEST)))

        return known

    def _zeros(self, value: Value, deep: int) -> _Zeros:
        if value not in self._known:
            self._known[value] = self._found(value, deep + 1) if deep < _MOST_DEEP else (0, ())
        return self._known[value]

    def _found(self, value: Value, deep: int) -> _Zeros:
        op = value.definition
        if op is None:
            return (inf, ((value, 0),)) if turns_of(value) is not None else (0, ())
        name = op.name.partition(".")[2]
        if (held := constant_of(value)) is not None:
            return _ending(held), ()
        if op.name in ("llvm.mlir.addressof", "llvm.alloca"):
            return _ending(_declared(op)), ()
        if op.name in _SAME:
            return self._zeros(op.operands[0], deep)
        if op.name == "llvm.getelementptr":
            return self._element(op, deep)
        if len(op.operands) != 2 or op.results[0].type.startswith("vector"):
            return 0, ()
        first, second = (self._zeros(one, deep) for one in op.operands)
        if name in ("shl", "shli"):
            return _times(first, (constant_of(op.operands[1]) or 0, ()))
        if name in ("lshr", "ashr", "shrui", "shrsi") and not first[1]:
            return max(0, first[0] - (constant_of(op.operands[1]) or inf)), ()
        if name in _LEAST:
            return _sum(first, second)
        if name in ("mul", "muli"):
            return _times(first, second)
        if name in ("and", "andi") and not (first[1] or second[1]):
            return max(first[0], second[0]), ()
        return 0, ()

    def _element(self, op: Operation, deep: int) -> _Zeros:
        raw = integers(op.attributes.get("rawConstantIndices", "")) or ()
        if len(raw) != 1:
            return 0, ()
        size = _ending(parse_type(op.attributes.get("elem_type", "i8")).size_bytes)
        index = self._zeros(op.operands[1], deep) if len(op.operands) > 1 else (_ending(raw[0]), ())
        return _sum(self._zeros(op.operands[0], deep), _times(index, (size, ())))


def _ending(value: int | np.ndarray) -> float:
    """The zeros that a number ends with, the least of several."""
    bits = int(np.bitwise_or.reduce(np.atleast_1d(value)))
    return (bits & -bits).bit_length() - 1 if bits else inf


def _declared(op: Operation) -> int:
    """The alignment that an allocation, or the array of a symbol, is declared with."""
    if op.name == "llvm.alloca":
        return integer(op.attributes.get("alignment", "")) or 1
    module = op.outer("gpu.module")
    for one in module.regions[0].blocks[0].operations if module.name == "gpu.module" else []:
        if one.name == "llvm.mlir.global" and one.attributes.get("sym_name", "").strip('"') == symbol(op):
            return integer(one.attributes.get("alignment", "")) or 1
    return 1


def _sum(first: _Zeros, second: _Zeros) -> _Zeros:
    return min(first[0], second[0]), first[1] + second[1]


def _times(first: _Zeros, second: _Zeros) -> _Zeros:
    if first[1] and second[1]:
        return 0, ()
    (zeros, turns), (more, _) = (first, second) if first[1] else (second, first)
    return zeros + more, tuple((value, behind + more) for value, behind in turns)
