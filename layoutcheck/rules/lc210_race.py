"""LC210 race: several threads write different data to the same bytes."""

from __future__ import annotations

from layoutcheck.rules.effects import seen
from layoutcheck.rules.rule import Analysis, Findings, make_rule

TITLES = {
    "race": "several threads write different data to the same bytes",
    "overlap": "the destination's layout gives several elements one address",
}


def find(analysis: Analysis) -> Findings:
    """Destination bytes that several threads write with different data."""
    return seen(RULE, analysis, TITLES)


RULE = make_rule("wrong", find, symptoms=TITLES)
