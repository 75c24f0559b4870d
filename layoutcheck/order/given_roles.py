"""Whether what warps load says which of them take part: then no count of those who meet is known.

A branch that all threads take alike, as of a tile that a scheduler hands out, is another thing.
"""

from __future__ import annotations

from collections.abc import Sequence

from layoutcheck.dsl.lowered.evaluate import KERNELS
from layoutcheck.dsl.lowered.needed import BRANCHES, SOURCES, Needed, condition
from layoutcheck.order.problems import Problem
from layoutcheck.order.watched import Watched
from layoutcheck.sources.mlir import Value

_OWN = ("sreg.tid", "sreg.laneid", "sreg.warpid")
LOADED = "what warps load says which of them take part"
_MEETINGS = ("barrier-shared", "barrier-counts-differ")
_BOTH = ("arith.andi", "arith.ori")


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
    around = {op for one in ops if one is not None for op in one.around() if op.name in BRANCHES}
    return any(_by_thread(value) for op in around for value in condition(op))


def _by_thread(value: Value) -> bool:
    """Whether a number is loaded, and not the same in all threads; each part of a conjunction by itself."""
    made = value.definition
    if made is None:
        return False
    if made.name in _BOTH:
        return any(map(_by_thread, made.operands))
    ops = Needed(made.outer(*KERNELS), [(made, [value], [])], guards=False).operations
    loads = any(op.name in SOURCES for op in ops)
    return loads and any(own in op.name for op in ops for own in _OWN)
