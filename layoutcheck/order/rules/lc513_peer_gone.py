"""LC513 peer-gone: a block accesses shared memory of another block that may have exited, or may not have begun.

## What it means

A block reads or writes the shared memory of another block of its cluster, or arrives at an mbarrier there, and nothing keeps that block from exiting
first. The access faults, or reads or writes the memory of another block. Or it reads or writes there before anything
says that the other block has begun.

## Why

CUDA C++ Programming Guide, Distributed Shared Memory: all blocks must have begun before one accesses the shared memory of
another, and a block must not exit before all remote accesses of its shared memory are done. On an H200 a kernel whose
peer has exited faults. That a peer has not begun is the guide's word alone: of 960,000 accesses that were a block's first
action on an H200 none was over before the peer had begun, and no store was lost (`docs/evidence/peer_begun.json`).

A barrier of the cluster, relaxed or not, says that the others have begun, and so does an arrival of theirs that the block
has waited for. `st.async`, multicast and bulk copies complete on an mbarrier that only the peer can initialise: without
such an order they are [LC506](lc506.md).

## How to fix it

`cute.arch.cluster_arrive()` and `cute.arch.cluster_wait()` by all blocks after the last remote access, and before the
first.
"""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, does, line, make_rule


def tell(problem: Problem, places: Places) -> tuple[str, str]:
    """The access, and the block that may be gone, or not there yet."""
    block = problem.facts["block"]
    if problem.kind == "peer-not-begun":
        return f"{line(places[0])} {places[0].what} shared memory of a block that may not have begun", (
            f"{does(places[0])}, in shared memory of block {block} of the cluster, and nothing before it says that block {block} has begun. "
            "Missing: cluster_arrive() and cluster_wait() before the first remote access."
        )
    arrives = "mbarrier" in places[0].what
    reached, where = ("", ", in") if arrives else (" shared memory", " from shared memory of")
    return f"{line(places[0])} {places[0].what}{reached} of a block that may have exited", (
        f"{does(places[0])}{where} block {block} of the cluster, and block {block} does not wait for anything after it. Missing: cluster_arrive() and cluster_wait() after the last remote access."
    )


FLAGGED = """
peer = cute.arch.map_dsmem_ptr(smem.iterator, rank ^ 1)
value = load(peer + thread)
# end of the kernel
"""
CLEAN = """
cute.arch.cluster_arrive()
cute.arch.cluster_wait()
peer = cute.arch.map_dsmem_ptr(smem.iterator, rank ^ 1)
value = load(peer + thread)
cute.arch.cluster_arrive()
cute.arch.cluster_wait()
"""

RULE = make_rule(__doc__, "wrong", ("peer-gone", "peer-not-begun"), tell, FLAGGED, CLEAN)
