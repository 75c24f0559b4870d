"""LC525 never-written: shared memory is read that nothing in the kernel writes."""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, line, make_rule, where_bytes, who


@make_rule("note", "never-written")
def rule(problem: Problem, places: Places) -> tuple[str, str]:
    """The reader, and how many bytes it reads."""
    place, count = places[0], problem.facts["bytes"]
    if problem.facts.get("early"):
        return f"{line(place)} {place.what} shared memory that nothing has written by then", (
            f"{who(place).capitalize()} {place.what} {where_bytes(problem)}. Nothing has written any of these {count} bytes "
            "by then: it takes another buffer, or stage, than the one that was filled."
        )
    adds = " Atomic operations that add to what is there do not count." if problem.facts.get("adds") else ""
    return f"{line(place)} {place.what} shared memory that nothing writes", (
        f"{who(place).capitalize()} {place.what} {where_bytes(problem)}. Nothing in the kernel writes them, nor any "
        f"other of the {count} bytes that this operation reads at once.{adds}"
    )
