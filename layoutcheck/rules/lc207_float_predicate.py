"""LC207 float-predicate: the compiler folds a floating-point predicate to false."""

from __future__ import annotations

from layoutcheck.rules.effects import occurred
from layoutcheck.rules.rule import Analysis, Findings, Where, make_rule

EXPLAINS = ("never", "missing", "wrong", "guard")


@make_rule("wrong", explains=EXPLAINS)
def rule(analysis: Analysis) -> Findings:
    """A predicate whose type the compiler folds away."""
    pred = analysis.copy.pred
    if pred is None or "never" not in occurred(analysis):
        return
    fills = analysis.runs[-1].execution.zero_fills
    yield rule.finding(
        f"a predicate of {pred.dtype} is folded to false",
        "The copy never happens" + (": cp.async fills the destination with zeros." if fills else "."),
        Where("pred"),
        {"pred": str(pred), "zero_fills": fills},
    )
