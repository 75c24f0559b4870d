"""LC606 blocks-transposed: a kernel transposes the blocks of a tile, and not the elements inside them.

## What it means

A kernel without a product moves elements from one global tensor to another of the same extents, through shared memory.
layoutcheck followed them: at one step of a coordinate the element comes from the next row, at another step of the same
coordinate from the next column. The result is neither the tensor nor its transpose.

## Why

This happens if a tile is written with one pair of strides and read with the other one: ldmatrix then takes the rows of
the transposed tile, and hands out matrices that are not transposed. On an H200 such a kernel returns permuted blocks.
It is a note, because a kernel that packs weights into tiles does it on purpose.

## How to fix it

Read the tile through the layout that it was written with. For the transpose of the tile: ldmatrix or stmatrix with
`transpose=True`.
"""

from __future__ import annotations

from typing import Any

from layoutcheck.markdown import page_rule


def tell(facts: dict[str, Any]) -> tuple[str, str]:
    """The first element of a block that changes places."""
    message = (
        f"{list(facts['at'])} of the tensor that is stored gets {list(facts['held'])} of the one that is loaded, but "
        f"elements inside a block keep their rows; {facts['differ']:,} of {facts['of']:,} elements change places. If "
        f"this is not meant, the tile is written and read with different strides, or ldmatrix should transpose."
    )
    return "blocks of a tile are transposed, the elements inside them are not", message


FLAGGED = """
tile = cute.make_tensor(pointer, cute.make_layout((64, 64), stride=(64, 1)))
other = cute.make_tensor(pointer, cute.make_layout((64, 64), stride=(1, 64)))
cute.copy(copy_g2s, tAgA, thr_copy.partition_D(tile))
cute.copy(ldmatrix, thr_matrix.partition_S(other), registers)  # not transposed
"""
CLEAN = """
tile = cute.make_tensor(pointer, cute.make_layout((64, 64), stride=(64, 1)))
cute.copy(copy_g2s, tAgA, thr_copy.partition_D(tile))
cute.copy(ldmatrix, thr_matrix.partition_S(tile), registers)
"""

RULE = page_rule(__doc__, "note", FLAGGED, CLEAN)
