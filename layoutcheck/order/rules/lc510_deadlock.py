"""LC510 deadlock: warps wait for one another, or for something that never happens, and the kernel never ends."""

from __future__ import annotations

from collections.abc import Mapping

from layoutcheck.digits import many
from layoutcheck.order.rules.rule import Places, Problem, does, line, make_rule


def _state(facts: Mapping[str, int | str], place: str) -> str:
    """What the mbarrier that is waited for at a place still lacks, as a sentence."""
    nothing = facts["phase"] == 0 and facts["pending"] == facts["count"]
    never = ": nothing has arrived since it was initialised" if nothing else ""
    return (
        f"The mbarrier of {place}, at byte {facts['address']} of shared memory, is in phase {facts['phase']} with "
        f"{facts['pending']} of {facts['count']} arrivals and {facts['bytes']} bytes to come{never}."
    )


@make_rule("wrong", "deadlock")
def rule(problem: Problem, places: Places) -> tuple[str, str]:
    """Who waits where, and what for."""
    facts = problem.facts
    waits = "; ".join(does(place) for place in places)
    if facts.get("what") == "mbarrier":
        lacks = f"{_state(facts, line(places[0]))} The wait is for the end of a phase of parity {facts['parity']}."
        if "other" in facts:
            other = {name.removeprefix("other_"): fact for name, fact in facts.items()}
            lacks += f" {_state(other, line(places[int(facts['other'])]))}"
    elif facts.get("what") == "barrier":
        lacks = f"Barrier {facts['id']} waits for {facts['expected']} threads, of which {facts['arrived']} arrived."
    else:
        lacks = "The wait is for blocks of the cluster, or warps, that have not arrived."
    return (
        f"{line(places[0])} {places[0].what} and never continues",
        f"{waits}; {many(int(facts['warps']), 'warp')} cannot continue. {lacks}",
    )
