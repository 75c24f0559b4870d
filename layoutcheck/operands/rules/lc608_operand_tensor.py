"""LC608 operand-tensor: two operands are elements of one tensor, and another tensor is left over."""

from __future__ import annotations

from typing import Any

from layoutcheck.markdown import Page, heading


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


rule = Page(*heading(__doc__, "note"))
