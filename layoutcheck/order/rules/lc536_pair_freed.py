"""LC536 pair-freed: a block frees the tensor memory of its pair while the other block may still use it."""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, line, make_rule, two


@make_rule("note", "pair-freed")
def rule(problem: Problem, places: Places) -> tuple[str, str]:
    """The deallocation, and the access by the other block."""
    freed, other = sorted(places[:2], key=lambda place: "frees" not in place.what)
    return (
        f"{line(freed)} frees tensor memory that the other block of the pair {other.what} at {line(other)}",
        f"{two(problem, places)} Missing: cluster_arrive() and cluster_wait() by both blocks before {line(freed)}.",
    )
