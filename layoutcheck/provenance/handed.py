"""Steps of `Bare`: what operations on registers do to labels, and the readers that are no stores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from layoutcheck.dsl.lowered.machine import Step
from layoutcheck.dsl.lowered.needed import NUMBER
from layoutcheck.dsl.lowered.types import parse_type
from layoutcheck.dsl.lowered.values import number
from layoutcheck.provenance.labels import CLEAN, is_bare, labelled, labels_of
from layoutcheck.provenance.matrix import is_wgmma, scale_of
from layoutcheck.provenance.refs import Array, Refs
from layoutcheck.provenance.sliced import parts_of
from layoutcheck.sources.mlir import Operation

if TYPE_CHECKING:
    from layoutcheck.provenance.bare import Bare

UNSURE = "what only a run knows decides whether they are written, or stored"


@dataclass(eq=False, slots=True)
class Multiplied:
    """A product of which nothing has written any register of operand `letter`, in any of the threads."""

    op: Operation
    letter: str
    thread: int


def ends(on: Bare, op: Operation) -> Step:
    """An operation that labels are not followed through: its results count as written, and that is said."""
    machine, values = on.machine, on.machine.values
    inner = on.inner(op) if any(on.slice.levels.get(v) == NUMBER for v in op.results) else None
    slots = [(on.slots[v], max(1, parse_type(v.type).size_bytes)) for v in op.operands]
    name = "inline PTX" if "inline" in op.name else op.name.removeprefix("nvvm.").removeprefix("llvm.")
    why = f"what {name} makes of them"

    def run() -> None:
        if inner is not None:
            inner()
        if not machine.reached or why in on.left:
            return
        rows = slice(None) if machine.mask is None else machine.mask
        for slot, size in slots:
            held = values[slot]
            if (
                is_bare(held)
                and np.broadcast_to(labels_of(held, size), (on.launch.threads, size))[rows].any()
            ):
                on.left[why] = None

    return run


def product(on: Bare, op: Operation) -> Step:
    """A product: operands of which nothing has written any register are noted."""
    machine, values = on.machine, on.machine.values
    parts = {
        letter: [(on.slots[v], parse_type(v.type).size_bytes) for v in part]
        for letter, part in parts_of(op).items()
    }
    scale = [on.slots[v] for v in scale_of(op)] if is_wgmma(op) else []

    def run() -> None:
        threads = np.ones(on.launch.threads, bool) if machine.mask is None else machine.mask
        for letter, part in parts.items():
            active = threads
            bits = 0
            if letter == "C" and scale:
                active = active & (np.asarray(number(values[scale[0]])) != 0)
                bits = machine.provenance[scale[0]]
            rows = np.flatnonzero(active)
            if not rows.size or not part or not machine.reached or (op, letter) in on.products:
                continue
            every = all(is_bare(values[s]) for s, _ in part) and all(
                (np.broadcast_to(labels_of(values[s], n), (len(active), n))[rows] != 0).all() for s, n in part
            )
            bits |= machine.rests_of(slot for slot, _ in part)
            if every and on.sure(bits):
                on.products[op, letter] = Multiplied(op, letter, int(rows[0]))
            elif every:
                on.left[UNSURE] = None

    return run


def carried(on: Bare, op: Operation) -> Step:
    """An operation on registers: what `carry` does to labels; a choice and a shuffle by their numbers."""
    values, provenance = on.machine.values, on.machine.provenance
    if op.name == "nvvm.shfl.sync":
        return _shuffle(on, op)
    chosen, function = op.name.endswith(".select"), labelled(op)
    sources = [(on.slots[v], max(1, parse_type(v.type).size_bytes)) for v in op.operands]
    outs = [on.slots[v] for v in op.results]

    def run() -> None:
        bare = [slot for slot, _ in sources if is_bare(values[slot])]
        if not bare:
            for slot in outs:
                values[slot], provenance[slot] = CLEAN, 0
            return
        taken = [labels_of(values[s], n) for s, n in sources]
        bits = on.machine.rests_of((*bare, sources[0][0]) if chosen else bare)
        found = [_chosen(values[sources[0][0]], *taken[1:])] if chosen else function(taken)
        for slot, at in zip(outs, found, strict=True):
            values[slot], provenance[slot] = Refs(at), bits

    return run


def _chosen(condition: Any, yes: Array, no: Array) -> Array:
    parts = [
        np.asarray(number(one)).reshape(-1, 1)
        for one in (condition if isinstance(condition, tuple) else (condition,))
    ]
    mask = np.concatenate(np.broadcast_arrays(*parts), 1) & 1 != 0
    return np.where(np.repeat(mask, yes.shape[1] // mask.shape[1], 1), yes, no)


def _shuffle(on: Bare, op: Operation) -> Step:
    values, provenance = on.machine.values, on.machine.provenance
    a, out = on.slots[op.operands[1]], on.slots[op.results[0]]
    inner, width = on.inner(op), parse_type(op.results[0].type).size_bytes
    own = np.arange(on.launch.threads, dtype=np.int64)

    def run() -> None:
        kept, rests = values[a], provenance[a]
        at = labels_of(kept, width)
        values[a], provenance[a] = own, 0
        inner()
        source, bits = np.broadcast_to(np.asarray(number(values[out])), own.shape), provenance[out]
        values[a], provenance[a] = kept, rests
        values[out] = Refs(np.broadcast_to(at, (len(own), width))[source])
        provenance[out] = rests | bits if at.any() else 0

    return run
