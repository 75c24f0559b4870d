"""LC520 barrier-in-divergence: only some lanes of a warp execute a barrier of the block.

## What it means

Only some lanes of a warp execute a barrier. The barrier counts whole warps, and on today's hardware
the lanes reconverge, so this works; PTX leaves it undefined.

## Why

PTX ISA, bar.sync (`barrier.sync.aligned`): all threads in the warp must execute the same instruction. On an H200
the result was right in every run.

## How to fix it

Move the barrier out of the condition, or use a condition that is the same for the whole warp.
"""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, does, line, make_rule


def tell(problem: Problem, places: Places) -> tuple[str, str]:
    """The barrier, and who comes."""
    lanes = problem.facts["lanes"]
    return f"{lanes} lanes of a warp execute the barrier of {line(places[0])}", (
        f"{does(places[0])}, with {lanes} lanes of its warp. PTX leaves that undefined."
    )


FLAGGED = """
if lane < 16:
    cute.arch.sync_threads()
"""
CLEAN = """
cute.arch.sync_threads()
"""

RULE = make_rule(__doc__, "note", ("barrier-in-divergence",), tell, FLAGGED, CLEAN)
