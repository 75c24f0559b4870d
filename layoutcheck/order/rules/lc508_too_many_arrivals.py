"""LC508 too-many-arrivals: more threads arrive at an mbarrier in one phase than it was initialised for.

## What it means

The pending count of an mbarrier falls below zero: more threads arrive in a phase than its count,
while its bytes are still pending. Either threads arrive that were not counted, or a producer
arrives for the next phase without waiting.

## Why

PTX ISA, mbarrier.init and mbarrier.arrive: the count is the number of arrivals of every phase; the pending count
has a range of 0 to 2^20 - 1, and what goes beyond is undefined.

## How to fix it

Initialise the mbarrier with the number of arrivals in one phase (the threads that arrive, not all
threads: one for an elected lane). Wait for a phase before you arrive for the next.
"""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, does, line, make_rule


def tell(problem: Problem, places: Places) -> tuple[str, str]:
    """The count, and who comes too often."""
    facts = problem.facts
    return f"arrival {facts['arrivals']} at an mbarrier for {facts['count']}", (
        f"The mbarrier is initialised for {facts['count']} arrivals a phase ({line(places[0])}); in phase "
        f"{facts['phase']} {does(places[1])}, which makes {facts['arrivals']}."
    )


FLAGGED = """
cute.arch.mbarrier_init(bar, 1)
...
cute.arch.mbarrier_arrive_and_expect_tx(bar, size)  # by all 32 lanes
"""
CLEAN = """
cute.arch.mbarrier_init(bar, 1)
...
with cute.arch.elect_one():
    cute.arch.mbarrier_arrive_and_expect_tx(bar, size)
"""

RULE = make_rule(__doc__, "wrong", ("too-many-arrivals",), tell, FLAGGED, CLEAN)
