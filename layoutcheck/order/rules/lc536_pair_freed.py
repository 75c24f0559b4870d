"""LC536 pair-freed: a block frees the tensor memory of its pair while the other block may still use it.

## What it means

A block executes `tcgen05.dealloc` with `.cta_group::2`, and nothing orders it after what the other block of the pair does in
tensor memory.

## Why

One warp of each block of the pair performs that deallocation, and the issuing warp must make sure that the other block is
still active (PTX ISA, tcgen05.alloc, dealloc, relinquish_alloc_permit). What becomes of columns that the one block has freed
and the other still reads, the PTX ISA does not say. CUTLASS has the two blocks wait for one another before it
(`TmemAllocator.free` of the DSL, the kernels for two SMs in C++). It is a note: no GPU of sm_100 was at hand, and four of
NVIDIA's examples of primitives do without. Where LC504 says the same of the block's own threads, it alone is told.

## How to fix it

`TmemAllocator(..., is_two_cta=True)` and its `free`, which arrives at an mbarrier of the other block and waits for its
arrival; or `cute.arch.cluster_arrive()` and `cute.arch.cluster_wait()` by both blocks before `dealloc_tmem`.
"""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, line, make_rule, two


def tell(problem: Problem, places: Places) -> tuple[str, str]:
    """The deallocation, and the access by the other block."""
    freed, other = sorted(places[:2], key=lambda place: "frees" not in place.what)
    return (
        f"{line(freed)} frees tensor memory that the other block of the pair {other.what} at {line(other)}",
        f"{two(problem, places)} Missing: cluster_arrive() and cluster_wait() by both blocks before {line(freed)}.",
    )


FLAGGED = """
cute.copy(tiled_copy_t2r, accumulator, registers)  # by both blocks
if warp == 0:
    cute.arch.dealloc_tmem(tmem_ptr, columns, is_two_cta=True)
"""
CLEAN = """
cute.copy(tiled_copy_t2r, accumulator, registers)
cute.arch.cluster_arrive()
cute.arch.cluster_wait()
if warp == 0:
    cute.arch.dealloc_tmem(tmem_ptr, columns, is_two_cta=True)
"""

RULE = make_rule(__doc__, "note", ("pair-freed",), tell, FLAGGED, CLEAN)
