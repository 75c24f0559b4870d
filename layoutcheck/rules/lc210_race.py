"""LC210 race: several threads write different data to the same bytes."""

from __future__ import annotations

from layoutcheck.rules.effects import seen
from layoutcheck.rules.rule import Analysis, Findings, make_rule

TITLES = {
    "race": "several threads write different data to the same bytes",
    "overlap": "the destination's layout gives several elements one address",
}


@make_rule("wrong", symptoms=TITLES)
def rule(analysis: Analysis) -> Findings:
    """Destination bytes that several threads write with different data."""
    return seen(rule, analysis, TITLES)
