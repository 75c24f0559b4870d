"""LC527 narrow-release: a block publishes what it wrote to another block by an arrival of block scope.

## What it means

Threads of one block of a cluster write, and then arrive at an mbarrier of another block, which waits there and uses
what they wrote. The arrival releases to its own block only, and no fence of the cluster stands before it.

## Why

Without `.scope`, `mbarrier.arrive` has the scope `.cta` (PTX ISA, mbarrier.arrive), also at an mbarrier of another
block. Two operations of different blocks synchronise only if the scope of each includes the other (PTX ISA, Memory
Consistency Model: Scope and Morally Strong Operations). `cute.arch.mbarrier_arrive` with a peer makes such an
arrival. quack 3d58cbf mended one: the rows that a block gathers are read by the multiplication of the other.

It is a note: no wrong result of it is known, and the waits of CUTLASS's pipelines are of block scope too.

## How to fix it

Before the arrival, fence at the scope of the cluster, or arrive with that scope (`mbarrier.arrive.release.cluster`), and
let the other block acquire with it.
"""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, line, make_rule, two


def tell(problem: Problem, places: Places) -> tuple[str, str]:
    """Both accesses and the arrival."""
    first, second, arrival = places[0], places[1], places[2]
    return (
        f"{line(second)} {second.what} what another block {first.what} at {line(first)}, released to that block only",
        f"{two(problem, places)} Only {line(arrival)} orders them, an arrival whose scope is its own block. "
        "Missing: a fence or an arrival at the scope of the cluster.",
    )


FLAGGED = """
data[thread] = value
cute.arch.sync_threads()
if thread == 0:
    cute.arch.mbarrier_arrive(bar, peer)
"""
CLEAN = """
data[thread] = value
cute.arch.sync_threads()
if thread == 0:
    cute.arch.fence_acq_rel_cluster()
    cute.arch.mbarrier_arrive(bar, peer)
"""

RULE = make_rule(__doc__, "note", ("narrow-release",), tell, FLAGGED, CLEAN)
