"""LC305 swizzle-conflicts: the pointer's swizzle causes bank conflicts that the tile without a swizzle would not have."""

from __future__ import annotations

from layoutcheck.analysis.vector import NAMES
from layoutcheck.rules.conflicts import swizzled, under
from layoutcheck.rules.lc301_bank_conflict import describe, worst_access
from layoutcheck.rules.rule import Analysis, Findings, Where, make_rule


@make_rule("slow")
def rule(analysis: Analysis) -> Findings:
    """A conflicting side whose swizzle takes more wavefronts than none would."""
    found = swizzled(analysis)
    if found is None:
        return
    side, swizzle = found
    bare = under(analysis, side, None)
    if bare is None or bare >= side.wavefronts:
        return
    worst = worst_access(side)
    yield rule.finding(
        f"{swizzle} makes the {NAMES[side.side]} {side.ways}-way conflicted: {side.wavefronts} "
        f"wavefronts, {bare} without it",
        describe(side, worst),
        Where(side.side, None, worst.lanes[0], None, side.worst),
        {
            "swizzle": str(swizzle),
            "wavefronts": side.wavefronts,
            "without_swizzle": bare,
            "ideal_wavefronts": side.ideal_wavefronts,
            "ratio": round(side.wavefronts / bare, 2),
            "ways": side.ways,
        },
    )
