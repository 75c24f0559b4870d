"""LC514 race-between-blocks: two blocks of the grid access the same global memory, at least one writes, and nothing orders them.

## What it means

One block writes bytes of global memory that another block of the same launch reads or writes, and
the kernel has no release and acquire, and no fence, that could order blocks. Which value the reader gets depends on
which block runs first.

A kernel that has them is reported if they cannot order a store of one block and a load of another one, whichever
comes first: no release covers the one, or no acquire comes before the other. One thread that releases without a barrier
before it covers its own accesses alone. One that acquires without a barrier behind it orders its own alone.

The rule compares block (0, 0, 0) with the first block outside its cluster in each direction of the grid. It
reports nothing about addresses that depend on dynamic layouts or loaded values, about atomics and TMA copies, and
about one line by which several blocks write the same bytes (usually with the same value; it is reported if each thread's
number is made of other elements of global memory, by arithmetic alone). Of a kernel with release and acquire,
or with a fence at the scope of the GPU, nothing else is checked: not whether an acquire sees that release. Kernels with
inline PTX that orders are left alone, and so are those in which a value that only a run knows decides whether something
that orders is executed.

## Why

PTX ISA, Memory Consistency Model: Causality Order; Release and Acquire Patterns. Relaxed accesses of a flag order
nothing: on an H200 a reader that waits for a flag by relaxed loads still gets old values from its L1 cache, whatever
sets the flag. With a fence behind such loads, or an acquire, no load of 7.7 million got one, and a weak store of the
flag behind a fence did as well as a release. ptxas makes one load of a loop of weak loads, which ends at no flag
(`docs/evidence/flags.json`).

## How to fix it

`cute.arch.store(flag, 1, sem="release", scope="gpu")` after a barrier of the writing block, and in the reading block
`cute.arch.load(flag, Int32, sem="acquire", scope="gpu")` until it is set, then a barrier. All blocks must be
resident, or a second kernel must do the reading. If one statement writes one place in several blocks, no release helps: give
each block a place of its own, or add by an atomic operation.
"""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, alone, line, make_rule

_MISSING = {  # why nothing orders the two, and what would
    "not-released": (
        "no release covers the store",
        "a barrier of the block between the store and the release: a release covers what its own thread knows of.",
    ),
    "not-written": (
        "no release covers the copy",
        "cp_async_bulk_wait_group(0) by the thread that copies, without read=True, between the copy and the release; "
        "and a barrier of the block, if another thread releases.",
    ),
    "not-acquired": (
        "no acquire comes before the load",
        "a barrier of the block between the acquire and the load: other threads know nothing of an acquire.",
    ),
    "race-between-blocks": (
        "nothing orders them",
        "a release at the scope of the GPU by the first block and an acquire by the second, or a second kernel.",
    ),
}


def tell(problem: Problem, places: Places) -> tuple[str, str]:
    """The two accesses, each with its block."""
    first, second = places[0], places[1]
    done = [
        f"thread {p.thread} of block {p.block} of the grid {p.what} at {line(p)}" for p in (first, second)
    ]
    what = f"{done[0][:1].upper()}{done[0][1:]}; {done[1]}; both access the same global memory."
    if missing := alone(places, "block"):
        return f"{line(first)} {first.what} one place by several blocks, in no order", f"{what} {missing}"
    why, missing = _MISSING[problem.kind]
    return (
        f"{line(second)} {second.what} global memory that another block {first.what} at {line(first)}, and {why}",
        f"{what} Missing: {missing}",
    )


FLAGGED = """
work[thread, block] = value
cute.arch.sync_threads()
other = work[thread, block + 1]
"""
CLEAN = """
work[thread, block] = value
cute.arch.sync_threads()
if thread == 0:
    cute.arch.store(flags.iterator + block, Int32(1), sem="release", scope="gpu")
    seen = Int32(0)
    while seen == 0:
        seen = cute.arch.load(flags.iterator + block + 1, Int32, sem="acquire", scope="gpu")
cute.arch.sync_threads()
other = work[thread, block + 1]
"""

RULE = make_rule(__doc__, "wrong", tuple(_MISSING), tell, FLAGGED, CLEAN)
