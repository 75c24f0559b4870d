"""LC523 wgmma-registers: an accumulator of wgmma is read before its wait, or written without a wgmma.fence after it.

## What it means

One of five things is missing:

- a `warpgroup.wait_group` before ordinary instructions read an accumulator: the wgmma that writes it may still run,
- a `warpgroup.fence()` after ordinary instructions write an accumulator, before the next wgmma,
- a `warpgroup.fence()` before the first wgmma of a warp,
- a `tcgen05.wait::ld` after `tcgen05.ld`, before its value is used, or before an arrival gives its columns away,
- a `tcgen05.wait::st` between a `tcgen05.st` and a `tcgen05.ld` of the same columns by the same warp.

## Why

PTX ISA, wgmma.fence, wgmma.wait_group and tcgen05.wait: otherwise the behaviour is undefined. ptxas of
CUDA 13 repairs the first three (the machine code is the same as with the wait and the fence), so no run on an H200 shows a
difference. It does not always repair the last: in the DSL's cubin for sm_100a an arrival that directly follows LDTM has an
empty wait mask. In other cubins a use of the registers, which waits, stands before the arrival. It need not: arithmetic may
be moved behind it (flashinfer-ai/flashinfer#5334), a store of the value may not. A store and a load of tensor memory are both
asynchronous, and not one of the pairs that execute in order (PTX ISA, tcgen05 memory consistency model: asynchronous
operations, pipelined instructions); no GPU at hand has them, so this is not measured. Other compilers need not
repair any. Registers that a loop keeps in memory are checked as a whole; fragments of A in registers are not checked.

## How to fix it

`warpgroup.fence()` before the first wgmma and after every change of its accumulators; `warpgroup.wait_group(0)` before
they are read. `cute.arch.fence_view_async_tmem_load()` after a load from tensor memory,
`cute.arch.fence_view_async_tmem_store()` after a store.
"""

from __future__ import annotations

from layoutcheck.order.rules.rule import Places, Problem, does, line, make_rule


def tell(problem: Problem, places: Places) -> tuple[str, str]:
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


FLAGGED = """
cute.gemm(tiled_mma, acc, a, b, acc)
warpgroup.commit_group()
result = acc[0] * scale
warpgroup.wait_group(0)
"""
CLEAN = """
cute.gemm(tiled_mma, acc, a, b, acc)
warpgroup.commit_group()
warpgroup.wait_group(0)
result = acc[0] * scale
"""

_KINDS = (
    "accumulator-before-wait",
    "registers-not-fenced",
    "load-before-wait",
    "load-in-flight",
    "store-before-wait",
)
RULE = make_rule(__doc__, "note", _KINDS, tell, FLAGGED, CLEAN)
