"""LC520 barrier-in-divergence: only some lanes of a warp execute a barrier of the block."""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, does, line, make_rule


@make_rule("note", "barrier-in-divergence")
def rule(problem: Problem, places: Places) -> tuple[str, str]:
    """The barrier, and who comes."""
    lanes = problem.facts["lanes"]
    return f"{lanes} lanes of a warp execute the barrier of {line(places[0])}", (
        f"{does(places[0])}, with {lanes} lanes of its warp. PTX leaves that undefined."
    )
