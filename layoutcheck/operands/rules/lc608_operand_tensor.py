"""LC608 operand-tensor: two operands are elements of one tensor, and another tensor is left over.

## What it means

layoutcheck followed the operands from global memory, and found one of these:

- Both operands come from one tensor. The kernel is given another tensor, of the same type and with two modes or more, and
  uses no element of it.
- Two products take one tensor (attention that multiplies K in the place of V), and such a tensor is left over.
- The elements of one operand come from its own tensor first and, in the same sum, from the tensor of the other operand, or
  of another product's.

Such a product fits together element by element, so no other rule can find it: the copy of A takes the tensor map, or the
tile, of B.

## Why

A product of a tensor with itself is a product like any other (a Gram matrix, a symmetric update). A kernel that is
given one tensor more than it uses is suspicious, and so is a sum that changes tensors. On an H200 they return X X^T for A B^T.

## How to fix it

Give the copy of A the tensor map and the tile of A (`tma_atom_a`, `tAgA`, `tAsA`), that of B those of B, in the prologue
and in the main loop. A tensor that a kernel does not use need not be an argument.
"""

from __future__ import annotations

from typing import Any

from layoutcheck.markdown import page_rule


def tell(letter: str, facts: dict[str, Any]) -> tuple[str, str]:
    """The tensors, by their numbers among the arguments of the compiled function, from 1."""
    one = facts["tensor"]
    if facts["left"]:
        left = facts["left"][0]
        if facts.get("products") == 2:
            message = (
                f"one operand of this product and one of another are elements of argument {one} of the compiled function, and "
                f"no element of its argument {left}, a tensor of the same type, is used. Unless that is meant, a copy takes the "
                f"tensor map or the tile of the other product."
            )
            return "two products take one tensor, another is not used", message
        message = (
            f"A and B of the product are elements of argument {one} of the compiled function, and no element of its "
            f"argument {left}, a tensor of the same type, is used. Unless that is meant, a copy takes the tensor map or "
            f"the tile of the other operand."
        )
        return "A and B of a product are elements of one tensor, another is not used", message
    whose = "an operand of another product" if facts.get("products") == 2 else "the other operand"
    message = (
        f"in one sum {letter} is elements of argument {facts['own']} of the compiled function and of argument {one}, of "
        f"which {whose} is too: one of the copies of {letter} takes the tensor map or tile of that operand."
    )
    return f"{letter} of a product comes from two tensors", message


FLAGGED = """
cute.copy(tma_atom_b, tBgB[None, k], tAsA[None, stage], tma_bar_ptr=barrier)  # A's tile, from B
cute.copy(tma_atom_b, tBgB[None, k], tBsB[None, stage], tma_bar_ptr=barrier)
cute.gemm(tiled_mma, acc, tCrA[None, None, None, stage], tCrB[None, None, None, stage], acc)
"""
CLEAN = """
cute.copy(tma_atom_a, tAgA[None, k], tAsA[None, stage], tma_bar_ptr=barrier)
cute.copy(tma_atom_b, tBgB[None, k], tBsB[None, stage], tma_bar_ptr=barrier)
cute.gemm(tiled_mma, acc, tCrA[None, None, None, stage], tCrB[None, None, None, stage], acc)
"""

RULE = page_rule(__doc__, "note", FLAGGED, CLEAN)
