"""LC215 values-fewer-than-atom: a thread is given fewer values than its atom moves."""

from __future__ import annotations

from layoutcheck.algebra import inttuple
from layoutcheck.rules.effects import MISPLACED, evidence, misplaced, occurred, sentence, where
from layoutcheck.rules.rule import Analysis, Findings, make_rule


@make_rule("wrong", explains=MISPLACED)
def rule(analysis: Analysis) -> Findings:
    """A tiled copy whose thread owns less than one instruction moves."""
    tiling = analysis.copy.tiling
    if tiling is None or not occurred(analysis):
        return
    values = inttuple.product(tiling.tiled.layout_tv[1].shape)
    n = analysis.per_instruction
    if not isinstance(values, int) or values % n == 0:
        return
    yield rule.finding(
        f"a thread has {values} values, but one instruction moves {n}",
        f"The DSL widens V to whole {analysis.width_bits}-bit instructions, so slices overlap. "
        f"{sentence(analysis, 'misaligned_src', 'race', 'outside_dst')}",
        where(analysis, misplaced(analysis), "tiled"),
        {"values": values, "elements": n, **evidence(analysis, *MISPLACED)},
    )
