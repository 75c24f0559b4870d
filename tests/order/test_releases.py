"""LC514 in kernels that have a release and an acquire: which stores the release covers."""

from __future__ import annotations

import pytest

from layoutcheck.sources.traced import KernelFinding, OrderReport
from tests.order.looked import orders_of

KERNELS = """\
import cutlass, cutlass.cute as cute
from cutlass import Constexpr, Int32, Int64, const_expr
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import make_fake_tensor
arch = cute.arch
@cute.kernel
def hands_over(lines: cute.Tensor, flags: cute.Tensor, out: cute.Tensor, how: Constexpr):
    thread, block = arch.thread_idx()[0], arch.block_idx()[0]
    after = (block + 1) % 4
    before = (block + 3) % 4
    if const_expr(how == 4):  # who reads its line has done so
        out[thread, block] = lines[thread, after]
        arch.sync_threads()
        if thread == 0:
            arch.store(flags.iterator + block, Int32(1), sem="release", scope="gpu")
            seen = Int32(0)
            while seen == 0:
                seen = arch.load(flags.iterator + before, Int32, sem="acquire", scope="gpu")
        arch.sync_threads()
    lines[thread, block] = thread  # its line
    if const_expr(how in (0, 5, 6, 9, 22)):
        arch.sync_threads()
    if const_expr(how == 2):
        arch.barrier(barrier_id=1, number_of_threads=96)
    if const_expr(how == 3):
        if thread < 64:
            arch.barrier(barrier_id=1, number_of_threads=64)
    if const_expr(how == 5):
        arch.fence_acq_rel_gpu()
        arch.sync_threads()
    if const_expr(how == 7):
        if thread == 0:
            arch.fence_acq_rel_gpu()
        arch.sync_threads()
    if const_expr(how == 8):
        arch.fence_acq_rel_gpu()
        arch.sync_threads()
    if const_expr(how != 4):
        if thread == 0:
            if const_expr(how in (5, 7, 8)):
                arch.store(flags.iterator + block, Int32(1), sem="relaxed", scope="gpu")
            elif const_expr(how == 22):  # as often as only a run knows
                for _ in cutlass.range(cutlass.min(flags[before], 2), unroll=1):
                    arch.store(flags.iterator + block, Int32(1), sem="release", scope="gpu")
            elif const_expr(how == 6):
                if flags[block] == 3:
                    arch.store(flags.iterator + block, Int32(1), sem="release", scope="gpu")
            else:
                arch.store(flags.iterator + block, Int32(1), sem="release", scope="gpu")
            seen = Int32(0)
            while seen == 0:
                seen = arch.load(flags.iterator + after, Int32, sem="acquire", scope="gpu")
        if const_expr(how != 9):
            arch.sync_threads()
        out[thread, block] = lines[thread, after]  # the next one's
@cute.kernel
def in_turn(lines: cute.Tensor, turn: cute.Tensor, out: cute.Tensor, how: Constexpr):
    thread, block = arch.thread_idx()[0], arch.block_idx()[0]
    if thread == 0:
        seen = Int32(-1)
        while seen != block:
            seen = arch.load(turn.iterator, Int32, sem="acquire", scope="gpu")
    if const_expr(how != 12):
        arch.sync_threads()
    if block > 0:
        out[thread, block] = lines[thread, 0]  # the sum so far
    lines[thread, 0] = thread  # the sum
    if const_expr(how != 11):
        arch.sync_threads()
    if thread == 0:
        arch.store(turn.iterator, block + 1, sem="release", scope="gpu")
@cute.kernel
def the_last(lines: cute.Tensor, count: cute.Tensor, out: cute.Tensor, how: Constexpr):
    thread, block = arch.thread_idx()[0], arch.block_idx()[0]
    place = cutlass.memory.SmemAllocator().allocate_tensor(Int32, cute.make_layout(1), 16)
    lines[thread, block] = thread  # a part
    if const_expr(how not in (14, 18)):
        arch.fence_acq_rel_gpu()
        arch.sync_threads()
    if thread == 0:
        order = "acq_rel" if how == 14 else "relaxed"
        place[0] = arch.atomic_add(count.iterator, Int32(1), sem=order, scope="gpu")
    arch.sync_threads()
    if place[0] == 3:
        if const_expr(how not in (15, 18)):
            arch.fence_acq_rel_gpu()
        for other in cutlass.range_constexpr(4):
            out[thread, other] = lines[thread, other]  # all parts
@cute.kernel
def one_way(lines: cute.Tensor, flag: cute.Tensor, out: cute.Tensor, how: Constexpr):
    thread, block = arch.thread_idx()[0], arch.block_idx()[0]
    if block == 0:
        lines[thread, 0] = thread  # for all
        if const_expr(how == 16):
            arch.fence_acq_rel_gpu()
            arch.sync_threads()
        if thread == 0:
            if const_expr(how == 17):
                arch.fence_acq_rel_gpu()
            flag[0] = 1
    else:
        if thread == 0:
            seen = Int32(0)
            while seen == 0:
                seen = arch.load(flag.iterator, Int32, sem="acquire", scope="gpu")
        arch.sync_threads()
        out[thread, block] = lines[thread, 0]  # the first one's
@cute.kernel
def in_bins(lines: cute.Tensor, bins: cute.Tensor, out: cute.Tensor, how: Constexpr):
    thread, block = arch.thread_idx()[0], arch.block_idx()[0]
    lines[thread, block] = thread  # counted in a bin
    arch.sync_threads()
    if thread == 0:
        arch.atomic_add(bins.iterator + block % 2, Int32(1), sem="release", scope="gpu")
        order = "relaxed" if how == 20 else "acquire"
        seen = Int32(0)
        while seen < 4:
            even = arch.load(bins.iterator, Int32, sem=order, scope="gpu")
            seen = even + arch.load(bins.iterator + 1, Int32, sem=order, scope="gpu")
    if const_expr(how != 21):
        arch.sync_threads()
    for other in cutlass.range_constexpr(4):
        out[thread, other] = lines[thread, other]  # read behind all bins
@cute.kernel
def in_bulk(lines: cute.Tensor, flags: cute.Tensor, out: cute.Tensor, how: Constexpr):
    thread, block = arch.thread_idx()[0], arch.block_idx()[0]
    memory = cutlass.memory.SmemAllocator()
    shared = memory.allocate_tensor(Int32, cute.make_layout(96), 128)
    bar = memory.allocate_array(Int64, 1)
    if thread == 0:
        arch.mbarrier_init(bar, 1)
    arch.mbarrier_init_fence()
    if block > 0:
        shared[thread] = thread
        if const_expr(how > 25):
            lines[thread, block] = thread  # its line
            arch.fence_proxy("async.global")
        if const_expr(how != 27):
            arch.fence_view_async_shared()
            arch.sync_threads()
        if thread == 0:
            if const_expr(how < 26):
                to = lines[None, block]
                cute.copy(cute.make_copy_atom(cpasync.CopyBulkS2GOp(), Int32), shared, to)  # in bulk
                arch.cp_async_bulk_commit_group()
                arch.cp_async_bulk_wait_group(0, read=how == 24)
            arch.store(flags.iterator + block, Int32(1), sem="release", scope="gpu")
    else:
        arch.sync_threads()
        if thread == 0:
            seen = Int32(0)
            while seen == 0:
                seen = arch.load(flags.iterator + 1, Int32, sem="acquire", scope="gpu")
            if const_expr(how > 25):
                arch.fence_proxy("async.global")
                arch.mbarrier_arrive_and_expect_tx(bar, 384)
                atom = cute.make_copy_atom(cpasync.CopyBulkG2SOp(), Int32)
                cute.copy(atom, lines[None, 1], shared, mbar_ptr=bar)  # load
        if const_expr(how != 25):
            arch.sync_threads()
        if const_expr(how > 25):
            arch.mbarrier_wait(bar, 0)
            out[thread, 0] = shared[thread]
        else:
            out[thread, 0] = lines[thread, 1]  # read back
@cute.jit
def run(lines: cute.Tensor, flags: cute.Tensor, out: cute.Tensor, how: Constexpr):
    kernel = (
        in_bulk if const_expr(how > 22) else hands_over if const_expr(how < 10 or how == 22) else
        in_turn if const_expr(how < 13) else the_last if const_expr(how < 16 or how == 18) else
        one_way if const_expr(how < 18) else in_bins)
    kernel(lines, flags, out, how).launch(grid=(4, 1, 1), block=(96, 1, 1))
def made(*shape):
    return make_fake_tensor(Int32, shape, (1, 96)[: len(shape)], assumed_align=16)
for how in range(28):
    cute.compile(run, made(96, 4), made(4), made(96, 4), how)
"""


