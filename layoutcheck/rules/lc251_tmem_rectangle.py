"""LC251 tmem-rectangle: the view of tensor memory is not the rectangle that the instruction moves."""

from __future__ import annotations

from layoutcheck.rules.effects import evidence, first_of, sentence, where
from layoutcheck.rules.rule import Analysis, Findings, make_rule
from layoutcheck.rules.tensor_memory import EVERYTHING, fragment_trouble, steps, warp_atom


@make_rule("wrong", explains=EVERYTHING)
def rule(analysis: Analysis) -> Findings:
    """A difference that neither the fragment nor the address nor packing accounts for."""
    atom, kind = warp_atom(analysis), first_of(analysis, EVERYTHING)
    if atom is None or atom.packed or kind is None:
        return
    at = steps(analysis)
    if fragment_trouble(analysis, atom) or (at is not None and (at % 32).any()):
        return
    side = atom.memory_side
    view = analysis.copy.side(side)
    yield rule.finding(
        "the view of tensor memory is not what the instruction moves",
        f"{atom.rectangle_phrase(view.dtype)}. V of {view.layout} names something else. {sentence(analysis, kind)}",
        where(analysis, kind, side, (0,)),
        {"view": str(view.layout), **evidence(analysis, *EVERYTHING)},
    )
