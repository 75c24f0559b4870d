"""LC110 bulk-size: the two layouts share no contiguous run of bytes of the size that the bulk copy moves."""

from __future__ import annotations

from layoutcheck.rules.rule import Analysis, Findings, make_rule, refusal, refused


@make_rule("rejected")
def rule(analysis: Analysis) -> Findings:
    """The compiler's own refusal, in terms of the copy."""
    if said := refusal(analysis, "bulk_minimum", "bulk_grain", "bulk_width"):
        run = said.evidence["common_elements"]
        together = f"keep {run} element{'s' if run != 1 else ''} together from the first on"
        title = "the two layouts share no run of bytes that this bulk copy could move"
        why = f"{said.message}. {analysis.copy.src.layout} and {analysis.copy.dst.layout} {together}."
        yield refused(rule, said, title, why, "atom")
