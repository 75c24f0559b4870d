"""LC523 wgmma-registers: an accumulator of wgmma is read before its wait, or written without a wgmma.fence after it."""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, does, line, make_rule


@make_rule(
    "note",
    "accumulator-before-wait",
    "registers-not-fenced",
    "load-before-wait",
    "load-in-flight",
    "store-before-wait",
)
def rule(problem: Problem, places: Places) -> tuple[str, str]:
    """The access of the registers, and the wgmma."""
    if problem.kind == "accumulator-before-wait":
        first, second = places[0], places[1]
        return (
            f"{line(second)} reads an accumulator that {line(first)} may still write",
            f"{does(first)}; {does(second)}. Missing: warpgroup.wait_group between them.",
        )
    if problem.kind == "load-in-flight":
        first, second = places[0], places[1]
        return (
            f"{line(first)} loads from tensor memory what {line(second)} may overwrite, with no tcgen05.wait::ld between",
            f"{does(first)}; {does(second)}. Missing: fence_view_async_tmem_load() behind {line(first)}, before its warp "
            "arrives anywhere: until then the columns may still be read.",
        )
    if problem.kind == "store-before-wait":
        first, second = places[0], places[1]
        return (
            f"{line(second)} loads from tensor memory what {line(first)} stores, with no tcgen05.wait::st between",
            f"{does(first)}; {does(second)}. Missing: fence_view_async_tmem_store() between them.",
        )
    if problem.kind == "load-before-wait":
        return (
            f"{line(places[0])} loads from tensor memory, and its registers are used with no tcgen05.wait::ld between",
            f"{does(places[0])}. Missing: fence_view_async_tmem_load() before the first use of what it brings.",
        )
    if len(places) == 1:
        return (
            f"no warpgroup.fence() precedes the wgmma of {line(places[0])}",
            f"{does(places[0])}. Missing: warpgroup.fence() before it.",
        )
    first, second = places[0], places[1]
    return (
        f"{line(first)} writes an accumulator of {line(second)}, with no warpgroup.fence() between",
        f"{does(first)}; {does(second)}. Missing: warpgroup.fence() between them.",
    )
