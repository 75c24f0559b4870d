"""LC511 copied-by-many: several lanes execute a bulk copy, and each starts a copy of its own.

## What it means

Several threads execute a bulk copy without a tensor map, and each starts the same copy. The
mbarrier then counts the bytes once for each thread, and its phases stay wrong.

## Why

PTX ISA, cp.async.bulk: each executing thread initiates a copy. The DSL, `CopyBulkG2SOp`: "The compiler does not
perform thread election for this operation" (for TMA copies it does). On an H200 the kernel hangs.

## How to fix it

`with cute.arch.elect_one():` around the copy, in one warp.
"""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, does, line, make_rule


def tell(problem: Problem, places: Places) -> tuple[str, str]:
    """The copy, and how many start it."""
    lanes = problem.facts["lanes"]
    return f"{lanes} lanes each start the bulk copy of {line(places[0])}", (
        f"{does(places[0])}, and so do {lanes} lanes of its warp, to the same place. Missing: elect_one() around it."
    )


FLAGGED = """
if warp == 0:
    cute.copy(bulk_load, gmem, smem, mbar_ptr=bar)
"""
CLEAN = """
if warp == 0:
    with cute.arch.elect_one():
        cute.copy(bulk_load, gmem, smem, mbar_ptr=bar)
"""

RULE = make_rule(__doc__, "wrong", ("copied-by-many",), tell, FLAGGED, CLEAN)
