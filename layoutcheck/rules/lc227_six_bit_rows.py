"""LC227 six-bit-rows: rows of 6-bit elements are addressed as if they had 8 bits."""

from __future__ import annotations

from layoutcheck.rules.bulk import bulk_atom, instruction_bytes, instructions
from layoutcheck.rules.effects import evidence, first_of, sentence, where
from layoutcheck.rules.rule import Analysis, Findings, demanded, make_rule

EXPLAINS = ("wrong", "missing", "outside_src", "outside_dst", "misaligned_src", "misaligned_dst", "race")


@make_rule("wrong", explains=EXPLAINS)
def rule(analysis: Analysis) -> Findings:
    """A bulk copy of 6-bit elements, of more than one instruction, that goes wrong."""
    kind = first_of(analysis, EXPLAINS)
    if kind is None or bulk_atom(analysis) is None or analysis.copy.src.dtype.bits != 6:
        return
    if instructions(analysis) < 2:
        return
    yield rule.finding(
        "rows of 6-bit elements begin where 8-bit ones would",
        f"Each of {instructions(analysis)} instructions moves {instruction_bytes(analysis)} B, 6 bits an element; their "
        f"addresses advance by 8 bits an element. {sentence(analysis, kind)}",
        where(analysis, kind),
        demanded(
            "address of an element",
            "8 bits an element",
            "6 bits an element",
            "the DSL's PTX",
            **evidence(analysis, *EXPLAINS),
        ),
    )
