"""What stands around two accesses that nothing orders: the synchronisation of their warps, for a picture."""

from __future__ import annotations

from layoutcheck.order.diagnose import of_warp
from layoutcheck.order.problems import Party, Problem
from layoutcheck.order.replay import World
from layoutcheck.order.watched import Event

MOST = 3  # synchronisations shown behind the first access, and before the second
_SHOWN = (
    "barrier", "barrier_arrive", "warp_sync", "cp_commit", "cp_wait", "cp_arrive", "mbar_arrive", "mbar_wait",
    "mbar_token", "mbar_expect", "bulk_commit", "bulk_wait", "fence_proxy", "cluster_arrive", "cluster_wait",
    "wgmma_fence", "wgmma_commit", "wgmma_wait", "tc_commit",
)  # fmt: skip


def timeline(world: World, problem: Problem) -> list[tuple[str, Party]]:
    """(role, party), time downwards within each warp; a role is "first", "second" or "between"."""
    first, second = problem.first, problem.second
    if first is None or second is None:
        parties = [p for p in (first, second, *problem.parties) if p is not None]
        return [("second", party) for party in dict.fromkeys(parties)]
    one, other = of_warp(world, first), of_warp(world, second)
    if (first.block, first.warp) == (second.block, second.warp):
        low, high = sorted((first.event.number, second.event.number))
        between = [e for e in one if low < e.number < high and e.meaning.kind in _SHOWN]
        if len(between) > 2 * MOST:
            between = between[:MOST] + between[-MOST:]
        middle = [_party(event, first) for event in between]
    else:
        after = [e for e in one if e.number > first.event.number and e.meaning.kind in _SHOWN][:MOST]
        before = [e for e in other if e.number < second.event.number and e.meaning.kind in _SHOWN][-MOST:]
        middle = [_party(event, first) for event in after] + [_party(event, second) for event in before]
    return [("first", first), *(("between", party) for party in middle), ("second", second)]


def _party(event: Event, like: Party) -> Party:
    return Party(event, like.block, like.thread)
