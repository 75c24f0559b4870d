"""Steps of operations on registers: arithmetic and moves (`carry`), shuffles, and what is not followed."""

from __future__ import annotations

from functools import partial

import numpy as np

from layoutcheck.dsl.lowered.machine import Step
from layoutcheck.dsl.lowered.types import parse_type
from layoutcheck.dsl.lowered.values import number
from layoutcheck.provenance.carry import carry, multiplies
from layoutcheck.provenance.refs import UNKNOWN, Array, Refs, met_places, refs_of
from layoutcheck.provenance.tracker import Tracker
from layoutcheck.sources.mlir import Operation


def lost(on: Tracker, op: Operation) -> Step:
    """What reaches memory in a way that is not followed; its results are unknown."""
    inner, values = on.inner(op), on.machine.values
    outs = [(on.slots[v], parse_type(v.type)) for v in op.results if v not in on.addresses]

    def run() -> None:
        inner()
        for slot, kind in outs:
            if kind.size_bytes and kind.kind != "pointer":
                values[slot] = Refs(np.full((1, kind.size_bytes), UNKNOWN, np.int64))

    return run


def carried(on: Tracker, op: Operation) -> Step:
    """An operation that reaches no memory: what `carry` does to references."""
    function, values, provenance = (
        carry(op, partial(on.combined, times=multiplies(op))),
        on.machine.values,
        on.machine.provenance,
    )
    sources = [(on.slots[v], parse_type(v.type)) for v in op.operands]
    outs = [on.slots[v] for v in op.results]
    given = [(slot, max(1, kind.size_bytes)) for slot, kind in sources]
    times = multiplies(op) and len(given) > 1 and given[0][1] == given[1][1]

    def run() -> None:
        taken = [refs_of(values[s], n) for s, n in given]
        if times:
            meet(on, *np.broadcast_arrays(taken[0], taken[1]))
        for slot, at in zip(outs, function(taken), strict=True):
            values[slot], provenance[slot] = Refs(at), on.unsaid

    return run


def counted(on: Tracker, op: Operation) -> Step:
    """Arithmetic of floats that an address may rest on: a number as long as no element comes into it."""
    inner, follows, values = on.inner(op), carried(on, op), on.machine.values
    slots = [on.slots[v] for v in op.operands]

    def run() -> None:
        if any(isinstance(values[slot], Refs) for slot in slots):
            follows()
        else:
            inner()

    return run


def taking(on: Tracker, op: Operation, step: Step) -> Step:
    """The step, noting what threads that run take: the first byte of each operand."""
    machine, slots = on.machine, [on.slots[v] for v in op.operands if v in on.slots]

    def run() -> None:
        if machine.reached:
            for value in (machine.values[slot] for slot in slots):
                if isinstance(value, Refs):
                    at = value.at[:, 0]
                    on.taken.append(at if machine.mask is None or len(at) == 1 else at[machine.mask])
        step()

    return run if slots else step


def meet(on: Tracker, a: Array, b: Array) -> None:
    """Note which elements are multiplied by one another."""
    which = met_places(a, b)
    if which.any():
        on.met.append(np.unique(np.stack([a[which], b[which]]), axis=1))


def shuffle(on: Tracker, op: Operation) -> Step:
    """`shfl.sync`: the lanes' own numbers go through the evaluator's step, and say whose value comes."""
    values, a, out = on.machine.values, on.slots[op.operands[1]], on.slots[op.results[0]]
    inner, width = on.inner(op), parse_type(op.results[0].type).size_bytes
    own = np.arange(on.threads, dtype=np.int64)

    def run() -> None:
        at, kept = refs_of(values[a], width), values[a]
        values[a] = own
        inner()
        source = np.broadcast_to(np.asarray(number(values[out])), own.shape)
        values[a] = kept
        values[out] = Refs(np.broadcast_to(at, (on.threads, width))[source])

    return run
