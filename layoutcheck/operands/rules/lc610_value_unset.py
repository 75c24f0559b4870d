"""LC610 value-unset: a kernel stores to a tensor what it made of bytes that nothing has written."""

from __future__ import annotations

from typing import Any

from layoutcheck.markdown import Page, heading


def tell(facts: dict[str, Any]) -> tuple[str, str]:
    """Who stores how much; `written` says whether something writes others of these registers."""
    first, last = facts["threads"]
    who = f"Thread {first} stores" if first == last else f"Threads {first} to {last} store"
    block = "".join(str(tuple(facts["block"])).split())
    held = "tensor memory" if "tensor" in facts else "shared memory" if facts["shared"] else "registers"
    some = "The line that writes them does so in other threads, or for other elements." if facts["written"] else (
        f"No line writes them{' before' * facts['shared']}." + " An atomic operation adds to what is there." * facts.get("adds", False)
    )  # fmt: skip
    fill = (
        f"`fragment.fill({facts['fill']})`" if facts["fill"] else "with what its sum or maximum begins with"
    )
    repair = f"Fill the fragment first ({fill}), or store under the predicate of the load."
    if not facts["written"]:
        repair = (
            "Write them first, or leave them out." if facts["shared"] else
            "Load the columns of the accumulators, of the stage that was multiplied." if "tensor" in facts else
            "Copy into the fragment first."
        )  # fmt: skip
    return f"what is stored comes from {held} that nothing has written", (
        f"{who} {facts['bytes']} B in block {block} that are, or are computed from, {held} that nothing has written. "
        f"{some}{conditions(facts)} {repair}"
    )


def conditions(facts: dict[str, Any]) -> str:
    """With which extents it is so, as a sentence; "" for any."""
    if not facts["extent"]:
        return f" This is so in the program's call with {facts['called']}." if facts["called"] else ""
    return f" This is so if all dynamic extents are {facts['extent']:,}; " + (
        f"it is not so if they are multiples of {facts['multiple']:,}." if facts["multiple"]
        else "it is not so in the program's calls."
    )  # fmt: skip


rule = Page(*heading(__doc__, "wrong"))
