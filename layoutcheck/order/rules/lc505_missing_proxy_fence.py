"""LC505 missing-proxy-fence: ordinary stores write memory that a bulk copy or a tensor core reads, without a proxy fence between.

## What it means

Ordinary stores (`st.shared`, `stmatrix`, `cp.async`) belong to the generic proxy; bulk and TMA stores, wgmma and
tcgen05.mma, and bulk loads of global memory, read through the async proxy. A barrier orders the first kind only:
without `fence.proxy.async` the copy may read the old contents.

## Why

PTX ISA, Memory Consistency Model: Proxies, and "Async proxy": accesses of one location through different proxies
need a proxy fence. ptxas does not add it: `fence.proxy.async.shared::cta` becomes MEMBAR.ALL.CTA and
FENCE.VIEW.ASYNC, and the output without it is wrong on an H200 (bulk store and wgmma). compute-sanitizer does
not report it.

## How to fix it

Every thread that writes executes `cute.arch.fence_proxy("async.shared", space="cta")` after its stores and before
the barrier behind which the copy or the wgmma is issued.
"""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, line, make_rule, two


def tell(problem: Problem, places: Places) -> tuple[str, str]:
    """The store, the asynchronous read, and the fence between them."""
    first, second = places[0], places[1]
    fence = '"async.global"' if problem.facts.get("memory") else '"async.shared", space="cta"'
    missing = (
        f"Missing: fence_proxy({fence}) by the writing threads, after {line(first)} and before the "
        f"barrier in front of {line(second)}."
    )
    return f"{line(second)} {second.what} what {line(first)} {first.what}, with no proxy fence between", (
        f"{two(problem, places)} A barrier orders ordinary accesses only. {missing}"
    )


FLAGGED = """
smem[thread] = value
cute.arch.sync_threads()
if warp == 0:
    cute.copy(tma_store, smem, gmem)
"""
CLEAN = """
smem[thread] = value
cute.arch.fence_proxy("async.shared", space="cta")
cute.arch.sync_threads()
if warp == 0:
    cute.copy(tma_store, smem, gmem)
"""

RULE = make_rule(__doc__, "wrong", ("no-proxy-fence",), tell, FLAGGED, CLEAN)
