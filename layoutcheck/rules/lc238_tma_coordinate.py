"""LC238 tma-coordinate: a box of a TMA copy does not begin at a multiple of 16 bytes of the contiguous dimension."""

from __future__ import annotations

from layoutcheck.atoms.tma.descriptor import PIECE_BYTES, WHOLE_PIECES
from layoutcheck.atoms.tma.plan import gmem_side
from layoutcheck.rules.rule import Analysis, Findings, Where, demanded, make_rule
from layoutcheck.rules.tma import EFFECTS, FAULT, whole_tma


@make_rule("wrong", explains=EFFECTS)
def rule(analysis: Analysis) -> Findings:
    """A first coordinate that is not a multiple of 16 bytes."""
    found = whole_tma(analysis)
    if found is None:
        return
    at = found.plan.coords[:, 0] * found.map.element_bits // 8
    if not (at % PIECE_BYTES).any():
        return
    k = int((at % PIECE_BYTES != 0).argmax())
    yield rule.finding(
        f"box {k} begins at byte {int(at[k])} of dimension 0: the kernel faults",
        f"Box {k} begins at coordinate {tuple(map(int, found.plan.coords[k]))}, {int(at[k])} B along the contiguous "
        f"dimension, which must be a multiple of 16 B; {FAULT}.",
        Where(gmem_side(analysis.copy), instruction=k),
        demanded("coordinate 0", int(at[k]), WHOLE_PIECES, "measured on an H200"),
    )
