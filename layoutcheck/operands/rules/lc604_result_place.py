"""LC604 result-place: an element of C is stored at another row or column than those of its operands."""

from __future__ import annotations

from typing import Any

from layoutcheck.markdown import Page, heading


def tell(letter: str, facts: dict[str, Any]) -> tuple[str, str]:
    """The first element that is stored elsewhere, or that no result comes to, and the count."""
    if "bare" in facts:
        message = (
            f"C{list(facts['at'])} is stored, beside results, from shared memory that nothing wrote; so are {facts['bare']:,} "
            f"elements. The tile of results is written and stored through different layouts or swizzles."
        )
        return "a part of C that no result comes to is stored", message
    who = "Two blocks" if "turns" not in facts else "Two turns of a block"
    who = "Two warps or warpgroups" if "groups" in facts else who
    if "again" in facts:
        message = (
            f"{who} store the same row of A times the same column of B, one at C{list(facts['at'])}, one at C{list(facts['again'])}. "
            "The coordinates of a tile of A or B are not those of the tile of C."
        )
        return "one result is stored at two places of C", message
    what = "row of A" if letter == "A" else "column of B"
    name = "m" if letter == "A" else "n"
    if "over" in facts:
        one, other = facts["over"]
        message = f"{who} store at C{list(facts['at'])}: one for the {what} with {name} = {one}, one for {name} = {other}."
        return "two results are stored at one place of C", message
    first = facts["first"]
    message = (
        f"C{list(facts['at'])} gets the sum of the {what} with {name} = {facts['coordinate']}, although C's coordinate "
        f"{first[0]} gets that of {name} = {first[1]}; {facts['differ']:,} of {facts['of']:,} elements change places."
    )
    return f"C is stored under another {name} than its {what}", message


rule = Page(*heading(__doc__, "wrong"))
