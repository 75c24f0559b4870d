"""LC244 tma-gaps: a tensor map of 4-bit or 6-bit elements with gaps breaks a limit of these formats."""

from __future__ import annotations

from layoutcheck.atoms.tma.descriptor import DRIVER, gapped
from layoutcheck.atoms.tma.limits import Violation, format_violations
from layoutcheck.atoms.tma.plan import gmem_side
from layoutcheck.rules.rule import Analysis, Findings, Where, demanded, make_rule
from layoutcheck.rules.tma import EFFECTS, tma_atom, whole_tma


@make_rule(
    "wrong",
    explains=EFFECTS,
    beyond="the driver would refuse the tensor map; no GPU with this format was available to run such a map",
)
def rule(analysis: Analysis) -> Findings:
    """The first limit that is broken."""
    found, atom = whole_tma(analysis), tma_atom(analysis)
    if found is None or atom is None:
        return
    written = found.plan.written
    broken = list(format_violations(written, atom.kind))
    align = found.gmem.proved_align_bytes
    if gapped(written.format) and align % 32:
        broken.insert(
            0, Violation("globalAddress", f"a multiple of {align} B", "a multiple of 32 bytes", DRIVER)
        )
    for bad in broken[:1]:
        yield rule.finding(
            f"{bad.field} of a {written.format} tensor map is {bad.value}, and must be {bad.demand}",
            f"In the format {written.format}, {bad.field} must be {bad.demand}; here it is {bad.value}. "
            "The DSL writes the tensor map without asking the driver, which would refuse it.",
            Where(gmem_side(analysis.copy)),
            demanded(bad.field, bad.value, bad.demand, bad.source),
        )
