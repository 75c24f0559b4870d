"""LC291 zero-fill: a false predicate of `cp.async` writes zeros; it does not leave the destination alone."""

from __future__ import annotations

from layoutcheck.atoms.cp_async import CpAsync
from layoutcheck.rules.rule import Analysis, Findings, Where, make_rule


@make_rule("note")
def rule(analysis: Analysis) -> Findings:
    """Every predicated cp.async that works."""
    if analysis.accepted and analysis.copy.pred is not None and isinstance(analysis.copy.atom, CpAsync):
        yield rule.finding(
            "where the predicate is false, cp.async fills the destination with zeros",
            "Other atoms skip the copy and leave the destination unchanged.",
            Where("pred"),
        )
