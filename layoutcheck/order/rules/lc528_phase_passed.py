"""LC528 phase-passed: a wait for an mbarrier does not keep it from going on, and may come to a later phase.

## What it means

A warp waits for the end of a phase by its parity. Other warps end that phase, and the next one, without an arrival of
the waiting warp in between. If the warp comes late, the mbarrier is in a phase of the same parity again: the wait is then for
that one. It waits longer than it was meant to, or for ever if no further phase ends.

## Why

A parity tells two phases apart: the one that is current and the one before it (PTX ISA, mbarrier.test_wait and
mbarrier.try_wait). Pipelines keep to that: who waits arrives before the next phase can end. It is a note: in the run that
layoutcheck followed every wait ended. Whether one hangs depends on which warp is faster and on how many phases there
are. flashinfer ac554d5a2 mended such a hang: a warp group called `tail()` of a pipeline into which other warps put their data.

## How to fix it

Let only those warps wait that take part in the pipeline, or let the waiting warp arrive before the next phase can end.
"""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, does, line, make_rule


def tell(problem: Problem, places: Places) -> tuple[str, str]:
    """The wait, and the arrival that ends one phase more."""
    facts, wait, other = problem.facts, places[-1], places[0]
    ends = f"{does(other)} ends" if len(places) > 1 else "other warps end"
    return (
        f"{line(wait)} {wait.what} that goes on without it, and may come to a later phase",
        f"{does(wait)}, for the end of a phase of parity {facts['parity']}. Without waiting for it, {ends} phase "
        f"{int(facts['phase']) - 1}: a later wait of that parity is for the end of phase {facts['phase']}.",
    )


FLAGGED = """
pipe.producer_tail(state)  # of a warp that has put nothing into the pipeline
"""
CLEAN = """
pipe.producer_acquire(state)
pipe.producer_commit(state)
state.advance()
pipe.producer_tail(state)
"""

RULE = make_rule(__doc__, "note", ("phase-passed",), tell, FLAGGED, CLEAN)
