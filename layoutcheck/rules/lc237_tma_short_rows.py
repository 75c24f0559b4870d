"""LC237 tma-short-rows: the rows of a swizzled TMA box are shorter than the swizzle, and TMA puts them further apart than the layout says."""

from __future__ import annotations

from layoutcheck.atoms.tma import TmaCopy
from layoutcheck.atoms.tma.descriptor import PIECE_BYTES, SPAN_BYTES
from layoutcheck.atoms.tma.plan import smem_side
from layoutcheck.rules.rule import Analysis, Findings, Where, demanded, make_rule
from layoutcheck.rules.tma import EFFECTS, box_of, row_field


@make_rule("wrong", explains=EFFECTS)
def rule(analysis: Analysis) -> Findings:
    """A swizzled box of several rows that do not fill the span."""
    box = box_of(analysis)
    if box is None or analysis.effect is None:
        return
    extents, inner, kind = box
    span = SPAN_BYTES[kind]
    atom = analysis.copy.atom
    # A copy by an index brings four rows, whatever the box says.
    rows = (isinstance(atom, TmaCopy) and atom.indexed) or any(extent != 1 for extent in extents[1:])
    if not span or inner >= span or inner % PIECE_BYTES or not rows:
        return
    yield rule.finding(
        f"rows of {inner} B under the swizzle {kind} arrive {span} B apart",
        f"A box of {extents} has rows of {inner} B. Under the swizzle {kind} the machine puts them {span} B apart; "
        f"the shared layout {analysis.copy.side(smem_side(analysis.copy)).layout} has them at other addresses.",
        Where(smem_side(analysis.copy)),
        demanded(row_field(analysis)[0], inner, f"{span} B, or rows {span} B apart", "measured on an H200"),
    )
