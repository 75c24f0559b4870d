"""LC510 deadlock: warps wait for one another, or for something that never happens, and the kernel never ends."""

from __future__ import annotations

from layoutcheck.digits import many
from layoutcheck.order.rules.rule import Places, Problem, does, line, make_rule


@make_rule("wrong", "deadlock")
def rule(problem: Problem, places: Places) -> tuple[str, str]:
    """Who waits where, and what for."""
    facts = problem.facts
    waits = "; ".join(does(place) for place in places)
    if facts.get("what") == "mbarrier":
        lacks = (
            f"The mbarrier at byte {facts['address']} of shared memory is in phase {facts['phase']}, with "
            f"{facts['pending']} of {facts['count']} arrivals and {facts['bytes']} bytes to come; the wait is for the end "
            f"of a phase of parity {facts['parity']}."
        )
    elif facts.get("what") == "barrier":
        lacks = f"Barrier {facts['id']} waits for {facts['expected']} threads, of which {facts['arrived']} arrived."
    else:
        lacks = "The wait is for blocks of the cluster, or warps, that have not arrived."
    return (
        f"{line(places[0])} {places[0].what} and never continues",
        f"{waits}; {many(int(facts['warps']), 'warp')} cannot continue. {lacks}",
    )
