"""LC255 tmem-packing: a packing copy of tensor memory does not have one element in each column."""

from __future__ import annotations

from layoutcheck.rules.effects import evidence, first_of, sentence, where
from layoutcheck.rules.rule import Analysis, Findings, make_rule
from layoutcheck.rules.tensor_memory import EVERYTHING, fragment_trouble, warp_atom


@make_rule("wrong", explains=EVERYTHING)
def rule(analysis: Analysis) -> Findings:
    """A difference of a packing copy that its fragment does not account for."""
    atom, kind = warp_atom(analysis), first_of(analysis, EVERYTHING)
    if atom is None or not atom.packed or kind is None or fragment_trouble(analysis, atom):
        return
    side = atom.memory_side
    view = analysis.copy.side(side)
    word = "pack" if side == "src" else "unpack"
    reason = (
        f"{atom.title}.{word}::16b moves the lower 16 bits of each column, {view.dtype} has {view.dtype.bits}"
        if view.dtype.bits != 16
        else f"{atom.rectangle_phrase(view.dtype)}, the lower 16 bits of each. V of {view.layout} names something else"
    )
    yield rule.finding(
        "packing takes one 16-bit element from each column",
        f"{reason}. {sentence(analysis, kind)}",
        where(analysis, kind, side, (0,)),
        evidence(analysis, *EVERYTHING),
    )
