"""LC291 zero-fill: a false predicate of `cp.async` writes zeros; it does not leave the destination alone."""

from __future__ import annotations

from layoutcheck.atoms.cp_async import CpAsync
from layoutcheck.rules.rule import Analysis, Findings, Where, make_rule


def find(analysis: Analysis) -> Findings:
    """Every predicated cp.async that works."""
    if analysis.accepted and analysis.copy.pred is not None and isinstance(analysis.copy.atom, CpAsync):
        yield RULE.finding(
            "where the predicate is false, cp.async fills the destination with zeros",
            "Other atoms skip the copy and leave the destination unchanged.",
            Where("pred"),
        )


RULE = make_rule("note", find)
