"""LC216 size-not-compared: source and destination differ in size, and the compiler does not compare them."""

from __future__ import annotations

from layoutcheck.atoms.matrix import LdMatrix, StMatrix
from layoutcheck.atoms.s2t import S2TCopy
from layoutcheck.atoms.tmem import TmemLoad, TmemStore
from layoutcheck.digits import many
from layoutcheck.rules.effects import evidence, sentence, where
from layoutcheck.rules.rule import Analysis, Findings, make_rule

EXPLAINS = ("unmatched", "outside_pred", "missing", "outside_src", "outside_dst", "guard")


@make_rule("wrong", explains=EXPLAINS)
def rule(analysis: Analysis) -> Findings:
    """Elements without a partner, predicate entries past the end."""
    if analysis.effect is None or isinstance(
        analysis.copy.atom, (LdMatrix, StMatrix, TmemLoad, TmemStore, S2TCopy)
    ):
        return
    if analysis.effect["unmatched"]:
        src, dst = analysis.copy.src.layout, analysis.copy.dst.layout
        yield rule.finding(
            "source and destination differ in size, and the compiler does not compare them",
            f"{many(analysis.effect['unmatched'], f'element of {src} -> {dst} has', f'elements of {src} -> {dst} have')} "
            "no partner on the other side. "
            f"{sentence(analysis, 'outside_src', 'missing', 'outside_dst')}",
            where(analysis, "missing"),
            {"unmatched": analysis.effect["unmatched"], **evidence(analysis, *EXPLAINS)},
        )
    if analysis.effect["outside_pred"] and analysis.copy.pred is not None:
        yield rule.finding(
            "the predicate is read past its end",
            f"{analysis.copy.pred.layout} is shorter than the copy needs: {analysis.effect['outside_pred']} of the entries that it reads are outside, and it depends on chance whether their elements are copied.",
            where(analysis, "outside_pred", "pred"),
            evidence(analysis, "outside_pred"),
        )
