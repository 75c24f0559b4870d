"""LC530 begins-early: a kernel may begin before the kernel in front of it has ended, and does not wait for it in time."""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, does, line, make_rule


@make_rule("note", "begins-early", "reads-early")
def rule(problem: Problem, places: Places) -> tuple[str, str]:
    """The first read, or the accesses of both kernels."""
    early = places[-1]
    if problem.kind == "reads-early":
        return (
            f"{line(early)} {early.what} before griddepcontrol_wait() what the kernel in front {places[0].what}",
            f"{does(early)}, and {does(places[0])}, in a kernel that is launched before: both access one tensor. "
            f"The launch allows this kernel to begin early (use_pdl). Missing: griddepcontrol_wait() before {line(early)}.",
        )
    return (
        f"{line(early)} {early.what} what the kernel before this one may still write",
        f"{does(early)}. The launch allows this kernel to begin early (use_pdl), and no thread of it waits. "
        "Missing: griddepcontrol_wait() before it.",
    )
