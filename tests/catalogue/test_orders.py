# ruff: noqa: E501 (texts as people write them)
"""Who writes, who reads and by which instruction, in a person's sentences: the law of that pair answers."""

from __future__ import annotations

import pytest

from layoutcheck.catalogue import answers, orders
from layoutcheck.catalogue.orders import ACTORS, ORDERS
from tests.catalogue.test_laws import is_source


@pytest.mark.parametrize(
    ("text", "first", "second"),
    [
        ("tma_store_wait<kNumStages - 1>() stands before reissuing a TMA load into the same shared buffer: the stage's store may still be in flight when the next load overwrites it", "TMA store", "TMA load"),
        ("TMA loads bring operands into shared memory, which are consumed by wgmma. Is a sync needed to avoid overwriting the stage while it is being read?", "wgmma", "TMA load"),
        ("store sA / sB -> sync_threads() -> copy SMEM->registers -> cute.gemm with no trailing barrier before the next K iteration overwrote sA / sB", "stores", "reads"),
        ("it writes the shared array in one loop and reads it back in the loop right after, with nothing in between; racecheck reports a hazard", "stores", "reads"),
        ("an atomic_xchg of a flag behind the TMA store does not release it: another block reads stale values", "TMA store", "flag"),
        ("for each tile: write results to smem; TMA store from smem to gmem. The wait stands after the loop. A race?", "TMA store", "stores"),
        ("after a TMA store, is waiting by tma_store_wait necessary?", "TMA store", "bulk wait"),
        ("arrive_barrier on the empty slot, then the TMA store reads from the allocation", "release", "TMA store"),
        ("threads write P into shared memory with st.shared, __syncthreads(), then a warpgroup runs wgmma on it, wrong sometimes", "stores", "wgmma"),
        ("one thread initializes the mbarriers and then all threads wait on them without a fence", "init", "wait"),
        ("I load with TMA and the threads read smem after __syncthreads, values are stale", "TMA load", "reads"),
        ("softmax warps write P to tensor memory with tcgen05.st, then signal the MMA warp, which issues tcgen05.mma", "tcgen05.st", "tcgen05.mma"),
        ("does a warp wait after tcgen05.mma before tcgen05.ld reads the accumulator?", "tcgen05.mma", "tcgen05.ld"),
        ("tcgen05.ld of the O tile, then o_handle.release(), after which the MMA warp overwrites O: garbage", "tcgen05.ld", "release"),
        ("the wgmma reads the tile after the threads convert it into shared memory, sometimes stale", "stores", "wgmma"),
        ("block 0 writes partial sums to global memory and sets a flag; the last block spins on it and reads, sometimes wrong", "global stores", "flag"),
        ("warpgroup_wait<1> stands before reading the accumulators, random tiles are off", "wgmma", "accumulators"),
        ("the kernel updates the tensormaps when the group changes while earlier TMA loads still read them", "map writes", "TMA load"),
        ("is __syncwarp needed between writing to shared memory by lane 0 and reading by the other lanes?", "stores", "reads"),
        ("why is fence_async_shared behind tma store wrong?\nlocal_store(smem, x)\ndescriptor_store(desc, smem)\nstore_wait(0)\nfence_async_shared()", "stores", "TMA store"),
        ("what prevents the TMA load from being issued before LDS has completed? The barrier counts the arrivals", "reads", "TMA load"),
    ],
)  # fmt: skip
def test_the_pair_of_a_text_is_told(text: str, first: str, second: str) -> None:
    order = orders.told(text)
    assert order is not None
    assert (order.first, order.second) == (first, second)


@pytest.mark.parametrize(
    "text",
    [
        "how wide is a TMA load, and does ldmatrix read it?",  # of no order
        "the TMA load of my kernel waits forever",  # one actor
        "ldmatrix from smem waits for the TMA store",  # two reads
    ],
)
def test_no_pair(text: str) -> None:
    assert orders.told(text) is None


def test_a_pair_is_the_answers_cause_and_no_other_law_stands_beside_it() -> None:
    text = "cp.async by some threads, then __syncthreads(), then all threads read it. Sometimes values are wrong."
    (found,) = answers(text)
    assert f"it may be this: {ORDERS['cp.async', 'reads']} " in found.cause
    assert found.facts == ()
    (swizzled,) = answers(f"{text} The tile is swizzled, and its reader takes another Swizzle.")
    assert swizzled.cause == found.cause and swizzled.facts != ()  # it may be another cause


def test_what_waits_or_is_slow_is_not_told_an_order_of_accesses() -> None:
    text = "cp.async by some threads, then __syncthreads(), then all threads read it, and "
    for end in ("the kernel hangs", "it is slower than before"):
        assert all(str(ORDERS["cp.async", "reads"]) != one.cause for one in answers(text + end))


def test_a_slot_that_is_reused_too_early_may_leave_a_kernel_waiting() -> None:
    text = "the kernel hangs: arrive_barrier on the empty slot, then the TMA store reads from the allocation"
    assert answers(text)[0].facts[0].startswith(f"may be: {ORDERS['release', 'TMA store']}")


def test_a_warp_that_writes_an_address_is_no_illegal_access() -> None:
    text = "the MMA warp writes the TMEM address to shared memory and other warps read it with no barrier"
    assert all("an address outside" not in one.title for one in answers(text))


def test_every_pair_has_actors_and_a_source() -> None:
    assert {name for pair in ORDERS for name in pair} == ACTORS.keys()
    for order in ORDERS.values():
        assert [one for one in order.source.split("; ") if not is_source(one)] == []
        assert "{" not in str(order)
