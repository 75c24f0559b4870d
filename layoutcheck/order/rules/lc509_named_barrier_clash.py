"""LC509 named-barrier-clash: threads use a named barrier that other threads may be using at the same time.

## What it means

A named barrier counts arriving threads and completes when the count is reached, whichever threads
they are. Here a warp arrives although nothing orders it after the barrier's previous use (two
groups use one id, or the count is smaller than the number of threads that arrive), or it gives
another count. Which threads synchronise is then undefined.

## Why

PTX ISA, barrier: the barrier is named by its number alone, and completes when as many threads have arrived as the
count says; it must not be used again before it has completed, and all must give the same count. On an H200 both
corrupt the output.

## How to fix it

Give every group that synchronises independently its own id (1 to 15; 0 is `sync_threads`), and pass
the number of threads that really arrive as `number_of_threads`.
"""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, does, line, make_rule


def tell(problem: Problem, places: Places) -> tuple[str, str]:
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


FLAGGED = """
if thread < 64:
    cute.arch.barrier(barrier_id=1, number_of_threads=64)
else:
    cute.arch.barrier(barrier_id=1, number_of_threads=64)
"""
CLEAN = """
if thread < 64:
    cute.arch.barrier(barrier_id=1, number_of_threads=64)
else:
    cute.arch.barrier(barrier_id=2, number_of_threads=64)
"""

RULE = make_rule(__doc__, "wrong", ("barrier-shared", "barrier-counts-differ"), tell, FLAGGED, CLEAN)
