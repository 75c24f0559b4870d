"""LC524 lanes-not-synchronised: two lanes of a warp access one place, one writes, and no warp barrier stands between."""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, line, make_rule, two


@make_rule("note", "lanes", "lane-arrives")
def rule(problem: Problem, places: Places) -> tuple[str, str]:
    """The store or load of one lane, and the access of another."""
    first, second = places[0], places[1]
    if problem.kind == "lane-arrives":
        return (
            f"{line(second)} {second.what} what {line(first)} {first.what}, and one lane of that warp has arrived for the others",
            f"{two(problem, places)} Missing: sync_warp() behind {line(first)}, before one lane arrives for its warp.",
        )
    return (
        f"{line(second)} {second.what} what another lane of the warp {first.what} at {line(first)}",
        f"{two(problem, places)} Missing: sync_warp() between them.",
    )
