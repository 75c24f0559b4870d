"""LC521 exit-while-copied: a warp exits while its bulk store may still read shared memory.

## What it means

No `cp.async.bulk.wait_group` follows the last bulk or TMA store: the block may exit, and the next
block may get its shared memory, before the store has read it.

## Why

PTX ISA, cp.async.bulk.wait_group.read; CUTLASS ends with `tma_store_wait(0)` or `PipelineTmaStore.producer_tail`.
30 runs on an H200 that tried to show the fault did not show it, so this is a note.

## How to fix it

`cute.arch.cp_async_bulk_wait_group(0, read=True)` by the issuing thread before the kernel ends, or
`PipelineTmaStore.producer_tail()`.
"""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, does, line, make_rule


def tell(problem: Problem, places: Places) -> tuple[str, str]:
    """The last store."""
    assert problem.second is not None
    return f"the kernel ends while the store of {line(places[0])} may still read shared memory", (
        f"{does(places[0])}, and no cp_async_bulk_wait_group(0, read=True) follows (PipelineTmaStore.producer_tail())."
    )


FLAGGED = """
cute.copy(tma_store, smem, gmem)
cute.arch.cp_async_bulk_commit_group()
# end of the kernel
"""
CLEAN = """
cute.copy(tma_store, smem, gmem)
cute.arch.cp_async_bulk_commit_group()
cute.arch.cp_async_bulk_wait_group(0, read=True)
"""

RULE = make_rule(__doc__, "note", ("exit-while-copied",), tell, FLAGGED, CLEAN)
