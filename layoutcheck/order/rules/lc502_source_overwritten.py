"""LC502 source-overwritten: shared memory is overwritten while a bulk store or a tensor core still reads it."""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, line, make_rule, two


@make_rule("wrong", "overwritten-while-copied")
def rule(problem: Problem, places: Places) -> tuple[str, str]:
    """The asynchronous read, the overwrite, and the wait between them."""
    first, second = places[0], places[1]
    wait = "warpgroup.wait_group(0)" if "wgmma" in first.what else "cp_async_bulk_wait_group(0, read=True)"
    if "tcgen05" in first.what:
        missing = f"Missing: tcgen05.commit to an mbarrier behind {line(first)}, and a wait for that phase before {line(second)}."
    elif problem.facts.get("cause") == "no-barrier" and len(places) > 2:
        missing = f"Missing: a barrier between the wait at {line(places[2])} and {line(second)}."
    elif problem.facts.get("cause") == "wait-count" and len(places) > 2:
        facts = problem.facts
        lower = f" (or a number up to {facts['most']})" if int(facts["most"]) else ""
        missing = (
            f"The wait at {line(places[2])} lets {facts['pending']} of the newest groups go on, this one among them. "
            f"Missing: {wait}{lower} in its place."
        )
    else:
        missing = f"Missing: {wait} by the thread that issues it, and a barrier, before {line(second)}."
    return f"{line(second)} {second.what} what {line(first)} still reads", f"{two(problem, places)} {missing}"
