"""LC516 tensor-memory: a kernel reaches columns of tensor memory that it did not allocate, or does not free its columns.

## What it means

A block allocates columns of tensor memory (`tcgen05.alloc`, `TmemAllocator.allocate`). One of its loads, stores or MMAs
reaches a column beyond these, which may belong to another block. Or the kernel does not free its columns. Or it asks for
more than the 512 columns of an SM, and waits for ever.

## Why

PTX ISA, Tensor Memory Allocation and Management: a kernel may access only what is allocated, has to deallocate all of it
before it ends, and `tcgen05.alloc` waits until enough columns are free. Not run: no Blackwell GPU was at hand.

## How to fix it

Allocate the columns that accumulators and operands need, rounded up to 32, 64, 128, 256 or 512. Let the warp that
allocated them free them, after the last access. `layoutcheck trace --memory` shows the calls.
"""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, line, make_rule


def tell(problem: Problem, places: Places) -> tuple[str, str]:
    """The allocation, and the access behind it; the allocation that is not freed; the two that are too many."""
    first, last = places[0], places[-1]
    facts = problem.facts
    if problem.kind == "tmem-kept":
        return (
            f"the tensor memory that {line(last)} allocates is not freed",
            f"{line(last)} allocates tensor memory, and nothing in the kernel frees it. The columns stay taken: the next "
            "block that allocates may wait for ever.",
        )
    if problem.kind == "tmem-full":
        return (
            f"{line(last)} waits for tensor memory that cannot get free",
            f"{line(last)} allocates {facts['columns']} columns. The block has {facts['held']} of the 512 by then, {line(first)} "
            "the last of them, and frees none before.",
        )
    return (
        f"{line(last)} reaches tensor memory that is not allocated",
        f"{line(first)} allocates {facts['columns']} columns, the kernel's only ones. {line(last)} {last.what} up to column "
        f"{facts['end']}.",
    )


FLAGGED = """
tmem.allocate(128)
accumulator = cute.make_tensor(tmem.retrieve_ptr(cutlass.Float32), layout)  # 128 x 256
cute.gemm(tiled_mma, accumulator, a, b, accumulator)
"""
CLEAN = """
tmem.allocate(256)
accumulator = cute.make_tensor(tmem.retrieve_ptr(cutlass.Float32), layout)  # 128 x 256
cute.gemm(tiled_mma, accumulator, a, b, accumulator)
"""

RULE = make_rule(__doc__, "wrong", ("tmem-beyond", "tmem-kept", "tmem-full"), tell, FLAGGED, CLEAN)
