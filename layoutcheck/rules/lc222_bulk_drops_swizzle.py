"""LC222 bulk-drops-swizzle: a bulk copy ignores the pointer's swizzle."""

from __future__ import annotations

from layoutcheck.analysis.vector import NAMES
from layoutcheck.rules.bulk import bulk_atom
from layoutcheck.rules.effects import evidence, occurred, sentence, where
from layoutcheck.rules.rule import Analysis, Findings, demanded, make_rule

EXPLAINS = ("wrong", "missing", "outside_src", "outside_dst")


@make_rule("wrong", explains=EXPLAINS)
def rule(analysis: Analysis) -> Findings:
    """A bulk copy that goes wrong, with a swizzle on one of its pointers."""
    if bulk_atom(analysis) is None or not occurred(analysis) & set(EXPLAINS):
        return
    for side in ("src", "dst"):
        swizzle = analysis.copy.side(side).swizzle
        if swizzle is None or not swizzle.bits:
            continue
        yield rule.finding(
            f"the bulk copy ignores {swizzle} of the {NAMES[side]}",
            f"It moves bytes one after another; {swizzle} keeps only {swizzle.granule} B together. "
            f"{sentence(analysis, 'wrong', 'missing')}",
            where(analysis, "wrong", side),
            demanded(
                f"{side} swizzle",
                str(swizzle),
                "none: the copy is linear",
                "PTX ISA, cp.async.bulk; the DSL's PTX",
                **evidence(analysis, *EXPLAINS),
            ),
        )
