"""LC612 sum-lost: accumulators are begun anew before what they had summed is stored.

## What it means

layoutcheck followed the kernel from global memory to the stores of C. Some products of a row of A and a column of B are
added up in accumulators that then begin another sum, of other k, and nothing has stored them by then. C gets the
last sum alone. The accumulators are cleared inside the loop over k, or the instruction is told not to add to them in
each turn.

## Why

D = A B without C overwrites D (PTX ISA: wgmma.mma_async with scale-d = 0; tcgen05.mma with enable-input-d = 0). Such a kernel is
legal, and its results are the products of the last k-block or k-tile.

It is not said where the stored sum has those k as well (one pass for a maximum, another for the result), where a later
product takes the sums for an operand, where a branch, an atomic or a printf takes them, or where something that is made of several
sums is stored.

## How to fix it

Clear the accumulators once for each tile of C, before the loop over k: `acc.fill(0.0)`. For wgmma and tcgen05 set
`ACCUMULATE` to False before the loop, and to True after the first k-block.
"""

from __future__ import annotations

from typing import Any

from layoutcheck.markdown import page_rule


def tell(facts: dict[str, Any], instruction: str) -> tuple[str, str]:
    """Which k are lost, and which are stored; `instruction` is mma.sync, wgmma or tcgen05.mma."""
    (first, last), (low, high) = facts["lost"], facts["stored"]
    repair = (
        "Clear the accumulators once, before the loop over k." if instruction == "mma.sync" else
        "Set ACCUMULATE to False once, before the loop over k, and to True after the first k-block."
    )  # fmt: skip
    return "accumulators are begun anew before what they summed is stored", (
        f"The {instruction} sums products of k from {first} to {last} that nothing stores. C gets the sum of k from "
        f"{low} to {high}. {repair}"
    )


FLAGGED = """
for k in cutlass.range(k_tiles):
    acc.fill(0.0)
    cute.gemm(tiled_mma, acc, rA[None, None, k], rB[None, None, k], acc)
cute.copy(store, acc, gC)
"""
CLEAN = """
acc.fill(0.0)
for k in cutlass.range(k_tiles):
    cute.gemm(tiled_mma, acc, rA[None, None, k], rB[None, None, k], acc)
cute.copy(store, acc, gC)
"""

RULE = page_rule(__doc__, "wrong", FLAGGED, CLEAN)
