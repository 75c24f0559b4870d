"""LC120 tcgen05-form: there is no tcgen05 instruction of this shape and repetition."""

from __future__ import annotations

from layoutcheck.rules.rule import Analysis, Findings, make_rule, refusal, refused


@make_rule("rejected")
def rule(analysis: Analysis) -> Findings:
    """The type's own refusal."""
    if said := refusal(analysis, "tcgen05_form"):
        why = f"{analysis.copy.atom}: {said.message.rstrip('.')}."
        yield refused(rule, said, "no tcgen05 instruction has this shape and repetition", why, "atom")
