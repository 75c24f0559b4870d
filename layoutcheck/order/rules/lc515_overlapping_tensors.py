"""LC515 overlapping-tensors: a value is overwritten through a tensor that overlaps its own before it is read.

## What it means

Two tensors lie in the same shared memory and overlap in part. A store through the one is overwritten by a store
through the other before anything reads it. The next read through the first tensor gets the other's value.

## Why

A thread's own accesses happen in program order: no barrier is missing, and no race is seen. Offsets of pointers in
CuTe count elements, not bytes: `pointer + bytes` begins a second tensor at the wrong place. Measured on an H200: the
output has the second tensor's values (`offset in bytes as if in elements`).

## How to fix it

Begin the second tensor behind the first: `pointer + cute.cosize(first.layout)`, in elements, or give it an allocation
of its own. `layoutcheck trace --memory` shows which bytes each line reaches.
"""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, line, make_rule


def tell(problem: Problem, places: Places) -> tuple[str, str]:
    """Both stores, the read, and the bytes that each tensor reaches."""
    first, second, read = places[0], places[1], places[2]
    facts = problem.facts
    byte = problem.first.address if problem.first is not None else 0
    return (
        f"{line(second)} overwrites what {line(first)} stored: their tensors overlap",
        f"The tensor of {line(first)} reaches bytes {facts['first_low']} to {facts['first_high']} of shared memory, "
        f"that of {line(second)} bytes {facts['second_low']} to {facts['second_high']}. What {line(first)} stores at "
        f"byte {byte} is overwritten before it is read; {line(read)} then reads the other tensor's value.",
    )


FLAGGED = """
first = cute.make_tensor(pointer, cute.make_layout(1024))  # of Int32
second = cute.make_tensor(pointer + 512, cute.make_layout(1024))
first[thread] = a
second[thread] = b
total = first[thread] + second[thread]
"""
CLEAN = """
first = cute.make_tensor(pointer, cute.make_layout(1024))
second = cute.make_tensor(pointer + 1024, cute.make_layout(1024))
first[thread] = a
second[thread] = b
total = first[thread] + second[thread]
"""

RULE = make_rule(__doc__, "wrong", ("overlapping-tensors",), tell, FLAGGED, CLEAN)
