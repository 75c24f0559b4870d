"""LC201 scattered-vector: one instruction moves adjacent bytes where the layouts ask for scattered ones."""

from __future__ import annotations

from layoutcheck.analysis.vector import (
    NAMES,
    atom_v,
    describe,
    elements,
    find_break,
    vector_sides,
    width_bits,
)
from layoutcheck.rules.effects import evidence, occurred, sentence, where
from layoutcheck.rules.rule import Analysis, Findings, make_rule

EXPLAINS = ("wrong", "missing", "outside_src", "outside_dst", "race")


@make_rule("wrong", explains=EXPLAINS)
def rule(analysis: Analysis) -> Findings:
    """An accepted copy that moves other bytes than asked because V is scattered, by static strides."""
    copy = analysis.resolved
    if copy.atom is not None and copy.atom.by_engine:  # LC221 and LC223
        return
    if not occurred(analysis) & {"wrong", "missing", "outside_src", "outside_dst"} or elements(copy) < 2:
        return
    sizes = [size for side in vector_sides(copy) if (size := atom_v(copy, side)) is not None]
    within = min([elements(copy), *sizes])  # past V's own elements it is no question of strides
    for side in vector_sides(copy):
        found = find_break(copy, side, within)
        if found is None or found.is_dynamic:
            continue
        yield rule.finding(
            f"one {width_bits(copy)}-bit instruction moves adjacent bytes, but the {NAMES[side]}'s values are scattered",
            f"{describe(found, copy)}. The compiler accepts it. {sentence(analysis, 'wrong', 'missing')}",
            where(analysis, "wrong", side, found.path),
            {
                "elements": elements(copy),
                "adjacent": found.element,
                "stride": found.stride,
                **evidence(analysis, *EXPLAINS),
            },
        )
