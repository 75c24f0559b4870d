"""LC248 tma-element-stride: a convolution's stride does not fit the tensor map of an im2col copy."""

from __future__ import annotations

from layoutcheck.atoms.tma.limits import violations
from layoutcheck.atoms.tma.plan import gmem_side
from layoutcheck.rules.rule import Analysis, Findings, Where, demanded, make_rule
from layoutcheck.rules.tma import EFFECTS, whole_tma


@make_rule("wrong", explains=EFFECTS)
def rule(analysis: Analysis) -> Findings:
    """A step above 8, where it is met."""
    found = whole_tma(analysis)
    if found is None or analysis.effect is None:
        return
    for bad in violations(found.map):
        if bad.field != "elementStrides":
            continue
        given, kept = list(found.map.element_strides), list(found.stored.element_strides)
        yield rule.finding(
            f"the stride of {bad.value} does not fit the tensor map",
            f"elementStrides are {given} (C first), and each must be {bad.demand}. The tensor map that the DSL stores has {kept}.",
            Where(gmem_side(analysis.copy)),
            demanded(bad.field, bad.value, bad.demand, bad.source, stored=kept),
        )
        return
