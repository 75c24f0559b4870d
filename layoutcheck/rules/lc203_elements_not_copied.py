"""LC203 elements-not-copied: the destination has elements that no instruction writes."""

from __future__ import annotations

from layoutcheck.rules.effects import seen, vector_against_v
from layoutcheck.rules.rule import Analysis, Findings, make_rule

TITLES = {"missing": "part of the destination is never written"}


@make_rule("wrong", symptoms=TITLES)
def rule(analysis: Analysis) -> Findings:
    """What was seen, where no rule names the cause."""
    return seen(rule, analysis, TITLES, _lead)


def _lead(analysis: Analysis) -> str:
    text = vector_against_v(analysis)
    if text and analysis.resolved.dst.spare is not None:
        text += "The compiler drops each vector that is not all in the destination's registers. "
    return text
