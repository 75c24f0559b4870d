"""LC106 element-width: the element types of the two sides differ in width, or the atom cannot hold them."""

from __future__ import annotations

from layoutcheck.rules.rule import Analysis, Findings, make_rule, refusal, refused


@make_rule("rejected")
def rule(analysis: Analysis) -> Findings:
    """The compiler's own refusal, in terms of the copy."""
    if said := refusal(analysis, "element_width", "npow2_sub_byte"):
        title = f"{analysis.copy.src.dtype} to {analysis.copy.dst.dtype}: this copy does not support these element types"
        yield refused(rule, said, title, f"{said.message}. A copy moves bits and converts nothing.")
