"""LC603 operand-depth: a product pairs an element of A with an element of B that has another k.

## What it means

A product sums over k: element k of a row of A times element k of a column of B. layoutcheck followed the
elements from global memory to the instruction. Their coordinates along K differ, and the difference is not the same in the
whole sum. So products pair elements of different k, within an instruction (a permuted fragment) or between instructions
(another k-block, another stage).

## Why

PTX ISA, mma.sync and wgmma.mma_async: D = A B + C, both operands indexed by the same k. An order of k that A and B share
changes no sum and is not reported. Neither is one constant distance (a slice of a wider tensor), nor a sum over segments
that takes all k of one operand for each of them. On an H200 kernels that
pair different k return wrong sums.

## How to fix it

Fill both fragments through tiled copies of one tiled MMA, and slice both with the same k-block and the same stage.
"""

from __future__ import annotations

from typing import Any

from layoutcheck.markdown import page_rule


def tell(facts: dict[str, Any]) -> tuple[str, str]:
    """The first k that is paired with another."""
    where = "in one instruction" if facts["within"] else "in one sum, by another instruction"
    first = facts["first"]
    message = (
        f"at k = {facts['k']} of the instruction A brings k = {facts['a']} of its tensor and B k = {facts['b']}; {where} they "
        f"bring {first[0]} and {first[1]}. Both must be taken in the same order, by the same k-blocks and stages."
    )
    return "a product pairs different k of A and B", message


FLAGGED = """
cute.copy(copy_a, sA_view[None, None, k], rA_view[None, None, k])
cute.copy(copy_b, sB_view[None, None, (k + 1) % k_blocks], rB_view[None, None, k])
cute.gemm(tiled_mma, acc, rA[None, None, k], rB[None, None, k], acc)
"""
CLEAN = """
cute.copy(copy_a, sA_view[None, None, k], rA_view[None, None, k])
cute.copy(copy_b, sB_view[None, None, k], rB_view[None, None, k])
cute.gemm(tiled_mma, acc, rA[None, None, k], rB[None, None, k], acc)
"""

RULE = page_rule(__doc__, "wrong", FLAGGED, CLEAN)
