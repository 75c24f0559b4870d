"""LC236 tma-box-row: the first extent of a TMA box is not a multiple of 16 bytes, or exceeds the swizzle's span."""

from __future__ import annotations

from layoutcheck.atoms.tma.descriptor import PIECE_BYTES, SPAN_BYTES, WHOLE_PIECES
from layoutcheck.atoms.tma.plan import smem_side
from layoutcheck.rules.rule import Analysis, Findings, Where, demanded, make_rule
from layoutcheck.rules.tma import EFFECTS, FAULT, box_of, row_field


@make_rule("wrong", explains=EFFECTS)
def rule(analysis: Analysis) -> Findings:
    """A first extent that the machine does not take."""
    box = box_of(analysis)
    if box is None:
        return
    extents, inner, kind = box
    span = SPAN_BYTES[kind]
    if inner % PIECE_BYTES == 0 and (not span or inner <= span):
        return
    field, source = row_field(analysis)
    demand = WHOLE_PIECES if inner % PIECE_BYTES else f"at most the span of {span} B of swizzle {kind}"
    yield rule.finding(
        f"the box is {inner} B along its first dimension: the kernel faults",
        f"A box of {extents} is {inner} B along dimension 0, which must be {demand}. The DSL does not check it; "
        f"{FAULT}.",
        Where(smem_side(analysis.copy)),
        demanded(field, inner, demand, source),
    )
