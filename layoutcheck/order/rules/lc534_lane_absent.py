"""LC534 lane-absent: a shuffle reads the value of a lane that does not execute it."""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, does, line, make_rule


@make_rule("note", "lane-absent")
def rule(problem: Problem, places: Places) -> tuple[str, str]:
    """The shuffle, the lane that reads, and the lane that is not there."""
    facts = problem.facts
    return (
        f"{line(places[0])} shuffles from a lane that does not execute it",
        f"{does(places[0])}: lane {facts['lane']} reads the value of lane {facts['source']}, but lanes {facts['missing']} do "
        "not execute the shuffle. Missing: the shuffle outside of the branch, or a group of lanes that all take it.",
    )
