"""Why two accesses are not ordered: which statement is missing, or is there and does not do it.

`timeline`: what stands around them, the synchronisation of their warps, for a picture.
"""

from __future__ import annotations

from layoutcheck.order.problems import Party, Problem
from layoutcheck.order.replay import World
from layoutcheck.order.watched import Event


def diagnose(world: World, problem: Problem) -> None:
    """Adds `cause` to the facts of a problem, and the statement that is there to its parties."""
    first, second = problem.first, problem.second
    if first is None or second is None or "cause" in problem.facts:
        return
    if problem.kind == "not-complete":
        if first.event.meaning.kind == "cp_async":
            _cp_async(world, problem, first, second)
        elif first.event.meaning.kind in ("bulk_load", "st_async"):
            _mbarrier(world, problem, first, second)
    elif problem.kind == "overwritten-while-copied":
        _reader(world, problem, first, second)


def _cp_async(world: World, problem: Problem, first: Party, second: Party) -> None:
    """The copying warp's commits and waits between the copy and the access, in the order of the program."""
    groups, waited, closed, wait, meeting = 0, 0, False, None, None
    for event in _between(world, first, second):
        kind = event.meaning.kind
        if kind == "cp_commit":
            groups, meeting = groups + 1, None
        elif kind == "barrier" and event.mask is None:
            meeting = meeting or event
        elif kind == "cp_wait":
            wait, waited = event, groups
            closed = closed or groups > event.meaning.count
    if closed:
        problem.facts["cause"] = "no-barrier"
    elif wait is None:
        problem.facts["cause"] = "no-wait" if groups else "no-commit"
        if groups and meeting is not None and first.warp != second.warp:
            problem.parties.append(Party(meeting, first.block, first.thread))
    else:
        problem.facts["cause"] = "wait-count" if waited else "no-commit"
        problem.facts["pending"], problem.facts["most"] = wait.meaning.count, max(0, waited - 1)
    problem.facts.setdefault("most", max(0, groups - 1))
    if wait is not None:
        problem.parties.append(Party(wait, first.block, first.thread))


def _mbarrier(world: World, problem: Problem, first: Party, second: Party) -> None:
    """Whether the second party has waited for the mbarrier on which the copy completes."""
    mbarrier = first.event.number_of(1, first.thread) & 0xFFFFFF
    waits = [
        event
        for event in of_warp(world, second)
        if event.number < second.event.number
        and event.meaning.kind in ("mbar_wait", "mbar_token")
        and event.number_of(0, second.thread) & 0xFFFFFF == mbarrier
    ]
    problem.facts["cause"] = "early-wait" if waits else "no-wait"
    if waits:
        parities = [event.number_of(1, second.thread) & 1 for event in waits]
        problem.facts["in_turn"] = all(parity == turn & 1 for turn, parity in enumerate(parities))
        problem.facts["parity"] = parities[-1]
        problem.facts["waits"] = len(waits)
        problem.parties.append(Party(waits[-1], second.block, second.thread))


def _reader(world: World, problem: Problem, first: Party, second: Party) -> None:
    """Whether the warp that started the copy or multiplication waits for its end."""
    kind = "wgmma" if first.event.meaning.kind == "wgmma" else "bulk"
    groups, waited, closed, waits = 0, 0, False, list[Event]()
    for event in _between(world, first, second):
        if event.mask is not None and not event.mask[first.thread]:
            continue  # groups of bulk copies are those of a lane
        if event.meaning.kind == f"{kind}_commit":
            groups += 1
        elif event.meaning.kind == f"{kind}_wait":
            waits.append(event)
            waited = groups
            closed = closed or groups > event.meaning.count
    problem.facts["cause"] = "no-barrier" if closed else "wait-count" if waited else "no-wait"
    if closed or waited:
        problem.facts["pending"], problem.facts["most"] = waits[-1].meaning.count, max(0, waited - 1)
        problem.parties.append(Party(waits[-1], first.block, first.thread))


def _between(world: World, first: Party, second: Party) -> list[Event]:
    """Events of the first party's warp after its own, and before the second's where one program has both."""
    return [e for e in of_warp(world, first) if first.event.number < e.number < second.event.number]


def of_warp(world: World, party: Party) -> list[Event]:
    """The events of a party's warp, in the order of its program."""
    warp = world.warps[party.block * world.warps_each + party.warp]
    return [world.events[index] for index, _ in warp.todo]


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
