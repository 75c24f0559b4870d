"""LC613 depth-left: no sum takes some of the k that both operands have."""

from __future__ import annotations

from typing import Any

from layoutcheck.markdown import Page, heading


def tell(facts: dict[str, Any]) -> tuple[str, str]:
    """Which k are left, and which are taken twice instead."""
    (first, last), twice = facts["left"], facts["twice"]
    if twice:
        return "a sum takes some k of A and B twice, and others never", (
            f"A and B both have {facts['of']} k. One sum takes k from {twice[0]} to {twice[1]} more than once, and no "
            f"sum of the first or of the last block takes {facts['count']} of them, from {first} to {last}. A k-block, "
            f"a stage or a tile comes again in the place of another one."
        )
    if facts["guessed"]:
        return "no sum takes some k of A and B", (
            f"With {facts['of']} k of A and of B no sum of the first or of the last block takes {facts['count']} of "
            f"them, from {first} to {last}, and with twice as many again the {'last' if first else 'first'} "
            f"{facts['count']}. If all k are meant, C lacks their products."
        )
    left = (
        f"A and B both have {facts['of']} k. No sum of the first or of the last block takes {facts['count']} of "
        f"them, from {first} to {last}."
    )
    if facts["unread"]:
        return "k of A and B are copied to shared memory, and no sum takes them", (
            f"{left} Copies bring some of these to shared memory, of A and of B: C lacks their products."
        )
    return "no sum takes some k of A and B", f"{left} If all k are meant, C lacks their products."


rule = Page(*heading(__doc__, "wrong"))
