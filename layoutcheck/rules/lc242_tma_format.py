"""LC242 tma-format: the target does not have tensor maps of 4-bit or 6-bit elements."""

from __future__ import annotations

from layoutcheck.atoms.tma.descriptor import PTX
from layoutcheck.machine.arch import parse_arch
from layoutcheck.rules.rule import Analysis, Findings, Where, demanded, make_rule
from layoutcheck.rules.tma import EFFECTS, FAULT, tma_atom


@make_rule("wrong", explains=EFFECTS)
def rule(analysis: Analysis) -> Findings:
    """Elements narrower than a byte before sm_100."""
    atom = tma_atom(analysis)
    arch = parse_arch(analysis.copy.arch)
    if atom is None or arch.number >= 100 or atom.dtype.bits not in (4, 6):
        return
    yield rule.finding(
        f"{arch} does not have tensor maps of {atom.dtype}: the kernel faults",
        f"Tensor maps of {atom.dtype.bits}-bit elements need sm_100 or later; {FAULT}.",
        Where("atom"),
        demanded("tensorDataType", str(atom.dtype), "8 bits or more before sm_100", PTX),
    )
