"""LC509 named-barrier-clash: threads use a named barrier that other threads may be using at the same time."""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, does, line, make_rule


@make_rule("wrong", "barrier-shared", "barrier-counts-differ")
def rule(problem: Problem, places: Places) -> tuple[str, str]:
    """Both uses of the barrier."""
    facts = problem.facts
    if problem.kind == "barrier-counts-differ":
        return f"barrier {facts['id']} is used with {facts['first']} and with {facts['second']} threads", (
            f"{does(places[0])} with {facts['first']} threads; {does(places[-1])} with {facts['second']}, in one use of the barrier."
        )
    other = f" ({line(places[0])})" if len(places) > 1 else ""
    return f"{line(places[-1])} arrives at barrier {facts['id']}, which other threads may still be using", (
        f"{does(places[-1])}, barrier {facts['id']}, and nothing orders it after the barrier's previous use{other}: it may be counted there. Either two groups use one id, or the count is smaller than the number of threads that arrive."
    )
