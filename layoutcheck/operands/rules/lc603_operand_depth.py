"""LC603 operand-depth: a product pairs an element of A with an element of B that has another k."""

from __future__ import annotations

from typing import Any

from layoutcheck.markdown import Page, heading


def tell(facts: dict[str, Any]) -> tuple[str, str]:
    """The first k that is paired with another."""
    where = "in one instruction" if facts["within"] else "in one sum, by another instruction"
    first = facts["first"]
    message = (
        f"at k = {facts['k']} of the instruction A brings k = {facts['a']} of its tensor and B k = {facts['b']}; {where} they "
        f"bring {first[0]} and {first[1]}. Both must be taken in the same order, by the same k-blocks and stages."
    )
    return "a product pairs different k of A and B", message


rule = Page(*heading(__doc__, "wrong"))
