"""LC529 register-limits: setmaxnreg is executed by some warps of a warpgroup, or asks for more registers than there are.

## What it means

One of two things:

- Some warps of a warpgroup (four warps in a row) execute `setmaxnreg`, and another warp of it does not.
- The warps together raise their limits to more registers than an SM has. The last increase waits for ever.

## Why

PTX ISA, setmaxnreg: the same `setmaxnreg` must be executed by all warps of a warpgroup, otherwise the behaviour is
undefined. `setmaxnreg.inc` blocks until the block has as many registers free; an SM has 64 K of 32 bits. A warp without
a role is easily forgotten: quack 97c98dc mended a kernel that hung because its idle warp kept its registers. It is a note:
whether the kernel hangs depends on how many registers the compiler gave it.

## How to fix it

`setmaxregister_decrease` in every warp of the warpgroup, also in those that have nothing else to do. Limits whose sum over
all threads is at most 65,536.
"""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, does, line, make_rule


def tell(problem: Problem, places: Places) -> tuple[str, str]:
    """The setmaxnreg, and the warps that lack it."""
    facts, place = problem.facts, places[0]
    if problem.kind == "limits-too-high":
        return (
            f"{line(place)} {place.what}, more than are left",
            f"The limits of all warps are {facts['total']:,} registers; an SM has {facts['pool']:,}.",
        )
    return (
        f"{line(place)} {place.what}, but not in every warp of the warpgroup",
        f"{does(place)}. Of the {facts['of']} warps of warpgroup {facts['group']}, these do not: {facts['lacking']}. "
        f"Missing: the same setmaxregister_decrease or setmaxregister_increase in them.",
    )


FLAGGED = """
if warp_idx == mma_warp:
    cute.arch.setmaxregister_decrease(64)
"""
CLEAN = """
if warp_idx >= 4:  # the whole warpgroup
    cute.arch.setmaxregister_decrease(64)
"""

RULE = make_rule(__doc__, "note", ("limit-of-some-warps", "limits-too-high"), tell, FLAGGED, CLEAN)
