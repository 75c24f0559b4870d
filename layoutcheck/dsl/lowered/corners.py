"""Loops whose accesses to global memory are decided by each thread's first and last turn.

In such a loop every address is a first-degree function of the turn, and whether an access happens does not
depend on it. All bytes that a thread touches then lie between those of its first and its last turn. In nests
the same holds along each loop, for the others' turns fixed, so that the corners decide.
"""

from __future__ import annotations

from collections.abc import Callable

from layoutcheck.dsl.lowered.instructions import numbers_and_data
from layoutcheck.dsl.lowered.needed import Needed, terminator
from layoutcheck.dsl.lowered.types import SHARED, parse_type
from layoutcheck.sources.mlir import Block, Operation, Value

_SUMS = frozenset(("arith.addi", "arith.subi", "llvm.add", "llvm.sub"))
_PRODUCTS = frozenset(("arith.muli", "llvm.mul"))
_SHIFTS = frozenset(("arith.shli", "llvm.shl"))
# A number seen as another type. One cut to fewer bits may wrap between two turns: it is no such function.
_KEPT = frozenset(
    ("arith.extsi", "arith.extui", "arith.index_cast", "arith.index_castui", "llvm.sext", "llvm.zext",
     "llvm.addrspacecast", "llvm.ptrtoint", "llvm.inttoptr", "llvm.bitcast", "llvm.getelementptr",
     "llvm.insertvalue", "llvm.extractvalue", "builtin.unrealized_conversion_cast", *_SUMS)
)  # fmt: skip
_ANY = 2  # not known to be of first degree


def decided_by_corners(loop: Operation, recorded: Callable[[Operation], str], needed: Needed) -> bool:
    """Whether the first and last turns of an `scf.for` say what all turns of it touch in global memory.

    `recorded` gives the tag of an operation whose accesses count, "" for others; `needed` knows the
    registers that pointers point into.
    """
    if loop.name != "scf.for":
        return False
    degrees = _Degrees(loop, needed)
    try:
        return all(degrees.decided(op) for op in loop.walk() if op is not loop and recorded(op))
    except _Unsettled:
        return False


class _Unsettled(Exception):
    """What was taken for the degree of a carried value does not hold."""


class _Degrees:
    """The degree of every value in one loop's turn: 0 (the same in all turns), 1, or `_ANY`."""

    def __init__(self, loop: Operation, needed: Needed) -> None:
        self.loop, self.needed = loop, needed
        self._known: dict[Value, int] = {}
        self._stored = {needed.base(op.operands[1]) for op in loop.walk() if op.name == "llvm.store"}

    def decided(self, op: Operation) -> bool:
        """Whether an access happens in every turn or in none, at an address of first degree."""
        for value in numbers_and_data(op)[0]:
            kind = parse_type(value.type)
            if kind.kind == "pointer" and kind.space == SHARED:
                continue
            if self.of(value) > (1 if kind.kind == "pointer" else 0):
                return False
        around = op.parent_operation
        while around is not None and around is not self.loop:
            if not self._same_way(around):
                return False
            around = around.parent_operation
        return True

    def of(self, value: Value) -> int:
        """The degree of a value."""
        found = self._known.get(value)
        if found is None:
            self._known[value] = _ANY  # of what depends on itself
            self._known[value] = found = self._find(value)
        return found

    def _same_way(self, op: Operation) -> bool:
        """Whether control goes through an operation in the same way in every turn."""
        if op.name in ("scf.if", "scf.index_switch"):
            return self.of(op.operands[0]) == 0
        if op.name == "scf.for":
            return all(self.of(bound) == 0 for bound in op.operands[:3])
        return op.name == "scf.execute_region"

    def _find(self, value: Value) -> int:
        owner = value.owner
        block = owner if isinstance(owner, Block) else owner.parent if owner is not None else None
        if block is None or not self._inside(block):
            return 0
        if isinstance(owner, Block):
            return self._argument(value, owner)
        assert owner is not None
        if owner.regions:
            return self._result(value, owner)
        degrees = [self.of(operand) for operand in owner.operands]
        most = max(degrees, default=0)
        if owner.name == "llvm.load":
            base = self.needed.base(owner.operands[0])
            fixed = isinstance(base, Operation) and base not in self._stored and None not in self._stored
            return 0 if fixed and not most else _ANY
        if not most or owner.name in _KEPT:
            return most
        if owner.name in _PRODUCTS:
            return min(sum(degrees), _ANY)
        return most if owner.name in _SHIFTS and not degrees[1] else _ANY

    def _inside(self, block: Block) -> bool:
        op: Operation | None = block.parent.parent
        while op is not None and op is not self.loop:
            op = op.parent_operation
        return op is not None

    def _argument(self, value: Value, block: Block) -> int:
        op = block.parent.parent
        if op is self.loop:
            if not value.index:
                return 1
            end = terminator(block).operands[value.index - 1]
            return 0 if end is value else 1 if self._steps(end, value) else _ANY
        if op.name != "scf.for" or not self._same_way(op):
            return _ANY
        return self._carried(op, value.index - 1) if value.index else 0

    def _steps(self, end: Value, start: Value) -> bool:
        """Whether `end` is `start` and something that is the same in all turns."""
        if end is start:
            return True
        op = end.definition
        if op is None or not op.operands or op.name not in (*_SUMS, "llvm.getelementptr"):
            return False
        first, *others = op.operands
        if self._steps(first, start):
            return all(self.of(one) == 0 for one in others)
        return op.name in ("arith.addi", "llvm.add") and self._steps(others[0], start) and not self.of(first)

    def _carried(self, op: Operation, index: int) -> int:
        """Of a value that an inner loop carries: that of its start, if a turn does not raise it."""
        block = op.regions[0].blocks[0]
        start = self.of(op.operands[3 + index])
        argument = block.arguments[1 + index]
        self._known[argument] = start
        if self.of(terminator(block).operands[index]) > start:
            raise _Unsettled
        return start

    def _result(self, value: Value, op: Operation) -> int:
        if not self._same_way(op):
            return _ANY
        if op.name == "scf.for":
            return self._carried(op, value.index)
        ends = [terminator(block).operands for region in op.regions for block in region.blocks[-1:]]
        return max((self.of(end[value.index]) for end in ends if value.index < len(end)), default=_ANY)
