"""Single-precision arithmetic that indices are computed by: a tile's number through a square root, say.

A value of type f32 is its bit pattern, as an integer: a bitcast changes nothing, 0 is 0.0. Each operation
rounds once (IEEE 754). The DSL's approximate square root (PTX ISA, sqrt.approx) is taken for the exact one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from layoutcheck.dsl.lowered.machine import Step
from layoutcheck.dsl.lowered.steps import Steps
from layoutcheck.dsl.lowered.types import parse_type
from layoutcheck.dsl.lowered.values import Value, number, wrap
from layoutcheck.sources.mlir import Operation

_CONSTANT = re.compile(r"(-?[0-9]+\.[0-9]+(?:e[+-]?[0-9]+)?)(?: : f32)?\Z", re.IGNORECASE)
_ROOT = re.compile(r'"llvm\.(?:nvvm\.)?sqrt\b')
_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "arith.addf": np.add, "arith.subf": np.subtract, "arith.mulf": np.multiply, "arith.divf": np.divide,
    "arith.maximumf": np.maximum, "arith.minimumf": np.minimum,
}  # fmt: skip
_UNARY: dict[str, Callable[[Any], Any]] = {
    "arith.negf": np.negative, "math.ceil": np.ceil, "math.floor": np.floor, "math.sqrt": np.sqrt,
    "math.absf": np.abs, "math.trunc": np.trunc,
}  # fmt: skip


def constant(text: str) -> int | None:
    """The bits of a printed f32 constant; None for what is not one."""
    match = _CONSTANT.match(text)
    return None if match is None else _bits(np.float32(match[1]))


def step(steps: Steps, op: Operation) -> Step | None:
    """The step of an operation on single f32 values; None for any other."""
    if len(op.results) != 1 or not op.operands:
        return None
    source, target = op.operands[0].type, op.results[0].type
    if "f32" not in (source, target):
        return None
    if (source, target) == ("f32", "f32"):
        function: Any = _BINARY.get(op.name) or _UNARY.get(op.name)
        if _ROOT.match(op.attributes.get("intrin", "")):
            function = np.sqrt
        return None if function is None else _made(steps, op, lambda *given: _bits(function(*given)))
    bits = parse_type(source if target == "f32" else target).bits
    if op.name in ("arith.sitofp", "arith.uitofp") and source != "i1":
        low = 0 if op.name == "arith.sitofp" else (1 << bits) - 1

        def converted(value: Value) -> Value:
            given = number(value)
            return _bits(np.asarray(given & low if low and bits < 64 else given).astype(np.float32))

        return steps.unary(op, converted)
    if op.name in ("arith.fptosi", "arith.fptoui"):
        return _made(steps, op, lambda given: _whole(given, bits))
    return None


def _made(steps: Steps, op: Operation, function: Callable[..., Value]) -> Step:
    def computed(*given: Value) -> tuple[Value]:
        with np.errstate(all="ignore"):
            return (function(*(np.asarray(number(one)).astype(np.int32).view(np.float32) for one in given)),)

    return steps.apply(op, computed)


def _bits(value: Any) -> Value:
    found = np.asarray(value, np.float32).view(np.int32).astype(np.int64)
    return int(found) if found.ndim == 0 else found


def _whole(value: Any, bits: int) -> Value:
    """Rounded towards zero; what no integer holds, which PTX leaves open for LLVM, is 0."""
    kept = np.where(np.isfinite(value) & (np.abs(value) < 2.0**62), value, 0)
    found = np.trunc(kept).astype(np.int64)
    return wrap(int(found) if found.ndim == 0 else found, bits)
