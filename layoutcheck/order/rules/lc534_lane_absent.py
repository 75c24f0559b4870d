"""LC534 lane-absent: a shuffle reads the value of a lane that does not execute it.

## What it means

A shuffle stands in a branch that only some lanes of the warp take, and reads from a lane that does not take it. What it
brings is not that lane's value.

## Why

PTX ISA, shfl.sync: if the source lane is inactive, the value is unpredictable. An H200 brings 0, so that a sum happens to be right and
a maximum or a broadcast is not. It is a note: the value may be one that the kernel does not use.

## How to fix it

Take the shuffle out of the branch, and give lanes that have no value the neutral element. Or shuffle within a group of
lanes that all take the branch (`threads_in_group`, the clamp of the shuffle).
"""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, does, line, make_rule


def tell(problem: Problem, places: Places) -> tuple[str, str]:
    """The shuffle, the lane that reads, and the lane that is not there."""
    facts = problem.facts
    return (
        f"{line(places[0])} shuffles from a lane that does not execute it",
        f"{does(places[0])}: lane {facts['lane']} reads the value of lane {facts['source']}, but lanes {facts['missing']} do "
        "not execute the shuffle. Missing: the shuffle outside of the branch, or a group of lanes that all take it.",
    )


FLAGGED = """
if tidx < 16:
    value = cute.arch.shuffle_sync(value, 20)
"""
CLEAN = """
value = cute.arch.shuffle_sync(value, 20)
"""

RULE = make_rule(__doc__, "note", ("lane-absent",), tell, FLAGGED, CLEAN)
