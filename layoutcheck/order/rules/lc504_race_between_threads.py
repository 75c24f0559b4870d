"""LC504 race-between-threads: two threads of a block access the same memory, at least one writes, and no barrier orders them.

## What it means

One thread writes bytes of shared memory that a thread of another warp reads or writes, and no barrier, mbarrier or
other synchronisation is between the two accesses. Their order is undefined. The same holds in global memory, as in an
update in place that reads what another thread of its block overwrites.

Not reported: one statement by which several threads write the same address (usually with the same
value; it is reported if each thread's number is made of other elements of global memory, by arithmetic alone, unless
they all share one place and the other threads have their own, as beyond a tensor's end), the same constant written twice, two atomics, and two lanes of one warp. Of global memory, nothing is reported at
addresses that depend on dynamic arguments or loaded values, nor in a kernel with fences, or with acquire and release.

## Why

PTX ISA, Memory Consistency Model: "data race": two conflicting accesses, at least one a write, that causality does
not order. Seen on an H200 with the barrier left out, under a condition that half of the warps take, and with a count
that lets the first half through.

## How to fix it

`cute.arch.sync_threads()` (all threads of the block, outside of conditions that warps take differently) or
`cute.arch.barrier(barrier_id=, number_of_threads=)` (those that take part) between the two lines. If both are one
statement, give each thread a place of its own, or let one of them write.
"""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, alone, line, make_rule, two


def tell(problem: Problem, places: Places) -> tuple[str, str]:
    """The two accesses."""
    first, second = places[0], places[1]
    if missing := alone(places, "thread"):
        return (
            f"{line(first)} {first.what} one place by several threads, in no order",
            f"{two(problem, places)} {missing}",
        )
    barrier = "a barrier that both execute"
    if first.block != second.block:
        barrier = "cluster_arrive() and cluster_wait() by both blocks"
    missing = f"Missing: {barrier} between {line(first)} and {line(second)}."
    return (
        f"{line(second)} {second.what} what another thread {first.what} at {line(first)}, with no barrier between",
        (f"{two(problem, places)} {missing}"),
    )


FLAGGED = """
smem[thread] = value
other = smem[(thread + 32) % threads]
"""
CLEAN = """
smem[thread] = value
cute.arch.sync_threads()
other = smem[(thread + 32) % threads]
"""

RULE = make_rule(__doc__, "wrong", ("race",), tell, FLAGGED, CLEAN)
