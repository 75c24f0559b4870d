"""LC503 copied-over-unread: a copy overwrites shared memory that other threads may still read."""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, line, make_rule, two


@make_rule("wrong", "overwritten-by-copy")
def rule(problem: Problem, places: Places) -> tuple[str, str]:
    """The read, the copy, and the barrier between them."""
    first, second = places[0], places[1]
    missing = (
        f"Missing: a barrier between {line(first)} and {line(second)} (sync_threads(), or the release of the stage after "
        "its last access and an acquire before the copy)."
    )
    return (
        f"{line(second)} {second.what} over what {line(first)} may not have read yet",
        f"{two(problem, places)} {missing}",
    )
