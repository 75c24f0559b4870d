"""LC602 operand-element: an operand of a product holds elements that do not share its rows and its k."""

from __future__ import annotations

from typing import Any

from layoutcheck.markdown import Page, heading


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


rule = Page(*heading(__doc__, "wrong"))
