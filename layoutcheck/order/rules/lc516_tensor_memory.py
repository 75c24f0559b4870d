"""LC516 tensor-memory: a kernel reaches columns of tensor memory that it did not allocate, or does not free its columns."""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, line, make_rule


@make_rule("wrong", "tmem-beyond", "tmem-kept", "tmem-full")
def rule(problem: Problem, places: Places) -> tuple[str, str]:
    """The allocation, and the access behind it; the allocation that is not freed; the two that are too many."""
    first, last = places[0], places[-1]
    facts = problem.facts
    if problem.kind == "tmem-kept":
        return (
            f"the tensor memory that {line(last)} allocates is not freed",
            f"{line(last)} allocates tensor memory, and nothing in the kernel frees it. The columns stay taken: the next "
            "block that allocates may wait for ever.",
        )
    if problem.kind == "tmem-full":
        return (
            f"{line(last)} waits for tensor memory that cannot get free",
            f"{line(last)} allocates {facts['columns']} columns. The block has {facts['held']} of the 512 by then, {line(first)} "
            "the last of them, and frees none before.",
        )
    return (
        f"{line(last)} reaches tensor memory that is not allocated",
        f"{line(first)} allocates {facts['columns']} columns, the kernel's only ones. {line(last)} {last.what} up to column "
        f"{facts['end']}.",
    )
