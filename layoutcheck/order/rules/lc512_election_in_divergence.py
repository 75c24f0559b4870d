"""LC512 election-in-divergence: a warp elects a lane where not all of its lanes execute the election.

## What it means

`elect.sync` waits for all lanes of its mask, which is the whole warp. Here only some of the lanes
reach it, and the others wait for something else: the kernel hangs. A typical case is a TMA load,
which elects a lane by itself, inside `elect_one()` or under `if tidx == 0`.

## Why

PTX ISA, elect.sync: all threads of the mask must execute it. On an H200 a TMA load inside
`elect_one()` hangs. Lanes that exit do not block the election, and are not reported.

## How to fix it

Move the TMA copy out of `elect_one()`, into a branch that the whole warp takes.
"""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, does, line, make_rule


def tell(problem: Problem, places: Places) -> tuple[str, str]:
    """The election, and who comes."""
    facts = problem.facts
    return (
        f"{line(places[0])} elects a lane of the warp, but only {facts['lanes']} of {facts['all']} lanes arrive",
        f"{does(places[0])}: elect.sync waits for all {facts['all']} lanes of the warp, and lanes {facts['missing']} wait "
        "elsewhere. A TMA copy elects its lane itself: take it out of elect_one().",
    )


FLAGGED = """
with cute.arch.elect_one():
    cute.copy(tma_load, gmem, smem, tma_bar_ptr=bar)
"""
CLEAN = """
cute.copy(tma_load, gmem, smem, tma_bar_ptr=bar)
"""

RULE = make_rule(__doc__, "wrong", ("elect-in-divergence",), tell, FLAGGED, CLEAN)
