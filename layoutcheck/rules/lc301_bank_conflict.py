"""LC301 bank-conflict: several lanes of one phase access different words of the same shared-memory bank."""

from __future__ import annotations

from layoutcheck.analysis.cost import SideCost
from layoutcheck.analysis.vector import NAMES
from layoutcheck.machine.banks import CP_ASYNC, SharedCost, shared_wavefronts
from layoutcheck.machine.best_swizzle import SwizzleResult
from layoutcheck.rules.conflicts import conflicted, suggestion, swizzled, under
from layoutcheck.rules.rule import Analysis, Finding, Findings, Where, make_rule


@make_rule("slow", told=lambda analysis: _blamed(analysis) is not None)  # without what would help it
def rule(analysis: Analysis) -> Findings:
    """A side in shared memory with more wavefronts than phases, unless its swizzle is to blame (LC305)."""
    side = _blamed(analysis)
    if side is not None:
        yield conflict(side, suggestion(analysis, side))


def _blamed(analysis: Analysis) -> SideCost | None:
    found = swizzled(analysis)
    if found is None:
        return conflicted(analysis)
    bare = under(analysis, found[0], None)
    return None if bare is not None and bare < found[0].wavefronts else found[0]


def conflict(side: SideCost, better: SwizzleResult | None = None) -> Finding:
    """The finding about a side that conflicts; `better` is what would help."""
    worst = worst_access(side)
    return rule.finding(
        f"{side.ways}-way bank conflict in the {NAMES[side.side]}: {side.wavefronts} wavefronts instead of {side.ideal_wavefronts}",
        f"{describe(side, worst)} {_advice(better)}".strip(),
        Where(side.side, None, worst.lanes[0] if worst.lanes else None, None, side.worst),
        {
            "op": side.op,
            "width_bits": side.width_bits,
            "instructions": side.instructions,
            "wavefronts": side.wavefronts,
            "ideal_wavefronts": side.ideal_wavefronts,
            "ratio": round(side.wavefronts / side.ideal_wavefronts, 2),
            "ways": side.ways,
            "phase": worst.phase,
            "lanes": list(worst.lanes),
            "banks": list(worst.banks),
            "swizzle": str(better.swizzle) if better and better.swizzle else None,
            "swizzle_elements": str(better.swizzle_elements) if better and better.swizzle else None,
            "padding_elements": better.padding if better else None,
        },
    )


def worst_access(side: SideCost) -> SharedCost:
    """The warp instruction of a side whose phase takes the most wavefronts."""
    lanes = [None if at < 0 else int(at) for at in side.addresses[side.worst]]
    return shared_wavefronts(lanes, side.width_bits, op=side.rule)


def describe(side: SideCost, worst: SharedCost) -> str:
    """Which lanes meet in which banks."""
    lanes = ", ".join(map(str, worst.lanes[:8])) + (", ..." if len(worst.lanes) > 8 else "")
    if len(worst.lanes) > 2 and (*range(worst.lanes[0], worst.lanes[-1] + 1),) == worst.lanes:
        lanes = f"{worst.lanes[0]} to {worst.lanes[-1]}"
    low, high = worst.banks[0], worst.banks[-1]
    banks = f"bank {low}" if low == high else f"each of banks {low} to {high}"
    if high - low + 1 != len(worst.banks):
        banks = f"each of {len(worst.banks)} banks from {low} to {high}"
    wanted = f"access {worst.ways} different words of {banks}"
    if side.rule == CP_ASYNC:  # measured (docs/banks.md): 32 lanes onto one word are 32 wavefronts
        wanted = f"take {worst.ways} turns at {banks}: the lanes of a cp.async share no word"
    return (
        f"{side.op}, {side.width_bits} bits a lane: in phase {worst.phase} of warp instruction {side.worst} "
        f"lanes {lanes} {wanted}."
    )


def _advice(better: SwizzleResult | None) -> str:
    if better is None:
        return ""
    what = (
        f"A pointer swizzle {better.swizzle} (bytes; {better.swizzle_elements} of elements)"
        if better.swizzle
        else f"A pitch padded by {better.padding} elements, {better.layout},"
    )
    return f"{what} takes {better.wavefronts}{', conflict-free' if better.conflict_free else ''}."
