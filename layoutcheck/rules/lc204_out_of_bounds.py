"""LC204 out-of-bounds: the copy reads or writes bytes outside its views."""

from __future__ import annotations

from layoutcheck.rules.effects import seen, vector_against_v
from layoutcheck.rules.rule import Analysis, Findings, make_rule

TITLES = {
    "outside_src": "the copy reads outside the source",
    "outside_dst": "the copy writes outside the destination",
}


@make_rule("wrong", symptoms=TITLES)
def rule(analysis: Analysis) -> Findings:
    """What was seen, where no rule names the cause."""
    return seen(rule, analysis, TITLES, vector_against_v)
