"""LC105 shape-mismatch: source and destination do not have the same static shape."""

from __future__ import annotations

from layoutcheck.algebra.layout import text
from layoutcheck.rules.rule import Analysis, Findings, make_rule, refusal, refused

_TITLES = {
    "dynamic_shape": "a copy's extents must be known at compile time",
    "rank": "source and destination have different ranks",
    "rest_v_size": "the rest of mode 0 differs in size",
    "mode_size": "source and destination differ in size",
}


@make_rule("rejected")
def rule(analysis: Analysis) -> Findings:
    """The compiler's own refusal, in terms of the copy."""
    if said := refusal(analysis, *_TITLES):
        shapes = f"source {text(analysis.copy.src.layout.shape)} against destination {text(analysis.copy.dst.layout.shape)}"
        yield refused(rule, said, _TITLES[said.kind], f"{shapes}: {said.message}.")
