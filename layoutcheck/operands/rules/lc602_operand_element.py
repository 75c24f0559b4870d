"""LC602 operand-element: an operand of a product holds elements that do not share its rows and its k.

## What it means

All elements in one row of a tensor core's operand must have the same m (or n), and all elements of one k the same k
coordinate. layoutcheck followed the elements from global memory through every copy to the instruction. Some of them belong
to another row or another k than their neighbours. There are four usual causes:

- The tile is written through one layout, or one swizzle, and read through another.
- ldmatrix transposes although it should not, or the reverse.
- The registers are filled in another order than the MMA's.
- A sum continues in other registers of C than it began in, so that one row is added to another.
- A sum continues with the next tile: ACCUMULATE is not set to False, or the accumulators are not cleared. Running sums that
  are stored after each tile may be meant if only one operand moves, and the grid does not decide which tile is next: the summary
  mentions them.

## Why

PTX ISA, mma.sync, "Matrix Fragments", and wgmma.mma_async, "Shared Memory Matrix Layout": only the lane and register,
or the matrix descriptor and its swizzle, decide which element of A and B a value is. Each copy on the way may be legal, and
still no assignment of rows and k fits the elements that arrive. On an H200 such kernels return wrong sums.

## How to fix it

Allocate the shared tile with one layout and its swizzle, and give that tensor to every copy and to the MMA. For ldmatrix:
`transpose=True` if the operand's tile is contiguous along M or N. For fragments: `make_tiled_copy_A` or `make_tiled_copy_B` of
the tiled MMA, and `retile`. For wgmma and tcgen05: the layout atom that `layoutcheck canonical` names.
"""

from __future__ import annotations

from typing import Any

from layoutcheck.markdown import page_rule


def tell(letter: str, facts: dict[str, Any]) -> tuple[str, str]:
    """The first element that is not of its row and k."""
    if facts.get("product"):
        return _of_product(letter, facts)
    held, taken = (f"{letter}{list(facts[key])}" for key in ("held", "taken"))
    if facts.get("sum"):
        why = (
            "The accumulators go on from one tile to the next: set ACCUMULATE to False for a tile's first k-block, or clear them."
            if facts.get("tile")
            else "The accumulator's registers change places between two instructions: give all products of a sum one fragment of C."
        )
        message = f"row {facts['row']} of the instruction is that of {held}, and its sum began with the row of {taken}. {why}"
        return f"rows of {letter} are added to sums of other rows", message
    title = f"{letter} of a product holds elements of other rows or of another k"
    expected = f"; the other elements of its row and of its k make it {taken}" if facts["taken"] else ""
    message = (
        f"{facts['where']} holds {held}{expected}. The tile is written and read through different layouts or swizzles, "
        f"or the fragment is filled in another order than the MMA's."
    )
    return title, message


def _of_product(letter: str, facts: dict[str, Any]) -> tuple[str, str]:
    """The same where the operand is the result of another product, as P of attention is."""
    held, taken = (
        " and ".join(f"{name} = {at}" for name, at in zip(facts["product"], facts[key], strict=True))
        for key in ("held", "taken")
    )
    title = f"{letter} of a product holds results of another product in another order"
    message = (
        f"{facts['where']} holds the result of another product at {held}; the other elements of its row and of its k "
        f"make it {taken}. The registers of that accumulator are not taken in the order of this MMA's {letter}: "
        f"make the fragment from the accumulator's layout (`cute.make_layout` of its modes, or `retile`)."
    )
    return title, message


FLAGGED = """
swizzled = cute.recast_ptr(sA.iterator, cute.make_swizzle(3, 4, 3), dtype=sA.element_type)
cute.copy(copy_g2s, tAgA, thr_copy.partition_D(cute.make_tensor(swizzled, sA.layout)))
cute.copy(copy_s2r, thr_a.partition_S(sA), thr_a.retile(rA))  # reads without the swizzle
cute.gemm(tiled_mma, acc, rA, rB, acc)
"""
CLEAN = """
cute.copy(copy_g2s, tAgA, thr_copy.partition_D(sA))
cute.copy(copy_s2r, thr_a.partition_S(sA), thr_a.retile(rA))
cute.gemm(tiled_mma, acc, rA, rB, acc)
"""

RULE = page_rule(__doc__, "wrong", FLAGGED, CLEAN)
