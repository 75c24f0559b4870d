"""LC613 depth-left: no sum takes some of the k that both operands have."""

from __future__ import annotations

from typing import Any

from layoutcheck.markdown import Page, heading


def tell(facts: dict[str, Any]) -> tuple[str, str]:
    """Which k are left."""
    first, last = facts["left"]
    return "no sum takes some k of A and B", (
        f"A and B both have {facts['of']} k. No sum of the first or of the last block takes {facts['count']} of "
        f"them, from {first} to {last}. If all k are meant, C lacks their products."
    )


RULE = Page(*heading(__doc__, "note"))
