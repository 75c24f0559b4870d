"""LC510 deadlock: warps wait for one another, or for something that never happens, and the kernel never ends.

## What it means

No warp can continue: each waits for a phase of an mbarrier, for a barrier, or for the cluster, and
no warp is left that could end a wait. The finding lists which warp waits where, and what the first
wait still needs.

## Why

The replay follows the kernel and completes every asynchronous copy. The rule reports only if it followed the kernel
to its end: loops that it cut, and `try_wait` of an mbarrier, do not count. On an H200: a producer that begins with
the consumer's phase, a barrier with a count that is never reached.

## How to fix it

Make each count the number of arrivals, begin pipeline states with the right phase (producer 1,
consumer 0), and keep barriers outside conditions that some of the counted threads do not take.
"""

from __future__ import annotations

from layoutcheck.digits import many
from layoutcheck.order.rules.rule import Places, Problem, does, line, make_rule


def tell(problem: Problem, places: Places) -> tuple[str, str]:
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


FLAGGED = """
state = make_pipeline_state(PipelineUserType.Consumer, stages)  # of the producer: phase 0
pipe.producer_acquire(state)
"""
CLEAN = """
state = make_pipeline_state(PipelineUserType.Producer, stages)  # phase 1: the buffer is empty
pipe.producer_acquire(state)
"""

RULE = make_rule(__doc__, "wrong", ("deadlock",), tell, FLAGGED, CLEAN)
