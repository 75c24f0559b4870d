"""LC501 read-before-complete: data is read before the copy that brings it is complete."""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, does, line, make_rule, same_warp, two


@make_rule("wrong", "not-complete")
def rule(problem: Problem, places: Places) -> tuple[str, str]:
    """The copy, the access, and the statement between them."""
    first, second = places[0], places[1]
    over = "over what" if second.kind == first.kind else "what"
    return (
        f"{line(second)} {second.what} {over} {line(first)} still {first.what}",
        f"{two(problem, places)} {_missing(problem, places)}",
    )


def _missing(problem: Problem, places: Places) -> str:
    facts, second = problem.facts, line(places[1])
    cause, wait = facts.get("cause"), places[2] if len(places) > 2 else None
    if cause == "no-tensor-wait":
        return f"Missing: tcgen05.wait::st (fence_view_async_tmem_store()) behind {line(places[0])}, before its warp arrives anywhere."
    if facts.get("memory") == "tensor":
        return f"Missing: tcgen05.commit to an mbarrier behind {line(places[0])}, and a wait for that phase before {second}."
    if places[0].what.startswith("stores") and cause is None:  # st.async completes on an mbarrier
        return f"Missing: cp_async_bulk_wait_group(0), without `read`, behind {line(places[0])}, and a barrier before {second} where another warp executes that."
    if places[0].kind != "cp_async":
        if facts.get("in_turn") and wait is not None:
            return (
                f"The copy belongs to a later phase of its mbarrier than the wait at {line(wait)} is for. If {second} is to "
                f"use what the copy brings, a wait for that phase before {second} is missing; if what the phase before "
                f"brought, the memory is given back for the next copy before {second} is done with it."
            )
        if cause == "early-wait" and wait is not None:
            return f"The wait at {line(wait)} has returned for an earlier phase: it asks for parity {facts['parity']}, and returns at once while the phase of the other parity is still running."
        return f"Missing: mbarrier_wait on the mbarrier of that copy, by the reading warp, before {second}."
    if cause == "no-commit" and wait is None:
        return (
            f"Missing: cp_async_commit_group() after {line(places[0])} and cp_async_wait_group(0) before {second}, or "
            "cp_async_mbarrier_arrive_noinc() in place of an ordinary arrival (PipelineCpAsync has it in producer_commit)."
        )
    if cause == "no-commit":
        return f"Missing: cp_async_commit_group() after {line(places[0])}: the groups that the kernel waits for do not contain the copy."
    if cause == "wait-count" and wait is not None:
        return (
            f"cp_async_wait_group({facts['pending']}) at {line(wait)} leaves the copy's group open. Missing: "
            f"cp_async_wait_group({facts['most']}) in its place, or a lower number."
        )
    if cause == "no-barrier" and not same_warp(problem):
        after = f" after the wait at {line(wait)}" if wait is not None else ""
        return f"Missing: sync_threads(){after} and before {second}: only these make a thread wait for other threads' copies."
    if cause == "no-wait" and wait is not None:  # the threads meet there
        return f"Missing: cp_async_wait_group(0) between the commit and the barrier at {line(wait)}."
    return f"Missing: cp_async_wait_group(0) before {second}" + (
        "." if same_warp(problem) else f", and sync_threads() after it ({does(places[1])})."
    )
