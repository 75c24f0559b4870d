"""LC502 source-overwritten: shared memory is overwritten while a bulk store or a tensor core still reads it.

## What it means

A bulk or TMA store, or a wgmma, reads shared memory after its instruction has returned. Another
write reaches that memory before the read is known to be complete: the output has bytes of the next
tile.

## Why

PTX ISA, cp.async.bulk.wait_group: only after `wait_group` (or `wait_group.read`) by the thread that committed the
group have its source reads completed. PTX ISA, wgmma.mma_async: accesses of its operands before
`wgmma.wait_group` are undefined. Both corrupt the output on an H200.

## How to fix it

The issuing thread waits, then a barrier tells the others: `cute.arch.cp_async_bulk_wait_group(0, read=True)`
(`tma_store_wait`, `PipelineTmaStore.producer_acquire`) or `warpgroup.wait_group(0)`, then
`cute.arch.sync_threads()` or the release of the stage.
"""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, line, make_rule, two


def tell(problem: Problem, places: Places) -> tuple[str, str]:
    """The asynchronous read, the overwrite, and the wait between them."""
    first, second = places[0], places[1]
    wait = "warpgroup.wait_group(0)" if "wgmma" in first.what else "cp_async_bulk_wait_group(0, read=True)"
    if "tcgen05" in first.what:
        missing = f"Missing: tcgen05.commit to an mbarrier behind {line(first)}, and a wait for that phase before {line(second)}."
    elif problem.facts.get("cause") == "no-barrier" and len(places) > 2:
        missing = f"Missing: a barrier between the wait at {line(places[2])} and {line(second)}."
    elif problem.facts.get("cause") == "wait-count" and len(places) > 2:
        facts = problem.facts
        lower = f" (or a number up to {facts['most']})" if int(facts["most"]) else ""
        missing = (
            f"The wait at {line(places[2])} lets {facts['pending']} of the newest groups go on, this one among them. "
            f"Missing: {wait}{lower} in its place."
        )
    else:
        missing = f"Missing: {wait} by the thread that issues it, and a barrier, before {line(second)}."
    return f"{line(second)} {second.what} what {line(first)} still reads", f"{two(problem, places)} {missing}"


FLAGGED = """
cute.copy(tma_store, smem, gmem)
cute.arch.cp_async_bulk_commit_group()
cute.arch.sync_threads()
smem[thread] = next_value  # the store may not have read it yet
"""
CLEAN = """
cute.copy(tma_store, smem, gmem)
cute.arch.cp_async_bulk_commit_group()
cute.arch.cp_async_bulk_wait_group(0, read=True)
cute.arch.sync_threads()
smem[thread] = next_value
"""

RULE = make_rule(__doc__, "wrong", ("overwritten-while-copied",), tell, FLAGGED, CLEAN)
