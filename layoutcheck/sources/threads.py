"""Which thread of a block works as which thread of a tiled copy: index arithmetic of printed IR, evaluated.

Everything is evaluated for all threads of the block at once. What depends on memory, on the block's place in
the grid or on a loop is not known, and None.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from layoutcheck.copies.offsets import IntArray
from layoutcheck.sources.mlir import Operation, Value, each_once, integer, integers

MAX_DEPTH = 60
WARP = 32

_KERNELS = ("cuda.kernel", "gpu.func", "func.func")
_PASSED_ON = frozenset(
    ("arith.extsi", "arith.extui", "arith.trunci", "arith.index_cast", "cute.make_coord",
     "cute.make_int_tuple", "cute.get_leaves", "cute.get_scalars", "cute.to_int_tuple")
)  # fmt: skip
_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "arith.addi": np.add,
    "arith.subi": np.subtract,
    "arith.muli": np.multiply,
    "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or,
    "arith.xori": np.bitwise_xor,
    "arith.shli": np.left_shift,
    "arith.shrsi": np.right_shift,
    "arith.shrui": np.right_shift,
    "arith.floordivsi": lambda a, b: a // np.where(b == 0, 1, b),
    "arith.divsi": lambda a, b: (np.abs(a) // np.maximum(1, np.abs(b))) * np.sign(a) * np.sign(b),
    "arith.divui": lambda a, b: a // np.where(b == 0, 1, b),
    "arith.remsi": lambda a, b: np.fmod(a, np.where(b == 0, 1, b)),
    "arith.remui": lambda a, b: a % np.where(b == 0, 1, b),
    "arith.minsi": np.minimum,
    "arith.maxsi": np.maximum,
}
# arith.cmpi's predicates: eq, ne, slt, sle, sgt, sge, ult, ule, ugt, uge (MLIR, Arith dialect).
_COMPARE: list[Callable[[Any, Any], Any]] = [
    np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal,
    np.less, np.less_equal, np.greater, np.greater_equal,
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Workers:
    """`block` threads work, as the tiled copy's 0, 1, ...; None where those launched are not just these.

    `warps` has, for each warp of the block, the thread of the tiled copy as which its first lane works (its
    other lanes work as the next), -1 for a warp that does not.
    """

    block: int | None
    warps: tuple[int, ...]
    doubt: str = ""  # why it is not known that all of the tiled copy's threads do
    index: tuple[int, ...] = ()  # of every thread of the block, whether it works or not


def block_shape(op: Operation) -> tuple[int, int, int] | None:
    """The threads of a block in x, y and z, which the launch fixes (`nvvm.reqntid`)."""
    for around in (op, *op.around()):
        found = integers(around.attributes.get("nvvm.reqntid", ""))
        if found and len(found) == 3:
            return found[0], found[1], found[2]
    return None


def workers(op: Operation, index: Value, threads: int) -> Workers | str:
    """Who works at `op` as which of a tiled copy's `threads`.

    Or, in words, why it is not known that the lanes of a warp are threads next to each other.
    """
    shape = block_shape(op)
    if shape is None:
        return "the size of its block is not fixed"
    x, y, z = shape
    count = x * y * z
    ids = _Ids(count, x, y)
    at = ids.value(index)
    if at is None:
        return "its thread index is not worked out from threadIdx alone"
    active, known = ids.active(op)
    if not active.any():  # a branch that this kernel never takes
        active = ~active
    found = told_by(at, active, threads)
    if known or isinstance(found, str):
        return found
    return replace(found, block=None, doubt="a condition that may differ between its threads guards it")


def told_by(at: IntArray, active: npt.NDArray[np.bool_], threads: int) -> Workers | str:
    """The same, given the index of every thread of the block and which of them are `active`."""
    warps = []
    for first in range(0, at.size, WARP):
        lanes = active[first : first + WARP]
        if not lanes.any():
            warps.append(-1)
            continue
        mine = at[first : first + WARP]
        start = int(mine[int(np.argmax(lanes))]) - int(np.argmax(lanes))
        expected = start + np.arange(mine.size)
        if start % WARP or (mine[lanes] != expected[lanes]).any():
            return "the lanes of a warp are not adjacent threads of its tiled copy"
        warps.append(start)
    found = Workers(None, tuple(warps), index=tuple(at.tolist()))
    mine = at[active]
    exact = bool((mine == np.arange(mine.size)).all())
    some = np.unique(mine[(mine >= 0) & (mine < threads)]).size < threads
    if some and not (exact and active.all()):  # the others may have a copy of their own
        return replace(found, doubt="only some threads of its tiled copy reach it")
    return replace(found, block=int(mine.size) if exact else None)


class _Ids:
    """Values for every thread of a block."""

    def __init__(self, count: int, x: int, y: int) -> None:
        linear = np.arange(count, dtype=np.int64)
        self.count = count
        self.known: dict[str, IntArray] = {
            "nvvm.read.ptx.sreg.tid.x": linear % x,
            "nvvm.read.ptx.sreg.tid.y": linear // x % y,
            "nvvm.read.ptx.sreg.tid.z": linear // (x * y),
            "nvvm.read.ptx.sreg.laneid": linear % WARP,
            "nvvm.read.ptx.sreg.ntid.x": np.full(count, x),
            "nvvm.read.ptx.sreg.ntid.y": np.full(count, y),
        }
        self._values: dict[int, IntArray | None] = {}

    def value(self, value: Value, depth: int = 0) -> IntArray | None:
        """The value in every thread; None where it is not known."""
        if id(value) not in self._values:
            self._values[id(value)] = None  # in case of a cycle
            self._values[id(value)] = self._worked_out(value, depth)
        return self._values[id(value)]

    def _worked_out(self, value: Value, depth: int) -> IntArray | None:
        made = value.definition
        if made is None or depth > MAX_DEPTH:
            return None
        if made.name in self.known:
            return self.known[made.name]
        if made.name == "arith.constant":
            number = integer(made.attributes.get("value", ""))
            return None if number is None else np.full(self.count, number, dtype=np.int64)
        if made.name in _PASSED_ON and len(made.operands) == 1 and len(made.results) == 1:
            return self.value(made.operands[0], depth + 1)
        if made.name == "nvvm.shfl.sync":
            return self._shuffled(made, depth)
        given = [self.value(one, depth + 1) for one in made.operands]
        if any(one is None for one in given):
            return None
        if made.name in _BINARY and len(given) == 2:
            found: IntArray = _BINARY[made.name](*given)
            return found
        if made.name == "arith.cmpi":
            predicate = integer(made.attributes.get("predicate", ""))
            if predicate is None or not 0 <= predicate < len(_COMPARE):
                return None
            compared: IntArray = _COMPARE[predicate](*given).astype(np.int64)
            return compared
        if made.name == "arith.select":
            condition, yes, no = given
            assert condition is not None and yes is not None and no is not None
            return np.where(condition != 0, yes, no)
        return None

    def _shuffled(self, made: Operation, depth: int) -> IntArray | None:
        """`shfl.sync.idx` from one lane, which makes a value uniform in its warp."""
        if "idx" not in made.attributes.get("kind", "") or len(made.operands) < 3:
            return None
        given, lane = self.value(made.operands[1], depth + 1), self.value(made.operands[2], depth + 1)
        if given is None or lane is None:
            return None
        linear = np.arange(self.count)
        found: IntArray = given[np.minimum(linear // WARP * WARP + lane % WARP, self.count - 1)]
        return found

    def active(self, op: Operation) -> tuple[Any, bool]:
        """The threads that reach `op`, as far as its branches are known, and whether all of them are."""
        active = np.ones(self.count, dtype=np.bool_)
        known = True
        inner, around = op, op.parent_operation
        while around is not None and around.name not in _KERNELS:
            if around.name == "scf.if":
                condition = self.value(around.operands[0])
                if condition is None:
                    known = known and not self._by_thread(around.operands[0])
                else:
                    block = inner.parent
                    taken = block is not None and block.parent is around.regions[0]
                    active &= (condition != 0) if taken else (condition == 0)
            inner, around = around, around.parent_operation
        return active, known

    def _by_thread(self, value: Value) -> bool:
        """Whether a value that is not known may differ between threads."""
        queue = [value]
        for one in each_once(queue):
            if (made := one.definition) is not None:
                if made.name in self.known or made.name == "nvvm.elect.sync" or made.regions:
                    return True
                queue += made.operands
        return False
