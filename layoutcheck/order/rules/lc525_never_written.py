"""LC525 never-written: shared memory is read that nothing in the kernel writes.

## What it means

No byte that this operation reads, in any turn of its loops and by any thread, is written by anything in the kernel:
not by a store, a copy, a TMA load or an mbarrier, of any block of the cluster, whether its predicate holds or not.
Atomic operations that add to what is there, or compare with it, do not count: a histogram that is not cleared is told.
What it returns is what the block before left there.

## Why

Shared memory is not initialised at the start of a block (CUDA C++ Programming Guide, `__shared__`). A store behind a
condition that is known when the kernel is built is gone if the condition is false, and the reader stays: FlashAttention
2f78d484 wrote the row maximum only for a kernel with LSE and read it for an attention sink, too. The test passes if
the bytes happen to be right.

It is a note, because a kernel may read such bytes on purpose, as to measure loads. Nothing is said where a write
goes to an address that only a run knows, or where only a part of the bytes is missing: if that part reaches a
tensor, LC610 tells it.

## How to fix it

Write the bytes in every variant of the kernel that reads them, or read them under the condition that they are written.
`layoutcheck trace --memory` shows which line reaches which bytes.
"""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, line, make_rule, where_bytes, who


def tell(problem: Problem, places: Places) -> tuple[str, str]:
    """The reader, and how many bytes it reads."""
    place, count = places[0], problem.facts["bytes"]
    adds = " Atomic operations that add to what is there do not count." if problem.facts.get("adds") else ""
    return f"{line(place)} {place.what} shared memory that nothing writes", (
        f"{who(place).capitalize()} {place.what} {where_bytes(problem)}. Nothing in the kernel writes them, nor any "
        f"other of the {count} bytes that this operation reads at once.{adds}"
    )


FLAGGED = """
if const_expr(with_lse):
    row_max[thread] = maximum
cute.arch.sync_threads()
if const_expr(with_sink):
    total = total + row_max[thread]
"""
CLEAN = """
if const_expr(with_lse or with_sink):
    row_max[thread] = maximum
cute.arch.sync_threads()
if const_expr(with_sink):
    total = total + row_max[thread]
"""

RULE = make_rule(__doc__, "note", ("never-written",), tell, FLAGGED, CLEAN)
