"""LC258 not-run-on-blackwell: no GPU ran this instruction; the verdict is based on the compiler and the PTX ISA only."""

from __future__ import annotations

from layoutcheck.atoms.bulk import BulkCopy
from layoutcheck.rules.rule import Analysis, Findings, Where, make_rule
from layoutcheck.rules.tensor_memory import tmem_atom
from layoutcheck.versions import MODELLED


@make_rule("note")
def rule(analysis: Analysis) -> Findings:
    """Every copy that reaches the machine with an instruction that begins with Blackwell."""
    atom = analysis.copy.atom
    if atom is None or not analysis.accepted or atom.needs.first.number < BLACKWELL:
        return
    memory = tmem_atom(analysis)
    name = "this instruction" if memory is None else memory.title
    masked = isinstance(atom, BulkCopy) and atom.byte_mask
    yield rule.finding(
        "compiler-verified only",
        f"No Blackwell GPU ran {name}: this verdict is based on DSL {MODELLED} and the PTX ISA."
        + " It assumes that all bytes of the mask are written." * masked,
        Where("atom"),
    )


BLACKWELL = 100  # sm_100
