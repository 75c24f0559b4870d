"""What the lanes of a warp tell each other: shuffles, elections, votes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from layoutcheck.dsl.lowered.machine import Step
from layoutcheck.dsl.lowered.record import Data
from layoutcheck.dsl.lowered.steps import Steps
from layoutcheck.dsl.lowered.values import number, wrap
from layoutcheck.machine.arch import WARP
from layoutcheck.sources.mlir import Operation

_KIND = re.compile(r"<(?:\w+\s+)?(\w+)>")


def _shuffle(steps: Steps, op: Operation) -> Step:
    """`nvvm.shfl.sync`: PTX ISA, shfl.sync."""
    values, provenance = steps.machine.values, steps.machine.provenance
    _, a, b, c = (steps.slots[v] for v in op.operands[:4])
    out = steps.slots[op.results[0]]
    match = _KIND.search(op.attributes.get("kind", ""))
    shared = steps.machine.shared_by_warp
    kind, lane = match[1] if match else "idx", steps.machine.lane

    def run() -> None:
        value, by, clamp = values[a], number(values[b]), number(values[c])
        one_lane = kind == "idx" and steps.machine.same_by_warp(by)
        provenance[out] = (
            (shared(provenance[a]) if one_lane else provenance[a]) | provenance[b] | provenance[c]
        )
        held = value if isinstance(value, tuple) else number(value)
        if not isinstance(held, np.ndarray):
            values[out] = value
            return
        segment, limit = (clamp >> 8) & 31, clamp & 31
        low = lane & segment
        high = low | (limit & ~segment)
        if kind == "idx":
            source = low | (by & ~segment & 31)
        else:
            source = lane ^ by if kind == "bfly" else lane + by if kind == "down" else lane - by
        inside = source >= high if kind == "up" else source <= high
        source = np.where(inside, source, lane)
        thread = np.arange(lane.size)
        held = held[np.minimum(thread - lane + source, lane.size - 1)]
        values[out] = replace(value, number=held) if isinstance(value, Data) else held

    return run


def _elect(steps: Steps, op: Operation) -> Step:
    """`nvvm.elect.sync`: one lane of each warp, the lowest active one."""
    machine = steps.machine
    outs = [steps.slots[v] for v in op.results]
    lowest = (machine.lane == 0).astype(np.int64)

    def run() -> None:
        leader, active = lowest, machine.mask
        if active is not None:
            warps = np.zeros((-(-active.size // 32), 32), bool)
            warps.ravel()[: active.size] = active
            first = warps.argmax(axis=1)[:, None] == np.arange(32)
            leader = (first & warps).ravel()[: active.size].astype(np.int64)
        for slot in outs:
            machine.values[slot], machine.provenance[slot] = leader, 0

    return run


def _vote(steps: Steps, op: Operation) -> Step:
    values, provenance, machine = steps.machine.values, steps.machine.provenance, steps.machine
    a, out = steps.slots[op.operands[-1]], steps.slots[op.results[0]]
    kind = op.attributes.get("kind", "")

    def run() -> None:
        count = machine.lane.size
        votes, on = np.zeros((2, -(-count // WARP), WARP), bool)
        votes.ravel()[:count] = np.asarray(number(values[a])) & 1
        on.ravel()[:count] = True if machine.mask is None else machine.mask
        if "ballot" in kind:
            found = wrap((votes & on) @ (1 << np.arange(WARP)), 32)
        else:
            found = (votes & on).any(axis=1) if "any" in kind else (votes | ~on).all(axis=1)
        result = np.repeat(found, WARP)[:count].astype(np.int64)
        values[out] = int(result[0]) if bool((result == result[0]).all()) else result
        provenance[out] = machine.shared_by_warp(provenance[a])
        if machine.reasons.worst(provenance[out]) == "blocked":  # not known, but one value for the warp
            provenance[out] = machine.reasons.bit(
                "uniform", "what the lanes of a warp vote on is taken for 0"
            )

    return run


MAKERS: dict[str, Callable[[Steps, Operation], Step]] = {
    "nvvm.shfl.sync": _shuffle,
    "nvvm.elect.sync": _elect,
    "nvvm.vote.sync": _vote,
}  # fmt: skip
