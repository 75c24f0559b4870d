"""setmaxnreg, which the warps of a warpgroup have to execute together, and the registers that it asks for.

PTX ISA, setmaxnreg: all warps of a warpgroup execute the same one, else the behaviour is undefined; `.inc`
blocks until the pool of the block has as many registers.
"""

from __future__ import annotations

from layoutcheck.order.problems import Party, Problem
from layoutcheck.order.watched import Event, Watched, lanes_of

WARPS = 4  # of a warpgroup
POOL = 1 << 16  # registers of an SM (CUDA C++ Programming Guide, technical specifications), sm_90 to sm_121


def register_limits(block: Watched) -> list[Problem]:
    """The warpgroups of which only some warps change their limit, and limits that no pool can hold."""
    threads = block.launch.threads
    by_warp: list[list[Event]] = [[] for _ in range(-(-threads // 32))]
    for event in block.events:
        if "limit" not in event.meaning.facts:
            continue
        if event.doubt or event.guarded or not block.complete:
            return []
        mask = lanes_of(event, threads)
        for warp, found in enumerate(by_warp):
            if mask[32 * warp : 32 * warp + 32].any():
                found.append(event)
    if not any(by_warp):
        return []
    groups = [range(i, min(i + WARPS, len(by_warp))) for i in range(0, len(by_warp), WARPS)]
    uneven = [one for group in groups if (one := _uneven(group, by_warp)) is not None]
    return uneven or _too_many(by_warp)


def _uneven(group: range, by_warp: list[list[Event]]) -> Problem | None:
    """The first change of the limit that a warp of the group makes and another one does not."""
    most = max(group, key=lambda warp: len(by_warp[warp]))
    lacking = [warp for warp in group if len(by_warp[warp]) < len(by_warp[most])]
    if not lacking:
        return None
    event = by_warp[most][len(by_warp[lacking[0]])]
    facts: dict[str, int | str] = {
        "group": group.start // WARPS, "lacking": ", ".join(map(str, lacking)), "of": len(group),
    }  # fmt: skip
    return Problem("limit-of-some-warps", Party(event, 0, 32 * most), None, facts=facts)


def _too_many(by_warp: list[list[Event]]) -> list[Problem]:
    """The last increase of a block whose warps together ask for more registers than there are."""
    total = sum(32 * found[-1].meaning.count for found in by_warp if found)
    if total <= POOL:
        return []
    facts: dict[str, int | str] = {"total": total, "pool": POOL}
    for warp, found in reversed(list(enumerate(by_warp))):
        if found and found[-1].meaning.facts["limit"] == "increase":
            return [Problem("limits-too-high", Party(found[-1], 0, 32 * warp), None, facts=facts)]
    return []  # a decrease to more than a block this large can have
