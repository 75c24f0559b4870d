"""LC528 phase-passed: a wait for an mbarrier does not keep it from going on, and may come to a later phase."""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, does, line, make_rule


@make_rule("note", "phase-passed")
def rule(problem: Problem, places: Places) -> tuple[str, str]:
    """The wait, and the arrival that ends one phase more."""
    facts, wait, other = problem.facts, places[-1], places[0]
    ends = f"{does(other)} ends" if len(places) > 1 else "other warps end"
    return (
        f"{line(wait)} {wait.what} that goes on without it, and may come to a later phase",
        f"{does(wait)}, for the end of a phase of parity {facts['parity']}. Without waiting for it, {ends} phase "
        f"{int(facts['phase']) - 1}: a later wait of that parity is for the end of phase {facts['phase']}.",
    )
