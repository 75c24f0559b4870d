"""Pointers: arithmetic, address spaces, and where variables lie."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from layoutcheck.dsl.lowered import spaces
from layoutcheck.dsl.lowered.allocations import PERIOD, allocations, end_of, place, symbol, symbols
from layoutcheck.dsl.lowered.machine import Step
from layoutcheck.dsl.lowered.steps import Steps
from layoutcheck.dsl.lowered.types import SHARED, parse_type
from layoutcheck.dsl.lowered.values import Value, number
from layoutcheck.sources.mlir import Operation, integer, integers

_DYNAMIC = -(1 << 31)  # how rawConstantIndices marks an index that is an operand


def _element_pointer(steps: Steps, op: Operation) -> Step:
    """`llvm.getelementptr`: the first index counts whole elements, the others step into them."""
    values, provenance = steps.machine.values, steps.machine.provenance
    base, out = steps.slots[op.operands[0]], steps.slots[op.results[0]]
    indices = integers(op.attributes.get("rawConstantIndices", "")) or ()
    kind = parse_type(op.attributes.get("elem_type", "i8"))
    constant = 0
    dynamic: list[tuple[int, int]] = []  # (slot, bytes a step)
    operands = iter(op.operands[1:])
    for position, index in enumerate(indices):
        step = kind.size_bytes if position == 0 else 0
        if position and kind.kind == "struct":
            constant += kind.offset(index)
            kind = kind.part(index)
            continue
        if position:
            kind = kind.part(0) if kind.parts else kind
            step = kind.size_bytes
        if index == _DYNAMIC:
            dynamic.append((steps.slots[next(operands)], step))
        else:
            constant += index * step
    if not dynamic:
        return steps.unary(op, lambda v: number(v) + constant)
    if len(dynamic) == 1:
        ((slot, step),) = dynamic

        def run() -> None:
            values[out] = number(values[base]) + number(values[slot]) * step + constant
            provenance[out] = provenance[base] | provenance[slot]

        return run

    each = [step for _, step in dynamic]

    def moved(start: Value, *by: Value) -> tuple[Value]:
        return (sum((number(n) * step for n, step in zip(by, each, strict=True)), number(start) + constant),)

    return steps.apply(op, moved)


def _space_cast(steps: Steps, op: Operation) -> Step:
    source, target = parse_type(op.operands[0].type).space, parse_type(op.results[0].type).space
    return steps.unary(op, lambda v: spaces.cast(number(v), source, target))


def _rank(steps: Steps, op: Operation) -> Step:
    """`nvvm.mapa`: the same place in the shared memory of another block of the cluster."""
    source, target = parse_type(op.operands[0].type).space, parse_type(op.results[0].type)
    window = spaces.CLUSTER_SHARED if target.kind == "pointer" and target.space != SHARED else 0

    def there(at: Value, rank: Value) -> tuple[Value]:
        return (spaces.of_rank(spaces.cast(number(at), source, SHARED), number(rank)) + window,)

    return steps.apply(op, there)


def _allocate(steps: Steps, op: Operation) -> Step:
    """`llvm.alloca` of shared memory or of registers."""
    machine = steps.machine
    count, out = steps.slots[op.operands[0]], steps.slots[op.results[0]]
    each = parse_type(op.attributes.get("elem_type", "i8")).size_bytes
    align = integer(op.attributes.get("alignment", "1")) or 1
    shared = parse_type(op.results[0].type).space == SHARED

    def run() -> None:
        if op not in machine.begun:
            size = each * int(np.max(number(machine.values[count])))
            if shared:
                start = place(op, align, machine.shared_bytes)
                machine.shared_bytes = max(machine.shared_bytes, start + size)
                if op in machine.placed:
                    start = machine.placed[op].start
                start += machine.launch.rank * spaces.SHARED_BYTES
            else:
                start = machine.registers.allocate(size)
            machine.begun[op] = start
        machine.values[out], machine.provenance[out] = machine.begun[op], 0

    return run


def _address_of(steps: Steps, op: Operation) -> Step:
    """A global symbol: an array in shared memory, behind the allocations, or somewhere in global memory.

    Every array without a size is the one that the launch sizes (CUDA C++ Programming Guide, "__shared__"), in
    which the allocations lie as well (DSL 4.8.1, in PTX). Where there are arrays of a fixed size as well, it
    is evaluated behind these.
    """
    machine, out = steps.machine, steps.slots[op.results[0]]
    if parse_type(op.results[0].type).space != SHARED:
        return steps.constant(op, spaces.object_at(1 << 10))
    top = op
    while top.parent_operation is not None and top.parent_operation.name != "gpu.module":
        top = top.parent_operation
    fixed = symbols(top)
    own = fixed.get(symbol(op))
    end = end_of([*allocations(top).values(), *fixed.values()])
    start = own.start if own is not None else -(-end // PERIOD) * PERIOD if fixed else 0
    what = "a shared array" if own is not None else "dynamic shared memory"
    alone = [own] == [*fixed.values()] and not allocations(top) if own is not None else not fixed
    bit = 0 if alone else machine.reasons.bit("uniform", f"{what} begins behind the static")

    def run() -> None:
        if own is None:
            machine.dynamic = start
        else:
            machine.fixed_bytes = end
        rank = machine.launch.rank * spaces.SHARED_BYTES
        machine.values[out], machine.provenance[out] = rank + start, bit

    return run


MAKERS: dict[str, Callable[[Steps, Operation], Step]] = {
    "llvm.getelementptr": _element_pointer,
    "llvm.addrspacecast": _space_cast,
    "nvvm.mapa": _rank,
    "llvm.alloca": _allocate,
    "llvm.mlir.addressof": _address_of,
}  # fmt: skip
