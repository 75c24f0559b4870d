"""LC190 compiler-aborts: the compiler process dies on this copy instead of refusing it."""

from __future__ import annotations

from layoutcheck.findings import plain
from layoutcheck.rules.rule import Analysis, Findings, Where, make_rule


@make_rule("rejected")
def rule(analysis: Analysis) -> Findings:
    """The compiler's own refusal, in terms of the copy."""
    said = analysis.prediction
    if said.outcome != "aborts":
        return
    yield rule.finding(
        "the compiler process dies on this copy",
        said.message,
        Where(said.operand),
        {"compiler": said.message, **plain(said.evidence)},
    )
