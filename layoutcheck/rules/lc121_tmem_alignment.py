"""LC121 tmem-alignment: the base address in tensor memory is not known to be an even column."""

from __future__ import annotations

from layoutcheck.rules.rule import Analysis, Findings, make_rule, refusal, refused


def find(analysis: Analysis) -> Findings:
    """The verifier's own refusal."""
    if said := refusal(analysis, "tmem_alignment"):
        yield refused(RULE, said, "the base in tensor memory is not known to be an even column")


RULE = make_rule("rejected", find)
