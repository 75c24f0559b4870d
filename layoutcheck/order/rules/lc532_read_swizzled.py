"""LC532 read-swizzled: elements of a tile that TMA has written are read through another swizzle."""

from __future__ import annotations

from layoutcheck.digits import many
from layoutcheck.order.rules.rule import Places, Problem, does, line, make_rule


@make_rule("note", "read-swizzled")
def rule(problem: Problem, places: Places) -> tuple[str, str]:
    """The read, and both swizzles."""
    seen, mapped = (problem.facts.get(name, "no swizzle") for name in ("seen", "mapped"))
    return (
        f"{line(places[0])} {places[0].what} a tile that TMA has written through another swizzle",
        f"{does(places[0])}, through {seen}; the tensor map of the tile has {mapped}. "
        f"{many(int(problem.facts['threads']), 'thread gets', 'threads get')} another element than the one that "
        f"{'it asks' if problem.facts['threads'] == 1 else 'they ask'} for.",
    )