@pytest.fixture(scope="module")
def orders(tmp_path_factory: pytest.TempPathFactory) -> tuple[OrderReport, ...]:
    return orders_of(KERNELS, tmp_path_factory.mktemp("releases"), 28)


def ends(finding: KernelFinding) -> list[str]:
    """Its severity, its code and the remarks at its lines."""
    lines = [KERNELS.splitlines()[place.where.line - 1] for place in finding.places]
    return [finding.severity, finding.code, *(line.rpartition("# ")[2] for line in lines)]


def test_what_a_release_covers(orders: tuple[OrderReport, ...]) -> None:
    """A barrier of all warps, none, one by its number, one of two warps; then a line acquired before, a
    fence of all threads, a loaded condition, a fence of one thread, and one of all with no barrier before."""
    found = [[ends(finding) for finding in order.findings] for order in orders]
    told = [["wrong", "LC514", "its line", "the next one's"]]
    assert found[:9] == [[], told, [], told, [], [], [], told, []]
    none, two, one = (orders[how].findings[0] for how in (1, 3, 7))
    assert [finding.places[0].thread for finding in (none, two, one)] == [32, 64, 32]
    assert none.title.endswith("and no release covers the store")
    assert "Missing: a barrier of the block between the store and the release" in none.message


def test_who_an_acquire_orders(orders: tuple[OrderReport, ...]) -> None:
    """No barrier behind the acquire (9, 12); blocks take turns (10), no barrier before the release (11)."""
    found = [[ends(finding) for finding in order.findings] for order in orders[9:13]]
    turns = [["wrong", "LC514", "the sum", "the sum so far"]]
    assert found == [[["wrong", "LC514", "its line", "the next one's"]], [], turns, turns]
    whys = [orders[how].findings[0].title.rpartition(", and ")[2] for how in (9, 11, 12)]
    late = "no acquire comes before the load"
    assert whys == [late, "no release covers the store", late]


