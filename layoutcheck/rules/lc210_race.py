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


RULE = make_rule(
    "wrong",
    find,
    flagged={
        "src": "(32,8):(8,1)",
        "dst": "(32,8):(4,1)",
        "dtype": "bf16",
        "atom": "universal",
        "bits": 16,
        "thr": "(32,1):(1,0)",
        "val": "(1,8)",
    },
    twin={"dst": "(32,8):(8,1)"},
    symptoms=TITLES,
)
