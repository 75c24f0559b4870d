"""LC190 compiler-aborts: the compiler process dies on this copy instead of refusing it."""

from __future__ import annotations

from layoutcheck.findings import plain
from layoutcheck.rules.rule import Analysis, Findings, Where, make_rule


def find(analysis: Analysis) -> Findings:
    """The compiler's own refusal, in terms of the copy."""
    said = analysis.prediction
    if said.outcome != "aborts":
        return
    yield RULE.finding(
        "the compiler process dies on this copy",
        said.message,
        Where(said.operand),
        {"compiler": said.message, **plain(said.evidence)},
    )


RULE = make_rule("rejected", find)
