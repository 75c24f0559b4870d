"""LC218 sub-byte-stride: strided 4-bit elements are moved as if they were adjacent, or only an eighth of the booleans is moved."""

from __future__ import annotations

from layoutcheck.analysis.vector import NAMES, find_break
from layoutcheck.rules.effects import MISPLACED, evidence, misplaced, occurred, sentence, where
from layoutcheck.rules.rule import Analysis, Findings, make_rule


@make_rule("wrong", explains=MISPLACED)
def rule(analysis: Analysis) -> Findings:
    """Copies of elements narrower than a byte that go wrong."""
    bits = analysis.copy.src.dtype.bits
    if bits >= 8 or analysis.copy.needs_map or not occurred(analysis):
        return
    if bits == 1:
        if not occurred(analysis) & {"missing", "wrong"} or analysis.resolved.src.dtype.bits != 1:
            return
        kind = misplaced(analysis)
        text = f"A boolean is stored as a byte, and a vector moves one bit of each. {sentence(analysis, *MISPLACED)}"
        title = "booleans are stored in bytes and moved as bits"
        yield rule.finding(title, text, where(analysis, kind), evidence(analysis, *MISPLACED))
        return
    for side in ("src", "dst"):
        found = find_break(analysis.resolved, side, 8 // bits)
        if found is None:
            continue
        yield rule.finding(
            f"{bits}-bit elements of the {NAMES[side]} are not adjacent, and share bytes with others",
            f"{found.mode_text[0].upper() + found.mode_text[1:]} of the {NAMES[side]} {found.layout} has stride {found.stride}. "
            f"{sentence(analysis, 'wrong', 'outside_dst')}",
            where(analysis, "wrong", side, found.path),
            {"stride": str(found.stride), **evidence(analysis, *MISPLACED)},
        )
