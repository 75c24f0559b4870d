"""LC529 register-limits: setmaxnreg is executed by some warps of a warpgroup, or asks for more registers than there are."""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, does, line, make_rule


@make_rule("note", "limit-of-some-warps", "limits-too-high")
def rule(problem: Problem, places: Places) -> tuple[str, str]:
    """The setmaxnreg, and the warps that lack it."""
    facts, place = problem.facts, places[0]
    if problem.kind == "limits-too-high":
        return (
            f"{line(place)} {place.what}, more than are left",
            f"The limits of all warps are {facts['total']:,} registers; an SM has {facts['pool']:,}.",
        )
    return (
        f"{line(place)} {place.what}, but not in every warp of the warpgroup",
        f"{does(place)}. Of the {facts['of']} warps of warpgroup {facts['group']}, these do not: {facts['lacking']}. "
        f"Missing: the same setmaxregister_decrease or setmaxregister_increase in them.",
    )
