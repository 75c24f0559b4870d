"""LC601 operand-order: a copy fills an MMA's fragment in another order than the MMA reads it.

## What it means

A fragment is made from the MMA's partition of a tensor, and a tiled copy of the same tensor fills it. The copy puts
other elements into the registers than the partition has there. Rows of A or columns of B change places although C is stored
by the MMA's own partition, or the k of A are in another order than the k of B. The shapes agree, so the compiler accepts
the kernel, and the product is wrong.

## Why

PTX ISA, mma.sync: the element that a register holds follows from the lane and the register alone. A tiled copy has an
order of its own (its layout_tv). `make_tiled_copy_A` and `make_tiled_copy_B` give it the MMA's order. If it is made for
another tiled MMA (another permutation, other warps), or for the other operand, the orders differ. On an H200 such a kernel
returns wrong sums. An order of k that A and B share is not reported, because it changes no product.

## How to fix it

`cute.make_tiled_copy_A(atom, tiled_mma)` and `cute.make_tiled_copy_B(atom, tiled_mma)` with the tiled MMA that `cute.gemm`
is given, for the partition, the `retile` and the copy.
"""

from __future__ import annotations

from layoutcheck.markdown import page_rule
from layoutcheck.operands.check import Filling


def tell(letter: str, filling: Filling) -> tuple[str, str]:
    """The first register that holds another element, and the count."""
    row = "m" if letter == "A" else "n"
    held, taken = (f"{letter}[{row} = {x}, k = {k}]" for x, k in (filling.held, filling.taken))
    title = f"registers of {letter} hold other elements than the MMA takes them for"
    other = "B" if letter == "A" else "A"
    why = (
        "C is stored by the MMA's own partition, so rows or columns change places."
        if filling.across
        else f"{other} has its k in another order, so products pair different k."
    )
    message = (
        f"register {filling.register} of thread {filling.thread} holds {held}, and the MMA takes it for {taken}; "
        f"{filling.differ:,} of {filling.of:,} registers differ. {why} "
        f"make_tiled_copy_{letter}(atom, tiled_mma) of the product's own tiled MMA has its order."
    )
    return title, message


FLAGGED = """
copy_b = cute.make_tiled_copy_B(ldmatrix, other_mma)
thr_b = copy_b.get_slice(tidx)
cute.copy(copy_b, thr_b.partition_S(sB), thr_b.retile(rB))
cute.gemm(tiled_mma, acc, rA, rB, acc)
"""
CLEAN = """
copy_b = cute.make_tiled_copy_B(ldmatrix, tiled_mma)
thr_b = copy_b.get_slice(tidx)
cute.copy(copy_b, thr_b.partition_S(sB), thr_b.retile(rB))
cute.gemm(tiled_mma, acc, rA, rB, acc)
"""

RULE = page_rule(__doc__, "wrong", FLAGGED, CLEAN)
