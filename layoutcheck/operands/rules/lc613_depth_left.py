"""LC613 depth-left: no sum takes some of the k that both operands have.

## What it means

layoutcheck followed the products of a kernel whose A and B have the same static extent along k. In the first and in the last
block of the grid no sum takes some of these k, of A and of B alike: a loop over k-tiles that ends a turn too early or
begins a turn too late, or a number of tiles that is rounded down. C lacks their products.

## Why

C = A B^T has, at (m, n), the sum over all k of A[m, k] B[n, k]. A tile that no turn takes is left out without an error.

It is not said of extents that only a run knows; where the first and the last block leave different k (split-K, stream-K,
windows); where one operand alone leaves them; or where a product could not be followed.

## How to fix it

Let the loop run from 0 to the number of tiles along k, rounded up: `cute.size(gA, mode=[2])`. If the operands are
larger than what is to be multiplied, give the kernel the part that is: `cute.domain_offset`, `cute.local_tile`, or a slice.
"""

from __future__ import annotations

from typing import Any

from layoutcheck.markdown import page_rule


def tell(facts: dict[str, Any]) -> tuple[str, str]:
    """Which k are left."""
    first, last = facts["left"]
    return "no sum takes some k of A and B", (
        f"A and B both have {facts['of']} k. No sum of the first or of the last block takes {facts['count']} of "
        f"them, from {first} to {last}: C lacks their products."
    )


FLAGGED = """
k_tiles = cute.size(gA, mode=[2])
for k in cutlass.range(k_tiles - 1):
    cute.gemm(tiled_mma, acc, rA[None, None, k], rB[None, None, k], acc)
"""
CLEAN = """
k_tiles = cute.size(gA, mode=[2])
for k in cutlass.range(k_tiles):
    cute.gemm(tiled_mma, acc, rA[None, None, k], rB[None, None, k], acc)
"""

RULE = page_rule(__doc__, "wrong", FLAGGED, CLEAN)
