"""LC103 width-not-supported: the atom has no instruction of this width."""

from __future__ import annotations

from layoutcheck.atoms.cp_async import CpAsync
from layoutcheck.rules.rule import Analysis, Findings, make_rule, refusal, refused

KINDS = ("width", "atom_width", "atom_form", "atom_options", "load_cache_mode", "mem_order")


@make_rule("rejected")
def rule(analysis: Analysis) -> Findings:
    """The compiler's own refusal, in terms of the copy."""
    if said := refusal(analysis, *KINDS):
        form = f"the atom has no such variant: {said.message[:80]}"
        width = f"{analysis.width_bits} bits is not a width of this atom"
        yield refused(rule, said, width if said.kind == "width" else form, _text(analysis))


def _text(analysis: Analysis) -> str:
    if isinstance(analysis.copy.atom, CpAsync):
        per = analysis.copy.src.dtype.bits
        counts = ", ".join(
            f"{bits} bits ({bits // per} {analysis.copy.src.dtype})"
            for bits in analysis.copy.atom.widths_bits
            if bits >= per
        )
        return f"cp.async with cache = {analysis.copy.atom.cache} moves {counts} at a time."
    return analysis.prediction.message
