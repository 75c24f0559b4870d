"""LC522 proxy-fence-elsewhere: a proxy fence that PTX demands is missing or in another place, which works on today's hardware."""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, does, line, make_rule, two


@make_rule("note", "no-proxy-fence-before-overwrite", "fence-by-reader", "initialisation-not-fenced")
def rule(problem: Problem, places: Places) -> tuple[str, str]:
    """Both accesses, and the fence."""
    if problem.kind == "initialisation-not-fenced":
        return f"no mbarrier_init_fence() follows {line(places[0])}", f"{does(places[0])}; {does(places[1])}."
    first, second = places[0], places[1]
    if problem.kind == "fence-by-reader":
        return (
            f"the proxy fence between {line(first)} and {line(second)} is not executed by the writing thread",
            (two(problem, places)),
        )
    return (
        f"{line(second)} {second.what} over what {line(first)} {first.what}, with a barrier but no proxy fence between",
        (two(problem, places)),
    )
