"""LC290 promise: the verdict holds only if the alignment promised in the types is true."""

from __future__ import annotations

from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.modes import dotted, leaves
from layoutcheck.analysis.vector import NAMES
from layoutcheck.rules.rule import Analysis, Findings, Where, make_rule


@make_rule("note")
def rule(analysis: Analysis) -> Findings:
    """The alignment and divisibility promises that a working copy of more than one element relies on."""
    if (
        not analysis.accepted
        or analysis.width_bytes * 8 <= analysis.copy.src.dtype.bits
        or analysis.worst is not None
    ):
        return
    for side in ("src", "dst"):
        memref = analysis.copy.whole(side)
        if memref.space not in ("gmem", "generic") or memref.align_bytes is None:
            continue
        promises = [f"the address is a multiple of {memref.align_bytes} B"]
        guards = [f"tensor.data_ptr() % {memref.align_bytes} == 0"]
        for path, _, stride in leaves(memref.layout):
            if isinstance(stride, Dynamic) and stride.divisor > 1:
                promises.append(f"the stride of mode {dotted(path)} is a multiple of {stride.divisor}")
                guards.append(f"tensor.stride({path[0] if path else 0}) % {stride.divisor} == 0")
        yield rule.finding(
            f"the verdict holds while the {NAMES[side]}'s promises do: {' and '.join(promises)}",
            f"Nothing checks it at run time: assert {' and '.join(guards)}.",
            Where(side),
            {"promises": promises},
        )
