"""LC107 predicate-shape: the predicate does not fit the copy."""

from __future__ import annotations

from layoutcheck.algebra import parse_tree
from layoutcheck.copies.predicate import surplus
from layoutcheck.rules.rule import Analysis, Findings, make_rule, refusal, refused

KINDS = ("pred_space", "pred_dynamic_shape", "pred_rank", "pred_shape", "pred_width")


@make_rule("rejected")
def rule(analysis: Analysis) -> Findings:
    """The compiler's own refusal, in terms of the copy."""
    if said := refusal(analysis, *KINDS):
        shape = said.evidence.get("want")
        more = surplus(parse_tree(shape), parse_tree(said.evidence["got"])) if shape else ""
        more = f"{more}. " if more else ""
        wanted = f"shape {shape}" if shape else "the sizes of the source's rest modes"
        yield refused(
            rule,
            said,
            "the predicate does not fit the copy",
            f"{said.message}. {more}It needs one entry for each atom: {wanted}.",
        )
