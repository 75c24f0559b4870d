"""LC241 tma-box-skips: a TMA box is cut along an inner dimension and no longer follows the shared layout."""

from __future__ import annotations

from layoutcheck.atoms.tma.descriptor import DRIVER, MOST_BOX
from layoutcheck.atoms.tma.plan import smem_side
from layoutcheck.rules.rule import Analysis, Findings, Where, demanded, make_rule
from layoutcheck.rules.tma import EFFECTS, whole_tma


@make_rule("wrong", explains=EFFECTS)
def rule(analysis: Analysis) -> Findings:
    """A dimension that is cut before another one of several elements."""
    found = whole_tma(analysis)
    if found is None or analysis.effect is None:
        return
    sides = found.plan.sides
    for j, side in enumerate(sides):
        if j and side.extent < side.of and any(later.extent > 1 for later in sides[j + 1 :]):
            yield rule.finding(
                f"dimension {j} of {side.of} elements is cut to {side.extent}, but the dimensions after it are not cut",
                f"A box has at most {MOST_BOX} elements along a dimension, so dimension {j} ({side.of}) is cut to "
                f"{side.extent}; the box {found.map.box} keeps the later dimensions whole, and so does not follow shared memory {found.described.layout}.",
                Where(smem_side(analysis.copy)),
                demanded(f"boxDim[{j}]", side.of, f"1 to {MOST_BOX}", DRIVER, box=list(found.map.box)),
            )
            return
