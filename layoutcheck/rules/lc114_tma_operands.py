"""LC114 tma-operands: the operands of a TMA copy are not a coordinate tensor and a tensor in shared memory."""

from __future__ import annotations

from layoutcheck.atoms.tma import TmaCopy
from layoutcheck.rules.rule import Analysis, Findings, Where, make_rule, refusal


@make_rule("rejected")
def rule(analysis: Analysis) -> Findings:
    """Operands of the wrong kind."""
    said = refusal(analysis, "tma_operands")
    if said is None:
        return
    atom = analysis.copy.atom
    called = f"a TMA {atom.kind}" if isinstance(atom, TmaCopy) else "a copy"
    yield rule.finding(
        f"{called} from {analysis.copy.src.space} to {analysis.copy.dst.space}",
        f"The compiler says: {said.message}.",
        Where(said.operand),
        {"src_space": analysis.copy.src.space, "dst_space": analysis.copy.dst.space},
    )
