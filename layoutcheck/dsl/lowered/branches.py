"""Branches: `scf.if` and `scf.index_switch` over all threads of a block.

Where no thread takes a branch, it is still tried, once, as if all did, and its stores are undone: what stands
only there is recorded as not reached.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from layoutcheck.dsl.lowered.flow import Flow, Maker
from layoutcheck.dsl.lowered.machine import Step
from layoutcheck.dsl.lowered.needed import terminator
from layoutcheck.dsl.lowered.values import Value, number, select
from layoutcheck.sources.mlir import Operation, integers


class Branch(NamedTuple):
    """What runs, the slots to copy at its end, and the tags in it."""

    steps: list[Step]
    moves: list[tuple[int, int]]
    tags: frozenset[str]


_NOTHING = Branch([], [], frozenset())


def _if(flow: Flow, op: Operation, fast: bool) -> Step:
    machine, condition = flow.machine, flow.slots[op.operands[0]]
    branches = [_branch(flow, op, region, fast) for region in op.regions]
    if len(branches) == 1:
        branches.append(_NOTHING)

    own = flow.made_by(op) != ""  # the copy's own predicate: its addresses count, whoever it lets through
    nobody = np.zeros(machine.launch.threads, bool)

    def run() -> None:
        taken = number(machine.values[condition])
        bits = machine.provenance[condition]
        if own and not fast and isinstance(taken, int) and not taken & 1:
            _take(flow, branches[0], nobody, bits)
        if isinstance(taken, int):
            chosen = 0 if taken & 1 else 1
            _take(flow, branches[chosen], machine.mask, bits)
            if not fast:
                _try(flow, branches[1 - chosen], bits)
            return
        masks = _split(taken.astype(bool), machine.mask)
        ends: list[list[tuple[Value, int]] | None] = []
        for branch, mask in zip(branches, masks, strict=True):
            if mask.any() or (own and not fast and branch is branches[0]):
                _take(flow, branch, mask, bits)
                ends.append([(machine.values[t], machine.provenance[t]) for _, t in branch.moves])
            else:
                ends.append(None)
        if (yes := ends[0]) is not None and (no := ends[1]) is not None:
            for (_, target), (one, a), (other, b) in zip(branches[0].moves, yes, no, strict=True):
                machine.values[target] = select(taken, one, other)
                machine.provenance[target] = a | b | bits
        elif not fast:
            _try(flow, branches[0 if ends[0] is None else 1], bits)

    return run


def _switch(flow: Flow, op: Operation, fast: bool) -> Step:
    """`scf.index_switch`: region 0 is the default, the others have their case."""
    machine, selector = flow.machine, flow.slots[op.operands[0]]
    cases = integers(op.attributes.get("cases", "")) or ()
    branches = [_branch(flow, op, region, fast) for region in op.regions]

    def run() -> None:
        value = number(machine.values[selector])
        bits = machine.provenance[selector]
        chosen = value if isinstance(value, int) else int(value[0])
        if not isinstance(value, int) and not (value == chosen).all():
            machine.notes.add("a switch that threads take differently is followed for the first of them")
        index = cases.index(chosen) + 1 if chosen in cases else 0
        _take(flow, branches[index], machine.mask, bits)
        if not fast:
            for other in branches[:index] + branches[index + 1 :]:
                _try(flow, other, bits)

    return run


def _branch(flow: Flow, op: Operation, region: Any, fast: bool) -> Branch:
    if not region.blocks:
        return _NOTHING
    block = region.blocks[0]
    tags = frozenset() if fast else flow.tags_in(region)
    return Branch(flow.steps(block, fast), flow.moves(terminator(block).operands, op.results, fast), tags)


def _take(flow: Flow, branch: Branch, mask: Any, bits: int) -> None:
    machine = flow.machine
    outer, guard = machine.mask, machine.guard
    machine.mask, machine.guard = mask, guard | bits
    try:
        flow.run(branch.steps)
        flow.move(branch.moves, bits)
    finally:
        machine.mask, machine.guard = outer, guard


def _try(flow: Flow, branch: Branch, bits: int) -> None:
    """Run a branch that is not taken, if something in it was never met, and undo what it did."""
    machine = flow.machine
    if not flow.either(bits):
        if not branch.tags or id(branch.steps) in machine.tried or machine.met(branch.tags):
            return
        machine.tried.add(id(branch.steps))
    flow.pretend(lambda: flow.run(branch.steps), bits)


def _split(taken: Any, mask: Any) -> tuple[Any, Any]:
    return (taken, ~taken) if mask is None else (taken & mask, ~taken & mask)


BRANCHES: dict[str, Maker] = {"scf.if": _if, "scf.index_switch": _switch}
