"""LC527 narrow-release: a block publishes what it wrote to another block by an arrival of block scope."""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, line, make_rule, two


@make_rule("note", "narrow-release")
def rule(problem: Problem, places: Places) -> tuple[str, str]:
    """Both accesses and the arrival."""
    first, second, arrival = places[0], places[1], places[2]
    return (
        f"{line(second)} {second.what} what another block {first.what} at {line(first)}, released to that block only",
        f"{two(problem, places)} Only {line(arrival)} orders them, an arrival whose scope is its own block. "
        "Missing: a fence or an arrival at the scope of the cluster.",
    )
