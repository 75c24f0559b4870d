"""LC522 proxy-fence-elsewhere: a proxy fence that PTX demands is missing or in another place, which works on today's hardware.

## What it means

One of three things is the case. Ordinary accesses come before an asynchronous *write* of the same shared memory, with a
barrier but no `fence.proxy.async` between them; every main loop of CUTLASS does this when it reuses a stage. Or the thread
that issues the copy executes the fence, and not the threads that wrote. Or there is a barrier, but no
`mbarrier_init_fence()`. `st.async` counts as such a write: the PTX ISA does not say by which proxy it writes.

## Why

PTX ISA, Memory Consistency Model: Proxies, asks for a proxy fence between accesses through different proxies,
in either order; TransformerEngine added one for reads before a TMA load (PR 2695). No run on an H200 showed a
difference, and fence.mbarrier_init emits nothing.

## How to fix it

`cute.arch.fence_proxy("async.shared", space="cta")` by every thread that accessed the memory, before the barrier or
the release; `cute.arch.mbarrier_init_fence()` after the initialisation.
"""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, does, line, make_rule, two


def tell(problem: Problem, places: Places) -> tuple[str, str]:
    """Both accesses, and the fence."""
    if problem.kind == "initialisation-not-fenced":
        return f"no mbarrier_init_fence() follows {line(places[0])}", f"{does(places[0])}; {does(places[1])}."
    first, second = places[0], places[1]
    if problem.kind == "fence-by-reader":
        return (
            f"the proxy fence between {line(first)} and {line(second)} is not executed by the writing thread",
            (two(problem, places)),
        )
    return (
        f"{line(second)} {second.what} over what {line(first)} {first.what}, with a barrier but no proxy fence between",
        (two(problem, places)),
    )


FLAGGED = """
value = smem[thread]
cute.arch.sync_threads()
cute.copy(tma_load, gmem, smem, tma_bar_ptr=bar)
"""
CLEAN = """
value = smem[thread]
cute.arch.fence_proxy("async.shared", space="cta")
cute.arch.sync_threads()
cute.copy(tma_load, gmem, smem, tma_bar_ptr=bar)
"""

RULE = make_rule(
    __doc__,
    "note",
    ("no-proxy-fence-before-overwrite", "fence-by-reader", "initialisation-not-fenced"),
    tell,
    FLAGGED,
    CLEAN,
)
