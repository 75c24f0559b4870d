"""LC503 copied-over-unread: a copy overwrites shared memory that other threads may still read.

## What it means

The next tile is copied into a buffer before all threads have read the previous one: a stage is
released before its last read, a barrier is missing at the end of the loop, or the prefetch runs
further ahead than there are stages.

## Why

A read and an asynchronous write of one location by different threads, with nothing between them that orders the
two (PTX ISA, Memory Consistency Model: causality order). Without the second barrier of a single-buffered loop the
output is wrong on an H200.

## How to fix it

Put a barrier between the last read of the buffer and the next copy into it (`cute.arch.sync_threads()`, or
`consumer_release(state)` after the last read and `producer_acquire(state)` before the copy), or add a
stage.
"""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, line, make_rule, two


def tell(problem: Problem, places: Places) -> tuple[str, str]:
    """The read, the copy, and the barrier between them."""
    first, second = places[0], places[1]
    missing = (
        f"Missing: a barrier between {line(first)} and {line(second)} (sync_threads(), or the release of the stage after "
        "its last access and an acquire before the copy)."
    )
    return (
        f"{line(second)} {second.what} over what {line(first)} may not have read yet",
        f"{two(problem, places)} {missing}",
    )


FLAGGED = """
for tile in cutlass.range(tiles):
    cute.copy(cp_async, gmem[tile], smem)
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    use(smem[other])  # the next turn's copy does not wait for it
"""
CLEAN = """
for tile in cutlass.range(tiles):
    cute.copy(cp_async, gmem[tile], smem)
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    use(smem[other])
    cute.arch.sync_threads()
"""

RULE = make_rule(__doc__, "wrong", ("overwritten-by-copy",), tell, FLAGGED, CLEAN)
