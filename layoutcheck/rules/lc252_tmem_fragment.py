"""LC252 tmem-fragment: the register fragment does not have the registers that the atom's repetition moves."""

from __future__ import annotations

from layoutcheck.rules.effects import evidence, first_of, sentence, where
from layoutcheck.rules.rule import Analysis, Findings, make_rule
from layoutcheck.rules.tensor_memory import EVERYTHING, fragment_trouble, warp_atom


@make_rule("wrong", explains=EVERYTHING)
def rule(analysis: Analysis) -> Findings:
    """Another number of values, another type, or values that are not adjacent."""
    atom, kind = warp_atom(analysis), first_of(analysis, EVERYTHING)
    if atom is None or kind is None:
        return
    trouble = fragment_trouble(analysis, atom)
    if trouble is None:
        return
    registers = "src" if analysis.copy.src.space == "rmem" else "dst"
    yield rule.finding(
        "the fragment does not have the registers that the repetition moves",
        f"{trouble}. {sentence(analysis, kind)}",
        where(analysis, kind, registers, (0,)),
        evidence(analysis, *EVERYTHING),
    )
