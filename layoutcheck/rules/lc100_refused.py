"""LC100 refused: the compiler refuses the copy with a message that no other rule explains."""

from __future__ import annotations

from layoutcheck.rules.rule import Analysis, Findings, make_rule, refusal, refused


def find(analysis: Analysis) -> Findings:
    """Any refusal; `check` asks this rule where no other has spoken."""
    if said := refusal(analysis):
        yield refused(RULE, said, "the compiler refuses the copy")


RULE = make_rule("rejected", find)
