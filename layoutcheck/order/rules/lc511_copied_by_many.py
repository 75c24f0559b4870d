"""LC511 copied-by-many: several lanes execute a bulk copy, and each starts a copy of its own."""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, does, line, make_rule


@make_rule("wrong", "copied-by-many")
def rule(problem: Problem, places: Places) -> tuple[str, str]:
    """The copy, and how many start it."""
    lanes = problem.facts["lanes"]
    return f"{lanes} lanes each start the bulk copy of {line(places[0])}", (
        f"{does(places[0])}, and so do {lanes} lanes of its warp, to the same place. Missing: elect_one() around it."
    )
