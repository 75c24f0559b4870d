"""Registers that a product reads although nothing has written them.

`Unset` notes which bytes of each array of registers each thread has written, and says of a product's operand
whether it comes, by moves alone, from loads that found none of theirs written. It is certain only for arrays
that loads and stores alone reach, if the block that was followed executes all of these stores (`certain`).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from layoutcheck.dsl.lowered.evaluate import KERNELS
from layoutcheck.sources.mlir import Block, Operation, Value

Bools = NDArray[np.bool_]
_POINTER = "!llvm.ptr"
_ADDRESSES = ("llvm.getelementptr", "llvm.load")
_MOVES = frozenset(
    ("vector.to_elements", "vector.from_elements", "vector.extract", "vector.extract_strided_slice",
     "vector.shuffle", "vector.shape_cast", "vector.bitcast", "llvm.bitcast", "arith.bitcast",
     "llvm.extractvalue", "builtin.unrealized_conversion_cast")
)  # fmt: skip


class Unset:
    """What loads and stores of one block have met: `written` (threads, bytes) by the number of an array."""

    def __init__(self, kernel: Operation, threads: int) -> None:
        self.kernel, self.threads = kernel, threads
        self.written: dict[int, Bools] = {}
        self.loads: dict[Value, Bools] = {}  # of a load's result: the threads that found nothing written
        self.stores: set[Operation] = set()  # those that were executed

    def of(self, index: int, size: int) -> Bools:
        """Which bytes of an array of `size` bytes are written."""
        if index not in self.written:
            self.written[index] = np.zeros((self.threads, size), bool)
        return self.written[index]

    def threads_of(self, loads: tuple[Value, ...]) -> Bools:
        """The threads in which nothing of what these loads read was written; none for no loads."""
        nothing = np.zeros(self.threads, bool)
        found: Bools = np.logical_and.reduce([self.loads.get(one, nothing) for one in loads] or [nothing])
        return found

    def certain(self, loads: Iterable[Value]) -> bool:
        """Whether what was seen of the arrays of these loads is all that can happen to them."""
        roots: set[Operation | None] = set()
        for one in loads:
            roots |= _arrays(one.definition.operands[0]) if one.definition is not None else {None}
        if None in roots or not roots:
            return False
        for op in self.kernel.walk():
            if op.name in _ADDRESSES or (op in self.stores and not _keeps(op)):
                continue
            if any(_arrays(value) & {None, *roots} for value in op.operands if value.type == _POINTER):
                return False
        return True


def sources(values: Iterable[Value]) -> tuple[Value, ...]:
    """The results of the loads that all of these values come from by moves; none if others come in."""
    found: dict[Value, None] = {}
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        made = value.definition
        if made is not None and made.name == "llvm.load":
            found[value] = None
        elif made is not None and made.name in _MOVES:
            waiting += made.operands
        else:
            return ()
    return tuple(found)


def _keeps(store: Operation) -> bool:
    """Whether a store puts an address away."""
    return store.operands[0].type == _POINTER


def _arrays(value: Value) -> set[Operation | None]:
    """The arrays of registers that an address is made of; None among them for what is not known."""
    found: set[Operation | None] = set()
    waiting, seen = [value], {value}
    while waiting:
        one = waiting.pop()
        made = one.definition
        if made is None:
            found |= set() if _given(one) else {None}
        elif made.name == "llvm.alloca":
            found.add(made)
        elif made.regions:
            found.add(None)
        elif made.name != "llvm.load":
            new = [operand for operand in made.operands if operand not in seen]
            waiting += new
            seen.update(new)
    return found


def _given(value: Value) -> bool:
    """Whether a block's argument is one of the kernel, or a number such as the turn of a loop."""
    around = value.owner.parent.parent if isinstance(value.owner, Block) else None
    return value.type != _POINTER or around is None or around.name in KERNELS
