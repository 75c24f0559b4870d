"""Loops in which a block only loads: a turn that loads what the one before it did says nothing new."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from layoutcheck.dsl.lowered.needed import NUMBER, Needed, terminator
from layoutcheck.dsl.lowered.removed import Left
from layoutcheck.order.meaning import Meaning
from layoutcheck.sources.mlir import Block, Operation, Value, each_once


def repeated(
    loops: Sequence[Operation], meanings: Mapping[Operation, Meaning], needed: Needed, left: Left
) -> set[Operation] | None:
    """What the last of nested `scf.for`s has to run when all are beyond their first turns; None: all of it.

    Those loads that every one of their counters decides on: nothing is ordered between the turns, so that a
    place is loaded once. Not where the compiler has `left` only parts of a load in some turns.
    """
    loop = loops[-1]
    inside = list(loop.walk())[1:]
    loads = [op for op in inside if op in meanings]
    if not loads or not all(_only_loads(meanings[op]) and left(op) is None for op in loads):
        return None
    if any(op.name == "scf.while" or _carries(op, needed) for op in inside):
        return None
    for one in loops:
        moving = _moving(one)
        loads = [op for op in loads if op in moving]
    return _made_in(loop, loads)


def _only_loads(meaning: Meaning) -> bool:
    plain = not (meaning.reads or meaning.sets or meaning.after or meaning.more or meaning.guard >= 0)
    return plain and meaning.kind == "read"


def _carries(op: Operation, needed: Needed) -> bool:
    """Whether an operation takes a number from memory, or to registers in memory, that something rests on."""
    if op.name == "llvm.store":
        return needed.stores_registers(op)
    return "load" in op.name and any(needed.levels.get(value) == NUMBER for value in op.results)


def _moving(loop: Operation) -> set[Operation]:
    """The operations in a loop that may do otherwise in another turn of it."""
    inside = list(loop.walk())[1:]
    values, found, before = set(loop.regions[0].blocks[0].arguments), set[Operation](), -1
    while before != (before := len(values) + len(found)):  # what a loop within carries may come around
        for op in inside:
            arguments = [value for block in _blocks(op) for value in block.arguments]
            if op.parent_operation in found or not values.isdisjoint(op.operands):
                found.add(op)
                values.update(op.results, arguments)
            elif any(not values.isdisjoint(terminator(block).operands) for block in _blocks(op)):
                values.update(op.results, arguments[1:])
    return found


def _made_in(loop: Operation, roots: Iterable[Operation]) -> set[Operation]:
    """Operations in a loop, with those around them in it and all that their numbers are made of there."""
    queue = [*roots, *filter(None, map(_maker, terminator(loop.regions[0].blocks[0]).operands))]
    found = set[Operation]()
    for op in each_once(queue):
        if loop in op.around():
            found.add(op)
            values = [*op.operands, *(value for block in _blocks(op) for value in terminator(block).operands)]
            queue += filter(None, (op.parent_operation, *map(_maker, values)))
    return found


def _blocks(op: Operation) -> list[Block]:
    return [block for region in op.regions for block in region.blocks]


def _maker(value: Value) -> Operation | None:
    """The operation that a value is a result, or a number of its turns, of."""
    return value.owner.parent.parent if isinstance(value.owner, Block) else value.owner
