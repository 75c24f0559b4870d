"""LC517 lanes-missing: an instruction of the whole warp waits for lanes that wait for something else."""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, does, line, make_rule


@make_rule("wrong", "lanes-missing")
def rule(problem: Problem, places: Places) -> tuple[str, str]:
    """The instruction, the lanes that come, and where the others are."""
    facts = problem.facts
    return (
        f"{line(places[0])} waits for {facts['all']} lanes of the warp, but only {facts['lanes']} arrive",
        f"{does(places[0])}, which waits for {facts['all']} lanes. Lanes {facts['missing']} of its warp do not come: "
        f"{does(places[1])}. The kernel hangs. Missing: the mask of the lanes that come, or the instruction outside of the branch.",
    )
