"""LC524 lanes-not-synchronised: two lanes of a warp access one place, one writes, and no warp barrier stands between.

## What it means

One lane of a warp writes shared memory and another lane of the same warp reads it, and no `sync_warp`, barrier or wait stands
between the two. Or all lanes
write, one lane arrives at an mbarrier for all of them, and nothing orders the other lanes' stores before its arrival. Or
all lanes load, one lane arrives for all of them, and a thread that waits for this arrival overwrites the memory.

One lane's bulk store of what other lanes have written counts as well, and another lane's store over its source, which the
lane that copies has waited for alone.

Stores to tensor memory count as well: `tcgen05.wait::st` is about those of the waiting lane. If the lanes have not met after
it, one lane does not hand over what the others have stored (Dao-AILab/flash-attention 2c0f11e9).

## Why

PTX ISA, Memory Consistency Model: lanes are threads, and only a synchronisation such as `bar.warp.sync` orders them.
Lanes of a warp usually execute together, so the value is there. The compiler and the scheduler need not keep them
together: no run on an H200 showed a difference. PTX ISA, tcgen05.wait: the executing thread waits for its own operations.

## How to fix it

`cute.arch.sync_warp()` between the two accesses, or before the arrival.
"""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, line, make_rule, two


def tell(problem: Problem, places: Places) -> tuple[str, str]:
    """The store or load of one lane, and the access of another."""
    first, second = places[0], places[1]
    if problem.kind == "lane-arrives":
        return (
            f"{line(second)} {second.what} what {line(first)} {first.what}, and one lane of that warp has arrived for the others",
            f"{two(problem, places)} Missing: sync_warp() behind {line(first)}, before one lane arrives for its warp.",
        )
    return (
        f"{line(second)} {second.what} what another lane of the warp {first.what} at {line(first)}",
        f"{two(problem, places)} Missing: sync_warp() between them.",
    )


FLAGGED = """
smem[thread] = value
other = smem[thread ^ 1]  # the lane beside it
"""
CLEAN = """
smem[thread] = value
cute.arch.sync_warp()
other = smem[thread ^ 1]
"""

RULE = make_rule(__doc__, "note", ("lanes", "lane-arrives"), tell, FLAGGED, CLEAN)
