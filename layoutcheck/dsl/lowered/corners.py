"""Loops and grids whose accesses to global memory are decided by their first and last turns and blocks.

In such a loop every address is a first-degree function of the turn, or such a one that stops at a least or
most number, and whether an access happens does not depend on it. All bytes that a thread touches then lie
between those of its first and its last turn. In nests the same holds along each loop, for the others' turns
fixed, so that the corners decide. Blocks along an axis of the grid are alike in this, but for whether they
access anything: `grid` sees that from the blocks that are evaluated.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile
from typing import NamedTuple

from layoutcheck.dsl.lowered.instructions import is_address, numbers_and_data
from layoutcheck.dsl.lowered.needed import Needed, terminator
from layoutcheck.dsl.lowered.types import CLUSTER, SHARED, parse_type
from layoutcheck.sources.mlir import Block, Operation, Value

_SUMS = frozenset(("arith.addi", "arith.subi", "llvm.add", "llvm.sub"))
_PRODUCTS = frozenset(("arith.muli", "llvm.mul"))
_SHIFTS = frozenset(("arith.shli", "llvm.shl"))
_DIVISIONS = frozenset(
    ("arith.divsi", "arith.divui", "arith.remsi", "arith.remui", "arith.floordivsi", "llvm.sdiv", "llvm.udiv",
     "llvm.srem", "llvm.urem")
)  # fmt: skip
_WIDER = frozenset(
    ("arith.extsi", "arith.extui", "arith.index_cast", "arith.index_castui", "llvm.sext", "llvm.zext")
)
# A number seen as another type. One cut to fewer bits may wrap between two turns: it is no such function.
_KEPT = frozenset(
    ("arith.extsi", "arith.extui", "arith.index_cast", "arith.index_castui", "llvm.sext", "llvm.zext",
     "llvm.addrspacecast", "llvm.ptrtoint", "llvm.inttoptr", "llvm.bitcast", "llvm.getelementptr",
     "llvm.insertvalue", "llvm.extractvalue", "builtin.unrealized_conversion_cast", *_SUMS)
)  # fmt: skip
_KERNELS = ("cuda.kernel", "gpu.func")
SHARED_SPACES = (SHARED, CLUSTER)
_CUT, _ANY = 2, 3  # first degree up to a least or most number; not known to be of first degree
_CUTS = frozenset(("arith.minsi", "arith.maxsi"))


def decided_by_corners(
    loop: Operation, recorded: Callable[[Operation], str], needed: Needed, shared: bool = False
) -> bool:
    """Whether the first and last turns of an `scf.for` say what all turns of it touch in global memory.

    With `shared` in shared memory. `recorded` gives the tag of an operation whose accesses count, "" for
    others; `needed` knows the registers that pointers point into.
    """
    if loop.name != "scf.for":
        return False
    degrees = _InShared(loop, needed) if shared else _Degrees(loop, needed)
    try:
        return all(degrees.decided(op) for op in loop.walk() if op is not loop and recorded(op))
    except _Unsettled:
        return False


class Digits(NamedTuple):
    """What an address of first degree in a block's index is made of: quotients and remainders.

    `divisions` are what is divided, and by what: the index, `sums` of first degree in it as `block * 256 +
    thread`, or quotients and remainders of these.
    """

    divisions: set[tuple[Value, Value]]
    sums: set[Value]


def digits(op: Operation, axis: str, needed: Needed) -> Digits | None:
    """The digits of the block's index along an axis that make an access's address, if that is all."""
    degrees = _ByBlock(op, axis, needed)
    try:
        return Digits(degrees.divisions, degrees.sums) if degrees.straight(op) else None
    except _Unsettled:
        return None


def _narrow(value: Value) -> Value:
    """The number of fewer bits that it was."""
    while (made := value.definition) is not None and made.name in _WIDER:
        value = made.operands[0]
    return value


def _once(value: Value) -> bool:
    """Whether a thread computes it once."""
    made = value.definition
    return made is not None and all(op.name not in ("scf.for", "scf.while") for op in made.around())


class _Unsettled(Exception):
    """What was taken for the degree of a carried value does not hold."""


class _Degrees:
    """The degree of every value in one loop's turn: 0 (the same in all turns), 1, `_CUT` or `_ANY`."""

    other = 0  # the most that an operand may have which is no address: how many bytes are read

    def __init__(self, loop: Operation, needed: Needed) -> None:
        self.loop, self.needed = loop, needed
        self._known: dict[Value, int] = {}
        self._stored = needed.stored_in(loop)

    def decided(self, op: Operation) -> bool:
        """Whether an access happens in every turn or in none, at an address of first degree."""
        return self.straight(op) and self.reached(op)

    def reached(self, op: Operation) -> bool:
        """Whether control comes by an operation in all turns, or in none."""
        return all(map(self._same_way, takewhile(lambda around: around is not self.loop, op.around())))

    def straight(self, op: Operation) -> bool:
        """Whether the address of an access is of first degree, and its size the same in all turns."""
        for value in numbers_and_data(op)[0]:
            kind = parse_type(value.type)
            if kind.kind == "pointer" and kind.space == SHARED:
                continue
            if self.of(value) > (_CUT if is_address(op, value) else self.other):
                return False
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
        varying = [degree for degree in degrees if degree]
        if not most or (owner.name in _KEPT and (most == 1 or len(varying) == 1)):
            return most
        if owner.name in _PRODUCTS:
            return most if len(varying) == 1 else _ANY
        if owner.name in _CUTS and len(varying) == 1 and most <= _CUT:
            return _CUT
        return most if owner.name in _SHIFTS and not degrees[1] else _ANY

    def _inside(self, block: Block) -> bool:
        op = block.parent.parent
        return op is self.loop or self.loop in op.around()

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


class _InShared(_Degrees):
    """The same where the addresses in shared memory count, and no others."""

    def straight(self, op: Operation) -> bool:
        kinds = [(value, parse_type(value.type)) for value in op.operands]
        return all(self.of(value) <= _CUT for value, kind in kinds if kind.space in SHARED_SPACES)


class _ByBlock(_Degrees):
    """The same in the block's index along one axis, in the whole kernel around an operation."""

    other = _ANY

    def __init__(self, op: Operation, axis: str, needed: Needed) -> None:
        super().__init__(op.outer(*_KERNELS), needed)
        self._index = f"nvvm.read.ptx.sreg.ctaid.{axis}"
        self.divisions: set[tuple[Value, Value]] = set()
        self.sums: set[Value] = set()
        self._digits: set[Value] = set()  # the index, and quotients and remainders

    def _find(self, value: Value) -> int:
        owner = value.owner
        if isinstance(owner, Block):
            return 0 if owner.parent.parent is self.loop else super()._find(value)
        if owner is not None and owner.name.startswith("nvvm.read.ptx.sreg.") and "cluster" in owner.name:
            return _ANY
        if owner is None:
            return super()._find(value)
        degrees = [self.of(operand) for operand in owner.operands]
        digit = bool(degrees) and degrees[0] == 1 and owner.operands[0] in self._digits
        divided = owner.name in _DIVISIONS and degrees == [1, 0] and (digit or _once(owner.operands[0]))
        if divided:
            self.divisions.add((_narrow(owner.operands[0]), owner.operands[1]))
            self.sums.update(() if digit else owner.operands[:1])
        if owner.name == self._index or divided or (digit and owner.name in _WIDER):
            self._digits.add(value)
            return 1
        return super()._find(value)
