"""LC505 missing-proxy-fence: ordinary stores write memory that a bulk copy or a tensor core reads, without a proxy fence between."""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, line, make_rule, two


@make_rule("wrong", "no-proxy-fence")
def rule(problem: Problem, places: Places) -> tuple[str, str]:
    """The store, the asynchronous read, and the fence between them."""
    first, second = places[0], places[1]
    fence = '"async.global"' if problem.facts.get("memory") else '"async.shared", space="cta"'
    missing = (
        f"Missing: fence_proxy({fence}) by the writing threads, after {line(first)} and before the "
        f"barrier in front of {line(second)}."
    )
    return f"{line(second)} {second.what} what {line(first)} {first.what}, with no proxy fence between", (
        f"{two(problem, places)} A barrier orders ordinary accesses only. {missing}"
    )
