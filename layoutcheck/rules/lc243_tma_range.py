"""LC243 tma-range: an extent or stride of the global tensor does not fit the tensor map."""

from __future__ import annotations

from layoutcheck.atoms.tma.limits import violations
from layoutcheck.atoms.tma.plan import gmem_side
from layoutcheck.rules.rule import Analysis, Findings, Where, demanded, make_rule
from layoutcheck.rules.tma import EFFECTS, whole_tma


@make_rule("wrong", explains=EFFECTS)
def rule(analysis: Analysis) -> Findings:
    """Fields beyond their range."""
    found = whole_tma(analysis)
    if found is None:
        return
    for bad in violations(found.map):
        if not bad.fits:
            yield rule.finding(
                f"{bad.field} {bad.value} does not fit the tensor map",
                f"{bad.field} is {bad.value}, and must be {bad.demand}; the DSL stores its low bits without a check.",
                Where(gmem_side(analysis.copy)),
                demanded(bad.field, bad.value, bad.demand, bad.source),
            )
            return
