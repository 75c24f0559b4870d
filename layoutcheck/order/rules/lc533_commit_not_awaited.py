"""LC533 commit-not-awaited: tcgen05.commit arrives at an mbarrier of a block that may have exited."""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, does, line, make_rule


@make_rule("note", "commit-not-awaited")
def rule(problem: Problem, places: Places) -> tuple[str, str]:
    """The commit, and the block that does not wait for it."""
    block = problem.facts["block"]
    return f"{line(places[0])} arrives (tcgen05.commit) at an mbarrier of a block that may have exited", (
        f"{does(places[0])}, and block {block} of the cluster ends without a wait for that arrival. "
        "Missing: producer_tail() of its pipeline, or cluster_arrive() and cluster_wait() at the end."
    )
