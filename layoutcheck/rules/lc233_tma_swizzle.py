"""LC233 tma-swizzle: TMA does not have the swizzle of the shared tensor."""

from __future__ import annotations

from layoutcheck.atoms.tma.descriptor import PTX, dsl_kind, machine_swizzle
from layoutcheck.atoms.tma.plan import smem_side
from layoutcheck.machine.arch import parse_arch
from layoutcheck.rules.rule import Analysis, Findings, Where, demanded, make_rule
from layoutcheck.rules.tma import EFFECTS, same_pattern, tma_atom

KNOWN = "none, S<1,4,3>, S<2,4,3>, S<3,4,3>"


@make_rule("wrong", explains=EFFECTS)
def rule(analysis: Analysis) -> Findings:
    """A swizzle that differs from the one in the tensor map, or that the target does not have."""
    if tma_atom(analysis) is None or analysis.effect is None:
        return  # a tile too small to meet the difference
    side = smem_side(analysis.copy)
    smem = analysis.copy.side(side)
    tile = analysis.copy.tma
    described = smem if tile is None or tile.described is None else tile.described
    if same_pattern(analysis, described):
        return
    kind = dsl_kind(described.swizzle)
    made = machine_swizzle(kind, parse_arch(analysis.copy.arch).number)
    yield rule.finding(
        f"TMA does not have swizzle {described.swizzle}: the machine applies {made or 'none'}",
        f"For {described.swizzle} the DSL writes the swizzle {kind} into the tensor map, and {analysis.copy.arch} then permutes bytes by {made or 'none'}. A read through {described.swizzle} gets other elements.",
        Where(side),
        demanded("swizzle", str(described.swizzle), f"one of {KNOWN}", PTX, stored=kind),
    )
