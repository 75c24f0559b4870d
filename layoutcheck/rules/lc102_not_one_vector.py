"""LC102 not-one-vector: the values of one instruction are not adjacent on both sides, so no vector can move them."""

from __future__ import annotations

from layoutcheck.analysis.vector import NAMES, describe, elements, find_break, vector_sides, width_bits
from layoutcheck.rules.rule import Analysis, Findings, Where, make_rule

KINDS = ("static_strides_one", "static_strides_match", "dynamic_strides")
ALIGNMENT = ("src_alignment", "dst_alignment")


@make_rule("rejected")
def rule(analysis: Analysis) -> Findings:
    """A refused copy whose values no single instruction could move, whatever the compiler named as the reason."""
    copy = analysis.copy
    if analysis.prediction.outcome != "rejected" or analysis.prediction.kind not in (*KINDS, *ALIGNMENT):
        return
    if elements(copy) < 2:
        return
    breaks = [found for side in vector_sides(copy) if (found := find_break(copy, side)) is not None]
    if not breaks:
        return
    worst = min(breaks, key=lambda found: found.element)
    fine = [side for side in vector_sides(copy) if find_break(copy, side) is None]
    other = f" The {NAMES[fine[0]]}'s are adjacent." if fine else ""
    yield rule.finding(
        f"the values of one {width_bits(copy)}-bit copy are not adjacent in the {NAMES[worst.side]}",
        f"{describe(worst, copy)}.{other}",
        Where(worst.side, worst.path, 0, worst.element),
        {
            "elements": elements(copy),
            "adjacent": worst.element,
            "stride": str(worst.stride),
            "compiler": analysis.prediction.message,
        },
    )
