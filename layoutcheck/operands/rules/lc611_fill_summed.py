"""LC611 fill-summed: a sum over lanes counts what was filled in beyond the end of a row.

## What it means

A row ends before its tile does, and a predicate keeps some lanes from loading. They hold what is filled in: the zeros of
`cp.async`, or what the fragment was filled with. For a plain sum 0 is right, for a maximum minus infinity. Here the kernel
computes with these numbers first: `x - mean` makes -mean of 0, `exp(x - maximum)` makes a power of it. What becomes of
them is not 0, and it is added up with the elements of the row. The line stores the sum, or what is made of it, to an
element of a tensor.

## Why

quack's LayerNorm had this fault (commit 9310d47): its variance counted the square of the mean once for each column beyond
the end. No copy and no address is wrong, and rows of whole tiles are right.

layoutcheck evaluates the kernel with a sample for each number: every loaded element is positive, about 1. What is made of
a fill, of constants, and of sums or maxima over lanes is known as the number that stands in the place of an element. If it
is not 0 where lanes are added up by shuffles, the sum is wrong for these elements, and so is what is made of it. These
are not told: a sum that takes off what the fills have added; numbers that a mask sets to 0 in between; 0 times anything;
what is lost in the sum's rounding; a default other than 0 and less than 10000, which may be meant.

It is told for a call that the program makes, or, if it makes none, for all dynamic extents that are tried. What only
other extents show is a note. The first and the last block of the grid are followed. Not looked at are kernels with
mbarriers, with `bar.arrive`, or with products of the tensor cores, fills of TMA, what comes through inline PTX that is not
one instruction, through packed words, and sums that a single thread makes. A choice that a value in memory decides ends
what is followed.

A number that is set to 0 by a predicate of indices counts as filled in, whatever the predicate means: a mask of a
pattern that is known when the kernel is compiled, say.

## How to fix it

Set the numbers to 0 once more before they are summed, by the predicate of the load. Or fill with what the whole
computation makes neutral: minus infinity before `exp(x - maximum)`.
"""

from __future__ import annotations

from typing import Any

from layoutcheck.markdown import page_rule
from layoutcheck.operands.rules.lc610_value_unset import conditions


def tell(facts: dict[str, Any]) -> tuple[str, str]:
    """Which threads of which block store it."""
    first, last = facts["threads"]
    who = f"Thread {first} stores" if first == last else f"Threads {first} to {last} store"
    block = "".join(str(tuple(facts["block"])).split())
    return "a sum counts what was filled in beyond the end of a row", (
        f"{who} it in block {block}. Lanes that load nothing there hold a fill; what the kernel makes of it is not 0 "
        f"when the lanes are added up.{conditions(facts)} Set it to 0 before the sum, by the predicate of the load, or "
        "fill with a number that the computation makes neutral."
    )


FLAGGED = """
fragment.fill(0.0)
for i in cutlass.range_constexpr(4):
    if column + i < n:
        fragment[i] = row[column + i]
centred = fragment.load() - mean
squares = (centred * centred).reduce(cute.ReductionOp.ADD, cutlass.Float32(0.0), 0)
variance = cute.arch.warp_reduction_sum(squares) / n
"""
CLEAN = """
fragment.fill(0.0)
for i in cutlass.range_constexpr(4):
    if column + i < n:
        fragment[i] = row[column + i]
centred.store(fragment.load() - mean)
for i in cutlass.range_constexpr(4):
    if column + i >= n:
        centred[i] = 0.0
squares = (centred.load() * centred.load()).reduce(cute.ReductionOp.ADD, cutlass.Float32(0.0), 0)
variance = cute.arch.warp_reduction_sum(squares) / n
"""

RULE = page_rule(__doc__, "wrong", FLAGGED, CLEAN)
