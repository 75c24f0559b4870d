"""How an operation becomes a step: a function without arguments that works on the machine's values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from layoutcheck.dsl.lowered.machine import Machine, Step
from layoutcheck.dsl.lowered.record import Data
from layoutcheck.dsl.lowered.types import parse_type
from layoutcheck.dsl.lowered.values import Value, number, wrap
from layoutcheck.sources.mlir import Operation
from layoutcheck.sources.mlir import Value as SsaValue


class Steps:
    """Makes steps on the values of `machine`; `slots` are the places of SSA values."""

    def __init__(self, machine: Machine, slots: dict[SsaValue, int]) -> None:
        self.machine, self.slots = machine, slots

    def assume(self, op: Operation, kind: str, sentence: str, *, pure: bool = False) -> Step:
        """A step whose results are 0, because `sentence` had to be assumed.

        Results of a `pure` operation follow from its operands: where all threads share these, they share what
        is assumed.
        """
        values, provenance = self.machine.values, self.machine.provenance
        targets = [self.slots[v] for v in op.results]
        sources = [self.slots[v] for v in op.operands]
        reasons = self.machine.reasons
        bit = reasons.bit(kind, sentence)

        def shared(slot: int) -> bool:
            loaded = isinstance(values[slot], Data) and reasons.worst(provenance[slot]) == "uniform"
            return loaded or values[slot].__class__ is int

        def run() -> None:
            bits = bit
            if pure and all(shared(slot) for slot in sources):
                bits = reasons.bit("uniform", f"{sentence} on what all threads share is taken for 0")
            bits |= self.machine.rests_of(sources)
            for slot in targets:
                values[slot], provenance[slot] = 0, bits

        return run

    def constant(self, op: Operation, value: Value) -> Step:
        """A step whose results are a known value."""
        values, provenance = self.machine.values, self.machine.provenance
        targets = [self.slots[v] for v in op.results]

        def run() -> None:
            for slot in targets:
                values[slot], provenance[slot] = value, 0

        return run

    def binary(self, op: Operation, function: Callable[[Any, Any, int], Any]) -> Step:
        """A step of two operands and one result, element by element: `function(x, y, bits of an element)`."""
        values, provenance = self.machine.values, self.machine.provenance
        a, b, out = self.slots[op.operands[0]], self.slots[op.operands[1]], self.slots[op.results[0]]
        bits = parse_type(op.results[0].type).element_bits

        def run() -> None:
            x, y = values[a], values[b]
            provenance[out] = provenance[a] | provenance[b]
            if x.__class__ is int and y.__class__ is int:
                values[out] = function(x, y, bits)
            elif isinstance(x, tuple) or isinstance(y, tuple):
                values[out] = _each(function, x, y, bits)
            else:
                values[out] = function(number(x), number(y), bits)

        return run

    def watched(self, op: Operation, function: Callable[[Any, Any, int], Any]) -> Step:
        """`binary` of 32 bits; the provenance of its result says if it overflowed for an active thread."""
        machine, values, provenance = self.machine, self.machine.values, self.machine.provenance
        a, b, out = self.slots[op.operands[0]], self.slots[op.operands[1]], self.slots[op.results[0]]

        def run() -> None:
            exact = function(number(values[a]), number(values[b]), 64)
            values[out], provenance[out] = wrap(exact, 32), provenance[a] | provenance[b]
            lost = values[out] != exact
            if lost is not False and np.any(lost if machine.mask is None else lost & machine.mask):
                provenance[out] |= machine.overflow

        return run

    def apply(self, op: Operation, function: Callable[..., Iterable[Value]], most: int | None = None) -> Step:
        """A step of the operands, or the first `most` of them: `function(*operands)` gives the results."""
        machine, values, provenance = self.machine, self.machine.values, self.machine.provenance
        sources, outs = [self.slots[v] for v in op.operands[:most]], [self.slots[v] for v in op.results]

        def run() -> None:
            bits = machine.rests_of(sources)
            for slot, value in zip(outs, function(*(values[slot] for slot in sources)), strict=True):
                values[slot], provenance[slot] = value, bits

        return run

    def unary(self, op: Operation, function: Callable[[Value], Value]) -> Step:
        """A step of one operand and one result that cannot be parts."""
        values, provenance = self.machine.values, self.machine.provenance
        a, out = self.slots[op.operands[0]], self.slots[op.results[0]]

        def run() -> None:
            values[out], provenance[out] = function(values[a]), provenance[a]

        return run


def _each(function: Any, x: Value, y: Value, bits: int) -> Value:
    count = len(x) if isinstance(x, tuple) else len(y)
    xs = x if isinstance(x, tuple) else (x,) * count
    ys = y if isinstance(y, tuple) else (y,) * count
    return tuple(function(number(p), number(q), bits) for p, q in zip(xs, ys, strict=False))
