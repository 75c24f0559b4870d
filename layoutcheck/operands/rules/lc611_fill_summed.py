"""LC611 fill-summed: a sum over lanes counts what was filled in beyond the end of a row."""

from __future__ import annotations

from typing import Any

from layoutcheck.markdown import Page, heading
from layoutcheck.operands.rules.lc610_value_unset import conditions


def tell(facts: dict[str, Any]) -> tuple[str, str]:
    """Which threads of which block store it."""
    first, last = facts["threads"]
    who = f"Thread {first} stores" if first == last else f"Threads {first} to {last} store"
    block = "".join(str(tuple(facts["block"])).split())
    return "a sum counts what was filled in beyond the end of a row", (
        f"{who} it in block {block}. Lanes that load nothing there hold a fill; what the kernel makes of it is not 0 "
        f"when the lanes are added up.{conditions(facts)} Set it to 0 before the sum, by the predicate of the load, or "
        "fill with a number that the computation makes neutral."
    )


rule = Page(*heading(__doc__, "wrong"))
