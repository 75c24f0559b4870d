"""LC532 read-swizzled: elements of a tile that TMA has written are read through another swizzle.

## What it means

A TMA load lays a tile out by the swizzle of its tensor map. Single elements of the tile are read, without a copy, through a
tensor whose pointer has another swizzle or none. At the place of one element the read finds another one.

## Why

TMA swizzles by the address in shared memory (PTX ISA, Tensor Swizzling Modes), and so does a swizzled pointer of CuTe DSL.
Only where both do the same is element (i, j) of the tensor element (i, j) of the box. The bytes read are those of the tile,
so bounds and order are right. It is a note, because a kernel may want all elements of a tile and not care which is
which, as for a maximum. Where the elements are moved on to global memory, [LC605](lc605.md) reports it.

## How to fix it

Read through the tensor that the tile was loaded into, or give the pointer the swizzle of the tensor map:
`cute.recast_ptr(pointer, cute.make_swizzle(3, 4, 3))`.
"""

from __future__ import annotations

from layoutcheck.digits import many
from layoutcheck.order.rules.rule import Places, Problem, does, line, make_rule


def tell(problem: Problem, places: Places) -> tuple[str, str]:
    """The read, and both swizzles."""
    seen, mapped = (problem.facts.get(name, "no swizzle") for name in ("seen", "mapped"))
    return (
        f"{line(places[0])} {places[0].what} a tile that TMA has written through another swizzle",
        f"{does(places[0])}, through {seen}; the tensor map of the tile has {mapped}. "
        f"{many(int(problem.facts['threads']), 'thread gets', 'threads get')} another element than the one that "
        f"{'it asks' if problem.facts['threads'] == 1 else 'they ask'} for.",
    )


FLAGGED = """
cute.copy(tma_load, gA, sA, tma_bar_ptr=bar)  # sA has S<3,4,3>
plain = cute.make_tensor(cute.recast_ptr(sA.iterator, cute.make_swizzle(0, 4, 3)), sA.layout)
total += plain[row, column] * weight
"""
CLEAN = """
cute.copy(tma_load, gA, sA, tma_bar_ptr=bar)
total += sA[row, column] * weight
"""

RULE = make_rule(__doc__, "note", ("read-swizzled",), tell, FLAGGED, CLEAN)
