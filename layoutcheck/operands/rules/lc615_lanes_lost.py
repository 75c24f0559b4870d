"""LC615 lanes-lost: a sum over lanes leaves out what some lanes, or some warps, have loaded."""

from __future__ import annotations

from typing import Any

from layoutcheck.markdown import Page, heading


def tell(facts: dict[str, Any]) -> tuple[str, str]:
    """Which threads load in vain."""
    (first, last), step = facts["threads"], facts["step"]
    if step:
        return "a sum over lanes leaves out a step", (
            f"What threads {first} to {last} store has a sum over the lanes that differ in smaller and larger steps than "
            f"{step}, not in {step}: half of the lanes between are left out. If that is not meant, a step of the butterfly "
            "is missing."
        )
    return "a sum over lanes leaves out what some of them have loaded", (
        f"{facts['count']:,} threads of a block, from {first} to {last}, load elements that no other thread loads, and add "
        "them up with other lanes. What becomes of them reaches no output, while the sum of other lanes is stored. A step "
        "of the butterfly is missing, or a warp is left out of the last sum."
    )


rule = Page(*heading(__doc__, "note"))
