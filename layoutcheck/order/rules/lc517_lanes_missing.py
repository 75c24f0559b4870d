"""LC517 lanes-missing: an instruction of the whole warp waits for lanes that wait for something else.

## What it means

A shuffle, a vote, `redux.sync`, `match.sync`, `ldmatrix` or `stmatrix` stands in a branch that some lanes of its mask do
not take. These lanes go on to a barrier, or to another such instruction, and wait there: the warp hangs.

## Why

PTX ISA, shfl.sync: it waits until all lanes of the mask that have not exited execute it; vote.sync, redux.sync and
match.sync say the same. ldmatrix and stmatrix are `.aligned`: all lanes of the warp must execute the same one. On an H200,
16 lanes that execute one of these with the mask of 32 hang if the others wait at `bar.sync` or `bar.warp.sync`. They go
on if the mask names the 16, if the others execute the same shuffle in the other branch, or if the others have nothing
more to wait for (then there is no finding).

## How to fix it

Take the instruction out of the branch, and choose its result by the condition. Or give the mask of the lanes that take the
branch (`mask=0xFFFF` for the first 16).
"""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, does, line, make_rule


def tell(problem: Problem, places: Places) -> tuple[str, str]:
    """The instruction, the lanes that come, and where the others are."""
    facts = problem.facts
    return (
        f"{line(places[0])} waits for {facts['all']} lanes of the warp, but only {facts['lanes']} arrive",
        f"{does(places[0])}, which waits for {facts['all']} lanes. Lanes {facts['missing']} of its warp do not come: "
        f"{does(places[1])}. The kernel hangs. Missing: the mask of the lanes that come, or the instruction outside of the branch.",
    )


FLAGGED = """
if tidx < 16:
    total = cute.arch.warp_reduction_sum(value, threads_in_group=16)
cute.arch.sync_threads()
"""
CLEAN = """
total = cute.arch.warp_reduction_sum(value, threads_in_group=16)
cute.arch.sync_threads()
"""

RULE = make_rule(__doc__, "wrong", ("lanes-missing",), tell, FLAGGED, CLEAN)
