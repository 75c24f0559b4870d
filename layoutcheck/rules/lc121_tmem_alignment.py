"""LC121 tmem-alignment: the base address in tensor memory is not known to be an even column."""

from __future__ import annotations

from layoutcheck.rules.rule import Analysis, Findings, make_rule, refusal, refused


@make_rule("rejected")
def rule(analysis: Analysis) -> Findings:
    """The verifier's own refusal."""
    if said := refusal(analysis, "tmem_alignment"):
        yield refused(rule, said, "the base in tensor memory is not known to be an even column")
