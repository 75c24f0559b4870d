"""LC504 race-between-threads: two threads of a block access the same memory, at least one writes, and no barrier orders them."""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, alone, line, make_rule, two


@make_rule("wrong", "race")
def rule(problem: Problem, places: Places) -> tuple[str, str]:
    """The two accesses."""
    first, second = places[0], places[1]
    if missing := alone(places, "thread"):
        return (
            f"{line(first)} {first.what} one place by several threads, in no order",
            f"{two(problem, places)} {missing}",
        )
    barrier = "a barrier that both execute"
    if first.block != second.block:
        barrier = "cluster_arrive() and cluster_wait() by both blocks"
    missing = f"Missing: {barrier} between {line(first)} and {line(second)}."
    if problem.unsure:
        at = next(place for place in places if place.what == "writes")
        missing = f"They race if the condition of {line(at)} holds. {missing}"
    return (
        f"{line(second)} {second.what} what another thread {first.what} at {line(first)}, with no barrier between",
        (f"{two(problem, places)} {missing}"),
    )
