"""LC515 overlapping-tensors: a value is overwritten through a tensor that overlaps its own before it is read."""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, line, make_rule


@make_rule("wrong", "overlapping-tensors")
def rule(problem: Problem, places: Places) -> tuple[str, str]:
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
