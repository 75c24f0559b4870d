"""LC533 commit-not-awaited: tcgen05.commit arrives at an mbarrier of a block that may have exited.

## What it means

A block of a cluster has `tcgen05.commit` arrive at mbarriers of another block too (a multicast commit), and that block
ends without a wait for the last of these arrivals. The producer of a pipeline waits for stages that it is to fill again,
but not for the last use of each.

## Why

The arrival comes when the multiplications are done, after the instruction: tcgen05.commit is asynchronous (PTX ISA,
tcgen05.commit). A block must not exit before all remote accesses of its shared memory are done (CUDA C++ Programming
Guide, Distributed Shared Memory). A later commit at another mbarrier, which the block waits for, does not say that this
arrival has come. So `producer_tail` of CUTLASS's pipelines waits for each stage once more. flashinfer e9904ef32 mended
one: an illegal memory access.

It is a note, because the arrival of an earlier commit nearly always comes first.

## How to fix it

`producer_tail()` of the pipeline, or a wait for each stage behind the producer's loop, by a warp of every block that the
commit reaches; or `cute.arch.cluster_arrive()` and `cute.arch.cluster_wait()` by all blocks at the end.
"""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, does, line, make_rule


def tell(problem: Problem, places: Places) -> tuple[str, str]:
    """The commit, and the block that does not wait for it."""
    block = problem.facts["block"]
    return f"{line(places[0])} arrives (tcgen05.commit) at an mbarrier of a block that may have exited", (
        f"{does(places[0])}, and block {block} of the cluster ends without a wait for that arrival. "
        "Missing: producer_tail() of its pipeline, or cluster_arrive() and cluster_wait() at the end."
    )


FLAGGED = """
for k in range(tiles):
    producer.acquire_and_advance()  # block 1 ends behind its last load
...
tcgen05.commit(empty + stage, mask=0b11)  # by block 0
"""
CLEAN = """
for k in range(tiles):
    producer.acquire_and_advance()
producer.tail()
...
tcgen05.commit(empty + stage, mask=0b11)
"""

RULE = make_rule(__doc__, "note", ("commit-not-awaited",), tell, FLAGGED, CLEAN)
