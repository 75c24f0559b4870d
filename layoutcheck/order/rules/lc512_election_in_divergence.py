"""LC512 election-in-divergence: a warp elects a lane where not all of its lanes execute the election."""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, does, line, make_rule


@make_rule("wrong", "elect-in-divergence")
def rule(problem: Problem, places: Places) -> tuple[str, str]:
    """The election, and who comes."""
    facts = problem.facts
    return (
        f"{line(places[0])} elects a lane of the warp, but only {facts['lanes']} of {facts['all']} lanes arrive",
        f"{does(places[0])}: elect.sync waits for all {facts['all']} lanes of the warp, and lanes {facts['missing']} wait "
        "elsewhere. A TMA copy elects its lane itself: take it out of elect_one().",
    )
