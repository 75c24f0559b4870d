"""LC535 never-read: threads store partial results, and what reads them leaves some out.

## What it means

One lane of each warp stores a number to shared memory, as its part of a sum or a maximum over the block. Every thread that
reads these numbers reads the same ones, and not those of the warps that are named: their part is lost. The same holds if more
lanes store what they have summed, as in a sum by columns or by halves, and if nothing reads what any of them stores.

## Why

A reduction over the block has one partial result for each warp (CUDA C++ Programming Guide, Warp Shuffle Functions: a warp
reduces by itself, warps meet in shared memory). A loop over one warp too few, as over the warps of another block size, gives a
result that is right where the last part is 0, and nearly right otherwise.

It is a note, because a kernel may store what it does not need, as of a warp that has nothing to add. Nothing is said where
threads read different numbers or choose among them, as in an exclusive scan over the warps, and where the warps that
are left out read the others and use their own from registers; and where something reads shared memory in a branch that
the checked block does not take.

## How to fix it

Read the numbers of all warps: let the loop's count and the size of the array come from one constant.
"""

from __future__ import annotations

from layoutcheck.digits import many
from layoutcheck.order.rules.rule import Places, Problem, does, line, make_rule


def tell(problem: Problem, places: Places) -> tuple[str, str]:
    """The warp whose number is left out, and a thread that reads the others."""
    store, count, of = places[0], problem.facts["read"], problem.facts["of"]
    first = problem.first
    assert first is not None
    at = f"byte {first.address} of shared memory"
    if len(places) < 2:
        return f"nothing reads the {of} partial results that {line(store)} stores", (
            f"{does(store).capitalize()} a sum or a maximum to {at}, and nothing reads what any thread stores there."
        )
    read, warp = places[1], problem.facts["warp"]
    mine, others, each = "a partial result", many(int(count), "other"), f"{count} of {of} partial results"
    if warp != -1:
        mine, others = f"the number of warp {warp}", f"the numbers of {many(int(count), 'other warp')}"
        each = f"the numbers of {count} of {of} warps"
    return f"{line(read)} reads {each} that {line(store)} stores", (
        f"{does(store).capitalize()} {mine} to {at}, and nothing reads it. {does(read).capitalize()} {others}."
    )


FLAGGED = """
if lane == 0:
    partial[warp] = total
cute.arch.sync_threads()
for i in cutlass.range_constexpr(WARPS - 1):
    result = result + partial[i]
"""
CLEAN = """
if lane == 0:
    partial[warp] = total
cute.arch.sync_threads()
for i in cutlass.range_constexpr(WARPS):
    result = result + partial[i]
"""

RULE = make_rule(__doc__, "note", ("never-read",), tell, FLAGGED, CLEAN)
