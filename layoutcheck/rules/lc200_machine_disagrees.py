"""LC200 machine-disagrees: the compiler accepts the copy, but the emitted instructions do not do what the layouts say."""

from __future__ import annotations

from layoutcheck.rules.effects import evidence, occurred, sentence, where
from layoutcheck.rules.rule import Analysis, Findings, make_rule


@make_rule("wrong")
def rule(analysis: Analysis) -> Findings:
    """Any difference that no other rule explained; `check` asks this rule last."""
    kinds = sorted(occurred(analysis), key=lambda kind: kind not in ("wrong", "missing"))
    if not kinds:
        return
    yield rule.finding(
        "the machine does not do what the layouts say",
        " ".join(filter(None, (sentence(analysis, kind) for kind in kinds))),
        where(analysis, kinds[0]),
        evidence(analysis, *kinds),
    )
