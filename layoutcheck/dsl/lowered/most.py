"""The largest number that an integer of a lowered kernel can be, where constants bound it: `most(value)`.

Sums wrap around. Numbers that nothing bounds are taken to lie in the upper three quarters of their type: none
of a program's is within 2^30 of the least 32-bit number, so that min(n, 4) - 1 is no large number.
"""

from __future__ import annotations

from math import inf

from layoutcheck.digits import is_number
from layoutcheck.dsl.lowered.removed import constant_of
from layoutcheck.sources.mlir import Operation, Value, integer

_DEEP = 12
_SAME = ("extsi", "index_cast")  # a negative number is a large one behind extui or trunci
_LESS, _GREATER = (2, 3, 6, 7), (4, 5, 8, 9)  # arith.cmpi's predicates
_UNSIGNED = 6  # from this one on
Range = tuple[float, float]


def most(value: Value) -> float:
    """The number; `inf` where nothing that is looked at bounds it."""
    return _range(value, _DEEP)[1]


def _range(value: Value, deep: int) -> Range:
    """The least and the largest number, signed."""
    if (held := constant_of(value)) is not None:
        return held, held
    op, anything = value.definition, (-1, 1) if value.type == "i1" else (-_half(value) / 2, inf)
    if op is None or not deep:
        return anything
    name, last = op.name.partition(".")[2], constant_of(op.operands[-1]) if op.operands else None
    if name in ("minsi", "minui", "maxsi", "maxui", "addi"):
        return _of_two(name, value, [_range(one, deep - 1) for one in op.operands])
    if name in _SAME:
        return _held(_range(op.operands[0], deep - 1), value)
    if name in ("remsi", "remui", "andi") and last is not None and last > 0:
        return (1 - last if name == "remsi" else 0, last if name == "andi" else last - 1)
    if name == "select":
        condition, *either = op.operands
        kind = _kind(condition.definition, either) if condition.definition is not None else "either"
        return _of_two(kind, value, [_range(one, deep - 1) for one in either])
    return anything


def _of_two(kind: str, value: Value, ranges: list[Range]) -> Range:
    """Of a sum, of one of two numbers, or of the smaller or the larger one."""
    (low, high), (other_low, other_high) = ranges
    if kind == "addi":
        return _held((low + other_low, high + other_high), value)
    if kind == "minsi":
        return min(low, other_low), min(high, other_high)
    if kind == "minui" and max(low, other_low) >= 0:  # a negative number is the larger one
        return 0, min(top for bottom, top in ranges if bottom >= 0)
    return min(low, other_low), max(high, other_high)


def _held(found: Range, value: Value) -> Range:
    """Of a number that is cut to the bits of `value`: any, if not all of them fit."""
    low, half = found[0], _half(value)
    if -half <= low and found[1] < half:
        return found
    return min(low, -half / 2) if low >= -half else -half / 2, inf


def _half(value: Value) -> int:
    """2^31 of a number of 32 bits."""
    return 1 << (int(value.type[1:]) if is_number(value.type[1:]) else 64) - 1


def _kind(condition: Operation, either: list[Value]) -> str:
    """`minsi` or `minui` where a choice takes the smaller of the two numbers that its condition compares."""
    predicate = integer(condition.attributes.get("predicate", "")) or 0
    smaller = either if predicate in _LESS else either[::-1] if predicate in _GREATER else None
    if condition.name != "arith.cmpi" or condition.operands != smaller:
        return "either"
    return "minui" if predicate >= _UNSIGNED else "minsi"
