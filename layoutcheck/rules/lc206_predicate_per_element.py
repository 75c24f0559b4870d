"""LC206 predicate-per-element: the predicate has an entry for each element, and most of them are never read."""

from __future__ import annotations

from layoutcheck.rules.effects import evidence, occurred, where
from layoutcheck.rules.rule import Analysis, Findings, make_rule

EXPLAINS = ("guard",)


@make_rule("wrong", explains=EXPLAINS)
def rule(analysis: Analysis) -> Findings:
    """A predicate that guards elements by entries of other elements."""
    copy = analysis.copy
    if copy.pred is None or "guard" not in occurred(analysis):
        return
    assert analysis.effect is not None and analysis.worst is not None
    run = analysis.worst.execution
    bits = analysis.width_bits or run.target.width * run.unit_bits
    yield rule.finding(
        "the predicate has one entry for each element, but the machine reads one for each vector",
        f"pred {copy.pred.layout} names an entry for every element; one {bits}-bit instruction moves {bits // copy.src.dtype.bits} elements and reads only the first of their entries: {analysis.effect['guard']} bytes follow an entry that is not their own.",
        where(analysis, "guard", "pred"),
        evidence(analysis, "guard"),
    )
