"""LC309 tma-boxes: a TMA copy takes more instructions than its tile needs."""

from __future__ import annotations

from layoutcheck.atoms.tma.plan import fewest_boxes, smem_side
from layoutcheck.rules.rule import Analysis, Findings, Where, make_rule
from layoutcheck.rules.tma import whole_tma


@make_rule("slow")
def rule(analysis: Analysis) -> Findings:
    """More boxes than the limits on boxes ask for."""
    found = whole_tma(analysis)
    if found is None or analysis.effect is not None:
        return
    made, ideal = found.plan.boxes, fewest_boxes(analysis.copy)
    if made <= ideal:
        return
    yield rule.finding(
        f"{made} TMA instructions instead of {ideal}",
        f"Boxes of {found.map.box} follow shared memory {found.described.layout}; in atoms as wide as the "
        f"{'swizzle' if found.map.swizzle != 'none' else 'box'} allows the tile takes {ideal}.",
        Where(smem_side(analysis.copy)),
        {"instructions": made, "ideal": ideal, "ratio": round(made / ideal, 1), "box": list(found.map.box)},
    )