def test_what_a_fence_releases_and_acquires(orders: tuple[OrderReport, ...]) -> None:
    """The last block reads all parts (13): a fence releases before the count, and acquires behind it.

    Without the first the count releases its own thread alone (14), without the second nothing acquires (15).
    Without either nothing orders the blocks (18), and which of them reads only a run knows.
    """
    found = [{tuple(ends(finding)) for finding in orders[how].findings} for how in (13, 14, 15, 18)]
    told = {("wrong", "LC514", "a part", "all parts")}
    assert found == [set(), told, told, told]
    whys = [orders[how].findings[0].title.rpartition(", and ")[2] for how in (14, 15, 18)]
    assert whys == ["no release covers the store", "no acquire comes before the load", "nothing orders them"]


def test_a_weak_store_behind_a_fence_hands_over(orders: tuple[OrderReport, ...]) -> None:
    """All threads' accesses (16), or those of the thread with the fence alone (17)."""
    found = [[ends(finding) for finding in order.findings] for order in orders[16:18]]
    assert found == [[], [["wrong", "LC514", "for all", "the first one's"]]]


def test_a_barrier_that_counts_in_several_bins(orders: tuple[OrderReport, ...]) -> None:
    """A sum of two bins is waited for by acquires (19), relaxed loads (20), with no barrier behind (21)."""
    found = [[ends(finding) for finding in order.findings] for order in orders[19:22]]
    told = [["wrong", "LC514", "counted in a bin", "read behind all bins"]]
    assert found == [[], told, told]
    assert any(
        one.endswith("whether each wait counts the releases that it needs") for one in orders[19].unchecked
    )


def test_nothing_is_known_of_a_release_in_a_loop_that_only_a_run_enters(
    orders: tuple[OrderReport, ...],
) -> None:
    """The replay of one block passes it by; the next turn may release the line."""
    assert orders[22].findings == ()
    between = "global memory between blocks: release and acquire may order them"
    assert any(one.startswith(between) for one in orders[22].unchecked)


def test_copies_in_bulk(orders: tuple[OrderReport, ...]) -> None:
    """A line is stored in bulk and waited for (23), its source alone is (24), the reader does not meet (25).

    A line is loaded in bulk (26), with no barrier before the release (27).
    """
    found = [
        [ends(finding) for finding in order.findings if finding.severity == "wrong"] for order in orders[23:]
    ]
    told = [["wrong", "LC514", "in bulk", "read back"]]
    assert found == [[], told, told, [], [["wrong", "LC514", "its line", "load"]]]
    whys = [orders[how].findings[0].title.rpartition(", and ")[2] for how in (24, 25, 27)]
    late, alone = "no acquire comes before the load", "no release covers the store"
    assert whys == ["no release covers the copy", late, alone]
    fences = "global memory between blocks: whether a proxy fence stands between stores and bulk loads"
    assert [fences in order.unchecked for order in orders[23:]] == [False, False, False, True, True]
