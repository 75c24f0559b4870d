"""Accesses that the compiler removes: stores that leave their registers, and the loads that feed only these.

Measured in the DSL's PTX: a vector that does not lie whole in its array of registers (`llvm.alloca`) is not
stored, no byte of it. LLVM calls such a store undefined and ignores it ("SROA", `visitStoreInst`). The load
before it, from shared or from global memory, has no use left and goes as well. A universal copy whose V is
smaller than its vector makes them: of one element by vectors of four, 16 loads of which 4 stay.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from layoutcheck.dsl.lowered.types import GENERIC, parse_type
from layoutcheck.sources.mlir import Block, Operation, Value, integer, integers

_OPERAND = -(1 << 31)  # how rawConstantIndices marks an index that is an operand
Turns = Callable[[Value], Any]  # the turn of a loop, by the loop's own number


class _Place(NamedTuple):
    """Bytes from the begin of registers of `size`: `constant`, and for each turn of a loop so many."""

    size: int
    constant: int = 0
    turns: tuple[tuple[Value, int], ...] = ()

    def leaves(self, width: int, turn: Turns) -> bool:
        """Whether `width` bytes there are not all in the registers."""
        at = self.constant + sum(int(turn(value)) * each for value, each in self.turns)
        return not 0 <= at <= self.size - width


class Removed:
    """Of one kernel: which of its loads and stores are not there, turn by turn of the loops around them."""

    def __init__(self) -> None:
        self._users: dict[Block, dict[Value, list[Operation]]] = {}

    def when(self, op: Operation, turn: Turns) -> Callable[[], bool] | None:
        """Tells of a load or store whether it is removed in this turn; None where it never is."""
        if op.name == "llvm.store":
            stores = [op]
        elif op.name == "llvm.load" and op.results[0].type.startswith("vector") and op.parent is not None:
            stores = self._of(op.parent).get(op.results[0], [])
        else:
            return None
        widths, places = [], []
        for store in stores:
            place = _place(store.operands[1]) if store.name == "llvm.store" else None
            width = parse_type(store.operands[0].type).size_bytes
            if (
                place is None
                or store.operands[0] is not stores[0].operands[0]
                or not _may_leave(place, width)
            ):
                return None
            widths.append(width)
            places.append(place)
        if not places:
            return None
        return lambda: all(map(partial(_Place.leaves, turn=turn), places, widths))

    def _of(self, block: Block) -> dict[Value, list[Operation]]:
        """The users of a block's values."""
        if block not in self._users:
            found = self._users[block] = defaultdict(list)
            for op in block.operations:
                for one in op.walk() if op.regions else (op,):
                    for value in one.operands:
                        found[value].append(one)
        return self._users[block]


def _place(pointer: Value) -> _Place | None:
    """Where a pointer points to in registers, if that is written in the module; else None."""
    op = pointer.definition
    if op is None or parse_type(pointer.type).space != GENERIC:
        return None
    if op.name == "llvm.alloca":
        count = _constant(op.operands[0])
        return None if count is None else _Place(count * parse_type(op.attributes["elem_type"]).size_bytes)
    indices = integers(op.attributes.get("rawConstantIndices", "")) or ()
    base = _place(op.operands[0]) if op.name == "llvm.getelementptr" and len(indices) == 1 else None
    if base is None:
        return None
    each = parse_type(op.attributes["elem_type"]).size_bytes
    index = indices[0] if indices[0] != _OPERAND else _constant(op.operands[1])
    if index is not None:
        return base._replace(constant=base.constant + index * each)
    if _turns(op.operands[1]) is None:
        return None
    return base._replace(turns=(*base.turns, (op.operands[1], each)))


def _may_leave(place: _Place, width: int) -> bool:
    """Whether some turns of the loops give bytes outside of the registers."""
    last = {value: turns[-1] for value, _ in place.turns if (turns := _turns(value))}
    return place.leaves(width, lambda value: last.get(value, 0)) or place.constant < 0


def _turns(value: Value) -> range | None:
    """The numbers of a loop that the compiler unrolls in full; None for what is none."""
    block = value.owner
    loop = block.parent.parent if isinstance(block, Block) else None
    if loop is None or loop.name != "scf.for" or value.index:
        return None
    start, stop, step = (_constant(bound) for bound in loop.operands[:3])
    if start is None or stop is None or not step:
        return None
    return range(start, stop, step) if "full = true" in loop.attributes.get("loop_annotation", "") else None


def _constant(value: Value) -> int | None:
    made = value.definition
    return integer(made.attributes.get("value", "")) if made and made.name == "arith.constant" else None
