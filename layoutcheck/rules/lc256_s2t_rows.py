"""LC256 s2t-rows: `tcgen05.cp` writes other lanes or columns than its destination view names."""

from __future__ import annotations

from layoutcheck.atoms.s2t import S2TCopy
from layoutcheck.rules.effects import evidence, first_of, where
from layoutcheck.rules.rule import Analysis, Findings, make_rule
from layoutcheck.rules.tensor_memory import EVERYTHING, steps, tmem_atom


@make_rule("wrong", explains=EVERYTHING)
def rule(analysis: Analysis) -> Findings:
    """Any difference of tcgen05.cp at a whole column."""
    atom, at = tmem_atom(analysis), steps(analysis)
    if not isinstance(atom, S2TCopy) or at is None or (at % 32).any():
        return
    kind = first_of(analysis, EVERYTHING)
    if analysis.effect is None or kind is None:
        return
    counts = ", ".join(
        f"{analysis.effect[kind]} {text}"
        for kind, text in (
            ("outside_dst", "bytes are overwritten that the view does not name"),
            ("missing", "bytes that it names are not written"),
            ("unmatched", "elements of it lie outside what one instruction writes"),
            ("wrong", "bytes get another row or byte than theirs"),
            ("race", "bytes are written twice"),
            ("overlap", "bytes are named twice"),
        )
        if analysis.effect[kind]
    )
    yield rule.finding(
        "tcgen05.cp writes other lanes or columns than the view names",
        f"{atom.rectangle_phrase(analysis.copy.dst.dtype)}. V of {analysis.copy.dst.layout} names something else: {counts}.",
        where(analysis, kind, "dst", (0,)),
        evidence(analysis, *EVERYTHING),
    )
