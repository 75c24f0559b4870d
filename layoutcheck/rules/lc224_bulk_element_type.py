"""LC224 bulk-element-type: the element types of the atom and of the tensors differ in width."""

from __future__ import annotations

from layoutcheck.rules.bulk import bulk_atom, instruction_bytes, instructions, stalls
from layoutcheck.rules.effects import evidence, first_of, sentence, where
from layoutcheck.rules.rule import Analysis, Findings, demanded, make_rule

EXPLAINS = ("wrong", "missing", "outside_src", "outside_dst", "misaligned_src", "misaligned_dst", "race")


@make_rule("wrong", explains=EXPLAINS)
def rule(analysis: Analysis) -> Findings:
    """A bulk copy that goes wrong because its atom counts elements of another width."""
    atom = bulk_atom(analysis)
    kind = first_of(analysis, EXPLAINS)
    bits = analysis.copy.src.dtype.bits
    if atom is None or atom.dtype.bits == bits or kind is None or not instructions(analysis):
        return
    yield rule.finding(
        f"an atom of {atom.dtype} counts the bytes of {analysis.copy.src.dtype} tensors",
        f"One instruction moves {instruction_bytes(analysis)} B: its elements at {atom.dtype.bits} bits each, where "
        f"the tensors' have {bits}. {sentence(analysis, kind)}{stalls(analysis)}",
        where(analysis, kind, "atom"),
        demanded(
            "atom element type",
            str(atom.dtype),
            str(analysis.copy.src.dtype),
            "the DSL's PTX",
            **evidence(analysis, *EXPLAINS),
        ),
    )
