"""LC521 exit-while-copied: a warp exits while its bulk store may still read shared memory."""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, does, line, make_rule


@make_rule("note", "exit-while-copied")
def rule(problem: Problem, places: Places) -> tuple[str, str]:
    """The last store."""
    assert problem.second is not None
    return f"the kernel ends while the store of {line(places[0])} may still read shared memory", (
        f"{does(places[0])}, and no cp_async_bulk_wait_group(0, read=True) follows (PipelineTmaStore.producer_tail())."
    )
