"""LC302 uncoalesced: a warp's accesses touch more sectors of global memory than their bytes need."""

from __future__ import annotations

from layoutcheck.analysis.cost import SideCost
from layoutcheck.analysis.vector import NAMES
from layoutcheck.machine.arch import SECTOR_BYTES
from layoutcheck.rules.rule import Analysis, Finding, Findings, Where, make_rule

LEAST = 2.0  # sectors over the ideal: below it, a ragged edge or a misaligned row may be all there is


@make_rule("slow")
def rule(analysis: Analysis) -> Findings:
    """A side in global memory whose warps move at least twice the sectors that their bytes fill."""
    found = analysis.cost
    for side in found.sides if found else ():
        if scattered(side):
            yield uncoalesced(side)


def scattered(side: SideCost) -> bool:
    """Whether a side in global memory moves at least twice the sectors that its bytes fill."""
    return side.space == "gmem" and side.sectors >= LEAST * max(1, side.ideal_sectors)


def uncoalesced(side: SideCost) -> Finding:
    """The finding about such a side."""
    moved = side.sectors * SECTOR_BYTES
    first = [int(at) for at in side.addresses[0] if at >= 0]
    step = abs(first[1] - first[0]) if len(first) > 1 else 0
    apart = f"Lanes 0 and 1 of the first are {step} B apart." if step else ""
    return rule.finding(
        f"uncoalesced {side.op}: {side.sectors} sectors instead of {side.ideal_sectors}",
        f"{side.instructions} warp instructions of {side.width_bits} bits a lane use {side.bytes_used} "
        f"of the {moved} bytes that they move from or to the {NAMES[side.side]}, "
        f"{100 * side.bytes_used / moved:.0f} %. {apart}".strip(),
        Where(side.side),
        {
            "op": side.op,
            "width_bits": side.width_bits,
            "instructions": side.instructions,
            "sectors": side.sectors,
            "ideal_sectors": side.ideal_sectors,
            "ratio": round(side.sectors / side.ideal_sectors, 2),
            "bytes_used": side.bytes_used,
            "bytes_moved": moved,
        },
    )
