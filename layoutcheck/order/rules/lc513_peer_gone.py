"""LC513 peer-gone: a block accesses shared memory of another block that may have exited, or may not have begun."""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, does, line, make_rule


@make_rule("wrong", "peer-gone", "peer-not-begun")
def rule(problem: Problem, places: Places) -> tuple[str, str]:
    """The access, and the block that may be gone, or not there yet."""
    block = problem.facts["block"]
    if problem.kind == "peer-not-begun":
        return f"{line(places[0])} {places[0].what} shared memory of a block that may not have begun", (
            f"{does(places[0])}, in shared memory of block {block} of the cluster, and nothing before it says that block {block} has begun. "
            "Missing: cluster_arrive() and cluster_wait() before the first remote access."
        )
    arrives = "mbarrier" in places[0].what
    reached, where = ("", ", in") if arrives else (" shared memory", " from shared memory of")
    return f"{line(places[0])} {places[0].what}{reached} of a block that may have exited", (
        f"{does(places[0])}{where} block {block} of the cluster, and block {block} does not wait for anything after it. Missing: cluster_arrive() and cluster_wait() after the last remote access."
    )
