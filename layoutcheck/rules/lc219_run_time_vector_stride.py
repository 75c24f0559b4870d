"""LC219 run-time-vector-stride: the stride of V is known only at run time, and the compiler assumes that it is 1."""

from __future__ import annotations

from layoutcheck.analysis.vector import NAMES, describe, elements, find_break, vector_sides
from layoutcheck.rules.effects import evidence, occurred, sentence, where
from layoutcheck.rules.rule import Analysis, Findings, make_rule

EXPLAINS = ("wrong", "missing", "outside_src", "outside_dst", "race")


@make_rule("wrong", explains=EXPLAINS)
def rule(analysis: Analysis) -> Findings:
    """A V whose first strides are dynamic, moved as if they were 1."""
    copy = analysis.resolved
    if not occurred(analysis) & set(EXPLAINS) or elements(copy) < 2:
        return
    for side in vector_sides(copy):
        found = find_break(copy, side)
        if found is None or not found.is_dynamic:
            continue
        never = " It can never be 1." if found.stride.divisor > 1 else ""
        yield rule.finding(
            f"the {NAMES[side]}'s stride of V is known only at run time, and the instruction assumes that it is 1",
            f"{describe(found, copy)}.{never} {sentence(analysis, 'wrong', 'missing')}",
            where(analysis, "wrong", side, found.path),
            {"stride": str(found.stride), **evidence(analysis, *EXPLAINS)},
        )
