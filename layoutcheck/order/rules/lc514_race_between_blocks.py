"""LC514 race-between-blocks: two blocks of the grid access the same global memory, at least one writes, and nothing orders them."""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, alone, line, make_rule

_MISSING = {  # why nothing orders the two, and what would
    "not-released": (
        "no release covers the store",
        "a barrier of the block between the store and the release: a release covers what its own thread knows of.",
    ),
    "not-written": (
        "no release covers the copy",
        "cp_async_bulk_wait_group(0) by the thread that copies, without read=True, between the copy and the release; "
        "and a barrier of the block, if another thread releases.",
    ),
    "not-acquired": (
        "no acquire comes before the load",
        "a barrier of the block between the acquire and the load: other threads know nothing of an acquire.",
    ),
    "race-between-blocks": (
        "nothing orders them",
        "a release at the scope of the GPU by the first block and an acquire by the second, or a second kernel.",
    ),
}


@make_rule("wrong", *tuple(_MISSING))
def rule(problem: Problem, places: Places) -> tuple[str, str]:
    """The two accesses, each with its block."""
    first, second = places[0], places[1]
    done = [
        f"thread {p.thread} of block {p.block} of the grid {p.what} at {line(p)}" for p in (first, second)
    ]
    what = f"{done[0][:1].upper()}{done[0][1:]}; {done[1]}; both access the same global memory."
    if missing := alone(places, "block"):
        return f"{line(first)} {first.what} one place by several blocks, in no order", f"{what} {missing}"
    why, missing = _MISSING[problem.kind]
    return (
        f"{line(second)} {second.what} global memory that another block {first.what} at {line(first)}, and {why}",
        f"{what} Missing: {missing}",
    )
