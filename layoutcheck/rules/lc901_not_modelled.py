"""LC901 not-modelled: layoutcheck has no model of this atom, so it gives no answer."""

from __future__ import annotations

from layoutcheck.copies.offsets import CompilerFails, TooLarge
from layoutcheck.copies.opaque import run_time_swizzle
from layoutcheck.rules.rule import Analysis, Findings, Where, make_rule


@make_rule("unknown")
def rule(analysis: Analysis) -> Findings:
    """Atoms and operands that are known by name only, and forms that the model refuses."""
    atom = analysis.copy.atom
    composed = run_time_swizzle(analysis.copy.src) or run_time_swizzle(analysis.copy.dst)
    if composed and atom is not None and atom.drops_composed:
        return  # LC257 knows what becomes of it
    named = atom is not None and not atom.modelled
    if named or analysis.prediction.outcome == "unknown":
        name = atom.phrase if atom is not None and named else str(atom)
        title, reason = f"{name}: not modelled", analysis.prediction.message or "its copies are not modelled"
    elif analysis.obstacle is not None and not isinstance(analysis.obstacle, (TooLarge, CompilerFails)):
        title = f"{analysis.copy.atom or analysis.copy.op}: this copy is not modelled"
        reason = analysis.obstacle.message
    else:
        return
    yield rule.finding(
        title,
        f"{reason[0].upper() + reason[1:]}. layoutcheck does not know what the machine does with it.",
        Where("atom"),
        {"atom": str(analysis.copy.atom)},
    )
