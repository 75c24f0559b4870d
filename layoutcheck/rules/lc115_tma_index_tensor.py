"""LC115 tma-index-tensor: a tensor of a gather4 or scatter4 does not have two modes, or there are too few indices."""

from __future__ import annotations

from layoutcheck.findings import plain
from layoutcheck.rules.rule import Analysis, Findings, Where, make_rule, refusal


@make_rule("rejected")
def rule(analysis: Analysis) -> Findings:
    """What the DSL refuses of the index tensor and of the rank."""
    said = refusal(analysis, "tma_index")
    if said is None:
        return
    yield rule.finding(
        "the operands are not a tensor of rows with an index for each row",
        f"The compiler says: {said.message}.",
        Where(said.operand),
        plain(said.evidence),
    )
