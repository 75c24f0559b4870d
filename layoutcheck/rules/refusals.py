"""The compiler's own refusals, which the LC1xx rules put into the words of the copy."""

from __future__ import annotations

from layoutcheck.analysis import Analysis
from layoutcheck.copies.compiler.prediction import Prediction
from layoutcheck.findings import Finding, Where, plain
from layoutcheck.rules.rule import Rule


def refusal(analysis: Analysis, *kinds: str) -> Prediction | None:
    """The compiler's answer where it refuses the copy for a reason of these kinds (for any, without)."""
    said = analysis.prediction
    return said if said.outcome == "rejected" and (not kinds or said.kind in kinds) else None


def refused(
    rule: Rule, said: Prediction, title: str, message: str = "", operand: str | None = None
) -> Finding:
    """The refusal as a finding of the rule; in the compiler's own sentence, without a `message`.

    `operand` is where, if not at the operand that the compiler names.
    """
    return rule.finding(
        title,
        message or f"{said.message}.",
        Where(operand or said.operand),
        {"compiler": said.message, **plain(said.evidence)},
    )
