"""LC100 refused: the compiler refuses the copy with a message that no other rule explains."""

from __future__ import annotations

from layoutcheck.rules.rule import Analysis, Findings, make_rule, refusal, refused


@make_rule("rejected")
def rule(analysis: Analysis) -> Findings:
    """Any refusal; `check` asks this rule where no other has spoken."""
    if said := refusal(analysis):
        yield refused(rule, said, "the compiler refuses the copy")
