"""LC122 operand-kind: the atom takes a descriptor where a tensor is given, or a tensor where a descriptor is given."""

from __future__ import annotations

from layoutcheck.rules.rule import Analysis, Findings, make_rule, refusal, refused


@make_rule("rejected")
def rule(analysis: Analysis) -> Findings:
    """The verifier's own refusal."""
    if said := refusal(analysis, "operand_kind"):
        yield refused(rule, said, "the atom takes another kind of operand")
