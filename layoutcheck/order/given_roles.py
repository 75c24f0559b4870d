"""Whether what warps load says which of them take part: then no count of those who meet is known.

A branch that all threads take alike, as of a tile that a scheduler hands out, is another thing.
"""

from __future__ import annotations

from collections.abc import Sequence

from layoutcheck.dsl.lowered.evaluate import KERNELS
from layoutcheck.dsl.lowered.needed import SOURCES, Needed, terminator
from layoutcheck.order.problems import Problem
from layoutcheck.order.watched import Watched
from layoutcheck.sources.mlir import Operation, Value

_OWN = ("sreg.tid", "sreg.laneid", "sreg.warpid")
LOADED = "what warps load says which of them take part"
_MEETINGS = ("barrier-shared", "barrier-counts-differ")
_CONDITIONS, _BOTH = ("scf.if", "scf.for", "scf.while", "scf.index_switch"), ("arith.andi", "arith.ori")


class _Made(Needed):
    """What values are made of, without what decides whether that is executed."""

    def _keep(self, op: Operation | None) -> None:
        if op is not None:
            self.operations.add(op)


def by_roles(problem: Problem, blocks: Sequence[Watched]) -> bool:
    """Whether a problem of a named barrier rests on which warps come to it, and they load that."""
    parties = [one for one in (problem.first, problem.second) if one is not None]
    loaded = any(
        kind not in ("static", "arguments")
        for one in parties
        for kind, _ in blocks[one.block].reasons.read(one.event.rests)
    )
    if problem.kind not in _MEETINGS or not loaded:
        return False
    ops = {one.event.meaning.op for one in parties}
    around = {op for one in ops if one is not None for op in one.around() if op.name in _CONDITIONS}
    return any(_by_thread(value) for op in around for value in _condition(op))


def _condition(op: Operation) -> list[Value]:
    ends = terminator(op.regions[0].blocks[0]) if op.name == "scf.while" else op
    return ends.operands[: 3 if op.name == "scf.for" else 1]


def _by_thread(value: Value) -> bool:
    """Whether a number is loaded, and not the same in all threads; each part of a conjunction by itself."""
    made = value.definition
    if made is None:
        return False
    if made.name in _BOTH:
        return any(map(_by_thread, made.operands))
    ops = _Made(made.outer(*KERNELS), [(made, [value], [])]).operations
    loads = any(op.name in SOURCES for op in ops)
    return loads and any(own in op.name for op in ops for own in _OWN)
