"""LC507 transaction-bytes: the bytes announced to an mbarrier are not the bytes that are copied.

## What it means

`expect_tx` announces bytes, and copies subtract them as they complete. If too few bytes are
announced, the phase ends before the data is there, and the next phase begins with a wrong count. If
too many are announced, the wait never returns.

## Why

PTX ISA, mbarrier: tx-count: a phase completes when the pending arrivals and the tx-count are both zero. On an H200
too few bytes corrupt the output, 16 bytes too many hang the kernel.

## How to fix it

Announce exactly the bytes of all copies that complete on the barrier in that phase, with the multicast copies of
other blocks (`cute.size_in_bytes(dtype, layout)` of every operand; `tx_count=` of a pipeline).
"""

from __future__ import annotations

from layoutcheck.digits import many
from layoutcheck.order.rules.rule import Places, Problem, does, line, make_rule


def tell(problem: Problem, places: Places) -> tuple[str, str]:
    """What was announced, and what was copied."""
    facts = problem.facts
    if problem.kind == "too-few-bytes":
        return f"{line(places[0])} announces fewer bytes than the copies bring", (
            f"Phase {facts['phase']} of the mbarrier expects {facts['expected']} bytes ({line(places[0])}) and is over "
            f"while {facts['missing_bytes']} bytes of copies are still under way ({line(places[1])}). Missing: the bytes of all copies of a "
            "phase in what is announced."
        )
    if int(facts["bytes"]) < 0:
        return f"{line(places[0])} announces fewer bytes than the copies bring", (
            f"The copies bring {-int(facts['bytes'])} bytes more than {line(places[0])} announces: {does(places[1])}, and the phase "
            "ends before all bytes are there, or never. Missing: the bytes of all copies of a phase in what is announced."
        )
    return f"{line(places[0])} announces bytes that no copy brings", (
        f"{facts['bytes']} bytes are announced and never copied ({line(places[0])}): {does(places[1])} and never continues; {many(int(facts['warps']), 'warp of the block waits', 'warps of the block wait')}."
    )


FLAGGED = """
cute.arch.mbarrier_arrive_and_expect_tx(bar, bytes_a)
cute.copy(tma_a, gmem_a, smem_a, tma_bar_ptr=bar)
cute.copy(tma_b, gmem_b, smem_b, tma_bar_ptr=bar)
"""
CLEAN = """
cute.arch.mbarrier_arrive_and_expect_tx(bar, bytes_a + bytes_b)
cute.copy(tma_a, gmem_a, smem_a, tma_bar_ptr=bar)
cute.copy(tma_b, gmem_b, smem_b, tma_bar_ptr=bar)
"""

RULE = make_rule(__doc__, "wrong", ("too-few-bytes", "bytes-never-arrive"), tell, FLAGGED, CLEAN)
