"""LC508 too-many-arrivals: more threads arrive at an mbarrier in one phase than it was initialised for."""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, does, line, make_rule


@make_rule("wrong", "too-many-arrivals")
def rule(problem: Problem, places: Places) -> tuple[str, str]:
    """The count, and who comes too often."""
    facts = problem.facts
    return f"arrival {facts['arrivals']} at an mbarrier for {facts['count']}", (
        f"The mbarrier is initialised for {facts['count']} arrivals a phase ({line(places[0])}); in phase "
        f"{facts['phase']} {does(places[1])}, which makes {facts['arrivals']}."
    )
