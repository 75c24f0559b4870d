"""LC604 result-place: an element of C is stored at another row or column than those of its operands.

## What it means

An accumulator is the sum of a row of A times a column of B. layoutcheck followed both from global memory,
and the accumulator to its store. Along one mode the coordinate of C is not that of the row of A (or of the column of B), up
to one distance for the whole tile, although both run over the same coordinates, or nearly all of them. Rows or columns of C
change places. So may whole tiles, which layoutcheck compares from one tile to the next of the first blocks: where C is
stored at the tile (n, m), or one coordinate of a tile of A or B is that of the other. Or C is stored from a tile in shared memory that only partly holds results, and the rest was never written.

## Why

PTX ISA, mma.sync and wgmma.mma_async, "Matrix Fragments" of the accumulator: which row and column a register holds follows
from the lane and the register. If the operands are filled in another order than the one in which C is partitioned, or C
is copied out through a fragment of another layout, every copy is legal and C is permuted (seen on an H200).

## How to fix it

Partition C with the tiled MMA that multiplies, and make the copies of A, B and C from it: `make_tiled_copy_A`,
`make_tiled_copy_B`, `make_tiled_copy_C`, each with `retile`. Cut the tiles of A, B and C by one coordinate (m, n, k), with `proj`.
"""

from __future__ import annotations

from typing import Any

from layoutcheck.markdown import page_rule


def tell(letter: str, facts: dict[str, Any]) -> tuple[str, str]:
    """The first element that is stored elsewhere, or that no result comes to, and the count."""
    if "bare" in facts:
        message = (
            f"C{list(facts['at'])} is stored, beside results, from shared memory that nothing wrote; so are {facts['bare']:,} "
            f"elements. The tile of results is written and stored through different layouts or swizzles."
        )
        return "a part of C that no result comes to is stored", message
    who = "Two warps or warpgroups" if "groups" in facts else "Two blocks"
    if "again" in facts:
        message = (
            f"{who} store the same row of A times the same column of B, one at C{list(facts['at'])}, one at C{list(facts['again'])}. "
            "The coordinates of a tile of A or B are not those of the tile of C."
        )
        return "one result is stored at two places of C", message
    what = "row of A" if letter == "A" else "column of B"
    name = "m" if letter == "A" else "n"
    if "over" in facts:
        one, other = facts["over"]
        message = f"{who} store at C{list(facts['at'])}: one for the {what} with {name} = {one}, one for {name} = {other}."
        return "two results are stored at one place of C", message
    first = facts["first"]
    message = (
        f"C{list(facts['at'])} gets the sum of the {what} with {name} = {facts['coordinate']}, although C's coordinate "
        f"{first[0]} gets that of {name} = {first[1]}; {facts['differ']:,} of {facts['of']:,} elements change places."
    )
    return f"C is stored under another {name} than its {what}", message


FLAGGED = """
copy_b = cute.make_tiled_copy_B(ldmatrix, other_mma)
cute.gemm(tiled_mma, acc, rA, rB, acc)
cute.copy(store, acc, tiled_mma.get_slice(tidx).partition_C(gC))
"""
CLEAN = """
copy_b = cute.make_tiled_copy_B(ldmatrix, tiled_mma)
cute.gemm(tiled_mma, acc, rA, rB, acc)
cute.copy(store, acc, tiled_mma.get_slice(tidx).partition_C(gC))
"""

RULE = page_rule(__doc__, "wrong", FLAGGED, CLEAN)
