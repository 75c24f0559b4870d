"""Structs, arrays and vectors: taken apart, put together, seen as another type."""

from __future__ import annotations

from collections.abc import Callable

from layoutcheck.dsl.lowered.machine import Step
from layoutcheck.dsl.lowered.record import Data
from layoutcheck.dsl.lowered.steps import Steps
from layoutcheck.dsl.lowered.types import Type, parse_type
from layoutcheck.dsl.lowered.values import Value, number, unsigned, wrap
from layoutcheck.sources.mlir import Operation, integer, integers


def _bitcast(steps: Steps, op: Operation) -> Step:
    """The same bytes as another type; of numbers, cut or joined, little end first."""
    source, target = parse_type(op.operands[0].type), parse_type(op.results[0].type)
    before, after = source.element_bits, target.element_bits
    count = target.count if target.kind == "vector" else 1

    def convert(value: Value) -> Value:
        if before == after or isinstance(value, Data) or (value.__class__ is int and value == 0):
            return value
        if isinstance(value, tuple) and any(isinstance(v, Data) for v in value):
            return value
        parts = value if isinstance(value, tuple) else (value,)
        if before > after:
            cut = [wrap(number(v) >> (after * i), after) for v in parts for i in range(before // after)]
            return tuple(cut) if count > 1 else cut[0]
        each = after // before
        joined = [
            wrap(
                sum(
                    (unsigned(number(v), before) << (before * i) for i, v in enumerate(parts[k : k + each])),
                    0,
                ),
                after,
            )
            for k in range(0, len(parts), each)
        ]
        return tuple(joined) if count > 1 else joined[0]

    return steps.unary(op, convert)


def _extract(steps: Steps, op: Operation) -> Step:
    """A part of an aggregate by constant position."""
    path = _path(op)
    kind = parse_type(op.operands[0].type)
    offset, part = 0, kind
    for index in path:
        if index < 0:
            return steps.assume(op, "blocked", "a vector's element at a dynamic position")
        offset, part = offset + part.offset(index), part.part(index)
    size = part.size_bytes

    def take(value: Value) -> Value:
        if isinstance(value, Data):
            return value.part(offset, size)
        for index in path:
            if not isinstance(value, tuple) or index >= len(value):
                return value if not isinstance(value, tuple) else 0
            value = value[index]
        return value

    return steps.unary(op, take)


def _insert(steps: Steps, op: Operation) -> Step:
    at = 0 if op.name.startswith("llvm.") else 1  # of the aggregate, among the operands
    path = _path(op)
    kind = parse_type(op.results[0].type)
    if any(index < 0 for index in path):
        return steps.assume(op, "blocked", "a vector's element at a dynamic position")

    def put(value: Value, inside: Type, where: tuple[int, ...], new: Value) -> Value:
        if not where:
            return new
        count = inside.count or len(inside.parts)
        parts = list(_parts(value, count, inside))
        if not 0 <= where[0] < len(parts):
            return value
        parts[where[0]] = put(parts[where[0]], inside.part(where[0]), where[1:], new)
        return tuple(parts)

    return steps.apply(op, lambda *given: (put(given[at], kind, path, given[1 - at]),), most=2)


def _path(op: Operation) -> tuple[int, ...]:
    """Where in an aggregate a part is; -1 for a position that is no constant."""
    if not op.name.endswith("element"):
        return integers(op.attributes.get("position", op.attributes.get("static_position", ""))) or ()
    made = op.operands[-1].definition
    at = None if made is None else integer(made.attributes.get("value", ""))
    return (-1 if at is None else at,)


def _parts(value: Value, count: int, kind: Type) -> tuple[Value, ...]:
    """The elements of a vector, array or struct."""
    if isinstance(value, tuple) and len(value) == count:
        return value
    if isinstance(value, Data):
        return tuple(value.part(kind.offset(i), kind.part(i).size_bytes) for i in range(count))
    return (value if not isinstance(value, tuple) else 0,) * count


def _to_elements(steps: Steps, op: Operation) -> Step:
    kind = parse_type(op.operands[0].type)
    return steps.apply(op, lambda value: _parts(value, len(op.results), kind))


MAKERS: dict[str, Callable[[Steps, Operation], Step]] = {
    **dict.fromkeys(("llvm.bitcast", "vector.bitcast", "arith.bitcast"), _bitcast),
    **dict.fromkeys(("llvm.extractvalue", "llvm.extractelement", "vector.extract"), _extract),
    **dict.fromkeys(("llvm.insertvalue", "llvm.insertelement", "vector.insert"), _insert),
    "vector.to_elements": _to_elements,
    "vector.from_elements": lambda steps, op: steps.apply(
        op, lambda *parts: (parts[0] if len(parts) == 1 else parts,)
    ),
}  # fmt: skip
