"""LC191 fails-later: the verifier accepts the copy and a later pass of the compiler fails on it."""

from __future__ import annotations

from layoutcheck.copies.offsets import CompilerFails
from layoutcheck.rules.rule import Analysis, Findings, Where, make_rule


@make_rule("rejected")
def rule(analysis: Analysis) -> Findings:
    """Forms for which there is no instruction, found when the instructions are worked out."""
    if isinstance(analysis.obstacle, CompilerFails):
        reason = analysis.obstacle.message
        yield rule.finding(
            "accepted by the verifier, refused by code generation",
            f"{reason[0].upper() + reason[1:]}.",
            Where("atom"),
        )
