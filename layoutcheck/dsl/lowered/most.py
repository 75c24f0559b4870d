"""The largest number that an integer of a lowered kernel can be, where constants bound it: `most(value)`."""

from __future__ import annotations

from math import inf

from layoutcheck.dsl.lowered.removed import constant_of
from layoutcheck.sources.mlir import Operation, Value, integer

_DEEP = 12
_SAME = ("extsi", "index_cast")  # a negative number is a large one behind extui or trunci
_LESS, _GREATER = (2, 3, 6, 7), (4, 5, 8, 9)  # arith.cmpi's predicates


def most(value: Value, deep: int = _DEEP) -> float:
    """The number; `inf` where nothing that is looked at bounds it."""
    if (held := constant_of(value)) is not None:
        return held
    op = value.definition
    if op is None or not deep:
        return inf
    name, last = op.name.partition(".")[2], constant_of(op.operands[-1]) if op.operands else None
    if name in ("minsi", "minui"):
        return min(most(one, deep - 1) for one in op.operands)
    if name in ("maxsi", "maxui", "addi"):
        bounds = [most(one, deep - 1) for one in op.operands]
        return sum(bounds) if name == "addi" else max(bounds)
    if name in _SAME:
        return most(op.operands[0], deep - 1)
    if name in ("remsi", "remui", "andi") and last is not None and last > 0:
        return last if name == "andi" else last - 1
    if name == "select":
        condition, *either = op.operands
        smaller = condition.definition is not None and _smaller(condition.definition, either)
        return (min if smaller else max)(most(one, deep - 1) for one in either)
    return 1 if value.type == "i1" else inf


def _smaller(condition: Operation, either: list[Value]) -> bool:
    """Whether a choice takes the smaller of the two numbers that its condition compares."""
    predicate = integer(condition.attributes.get("predicate", ""))
    smaller = either if predicate in _LESS else either[::-1] if predicate in _GREATER else None
    return condition.name == "arith.cmpi" and condition.operands == smaller
