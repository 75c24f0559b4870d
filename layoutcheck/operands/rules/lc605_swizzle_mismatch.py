"""LC605 swizzle-mismatch: a tile in shared memory is written through one swizzle and read through another."""

from __future__ import annotations

from typing import Any

from layoutcheck.markdown import Page, heading


def tell(facts: dict[str, Any]) -> tuple[str, str]:
    """Both swizzles, and the first element that arrives elsewhere."""
    written, read = (
        f"swizzle {facts[key]} of bytes" if facts[key] else "no swizzle" for key in ("written", "read")
    )
    message = (
        f"the tile is written through {written} and read through {read}: {list(facts['at'])} of the tensor that is "
        f"stored gets {list(facts['held'])} of the one that is loaded; {facts['differ']:,} of {facts['of']:,} elements "
        f"change places. Give all users of the tile one layout, with its swizzle."
    )
    return "a shared tile is written and read through different swizzles", message


rule = Page(*heading(__doc__, "wrong"))
