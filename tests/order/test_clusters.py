"""`cute.experimental`, commits at another block's mbarrier (LC533), stores to a peer, freed pairs (LC536)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from layoutcheck.order.replays import causes
from layoutcheck.sources.traced import OrderReport
from tests.order.looked import orders_of

KERNELS = """\
import cutlass, cutlass.cute as cute
from cutlass import Constexpr, Int32, Int64, const_expr
from cutlass.cute import experimental as ext
from cutlass.cute.nvgpu import tcgen05
from cutlass.cute.runtime import make_fake_tensor
arch = cute.arch
@ext.kernel
def swapped(out: cute.Tensor, how: Constexpr):
    thread, _, _ = arch.thread_idx()
    data = ext.allocate(Int32, cute.AddressSpace.smem, cute.make_layout(64), alignment=16)
    data[thread] = thread  # writes
    if const_expr(how == 0):
        arch.sync_threads()
    out[thread] = data[63 - thread]  # reads
@ext.jit
def run_swapped(out: cute.Tensor, how: Constexpr):
    swapped(out, how).launch(grid=(1, 1, 1), block=(64, 1, 1), smem=4096)
@cute.kernel
def committed(out: cute.Tensor, how: Constexpr):
    thread, _, _ = arch.thread_idx()
    rank = arch.block_idx_in_cluster()
    bars = cutlass.memory.SmemAllocator().allocate_array(Int64, 2)
    if thread == 0:
        arch.mbarrier_init(bars, 1)
        arch.mbarrier_init(bars + 1, 1)
    arch.mbarrier_init_fence()
    arch.cluster_arrive()
    arch.cluster_wait()
    if rank == 0:
        with arch.elect_one():
            tcgen05.commit(bars, 3, tcgen05.CtaGroup.TWO)  # released
            tcgen05.commit(bars + 1, 3, tcgen05.CtaGroup.TWO)  # done
    arch.mbarrier_wait(bars + 1, 0)
    if const_expr(how == 0):
        arch.mbarrier_wait(bars, 0)
    if const_expr(how == 2):
        arch.cluster_arrive()
        arch.cluster_wait()
    out[thread] = rank
@cute.kernel
def waited(out: cute.Tensor, how: Constexpr):
    thread, _, _ = arch.thread_idx()
    rank = arch.block_idx_in_cluster()
    bars = cutlass.memory.SmemAllocator().allocate_array(Int64, 1)
    if thread == 0:
        arch.mbarrier_init(bars, 2 if const_expr(how == 0) else 1)
    arch.mbarrier_init_fence()
    arch.cluster_arrive()
    arch.cluster_wait()
    if rank == 0 and thread < 32:
        with arch.elect_one():
            tcgen05.commit(bars, 2 if const_expr(how == 2) else 3, tcgen05.CtaGroup.TWO)  # sent
            if const_expr(how == 0):
                tcgen05.commit(bars, 3, tcgen05.CtaGroup.TWO)
    if const_expr(how == 0):
        arch.mbarrier_wait(bars, 0)
    if const_expr(how == 1):
        if thread == 33:
            arch.mbarrier_wait(bars, 0)
    if const_expr(how == 2):
        if rank == 1:
            arch.mbarrier_wait(bars, 0)
    if const_expr(how == 3):
        if rank == 0:
            arch.mbarrier_wait(bars, 0)
    out[thread] = rank
@cute.kernel
def sent(out: cute.Tensor, how: Constexpr):
    thread, _, _ = arch.thread_idx()
    peer = arch.block_idx_in_cluster() ^ 1
    memory = cutlass.memory.SmemAllocator()
    data = memory.allocate_tensor(Int32, cute.make_layout(32), 16)
    bar = memory.allocate_array(Int64, 1)
    if thread == 0:
        arch.mbarrier_init(bar, 1)
        arch.mbarrier_arrive_and_expect_tx(bar, 128 if const_expr(how != 2) else 64)
    arch.mbarrier_init_fence()
    arch.cluster_arrive()
    arch.cluster_wait()
    arch.store_async_dsmem(data.iterator + thread, thread, bar, peer)  # sends
    if const_expr(how != 1):
        arch.mbarrier_wait(bar, 0)
    if const_expr(how == 3):
        arch.cluster_arrive()
        arch.cluster_wait()
        if thread == 0:
            arch.mbarrier_arrive_and_expect_tx(bar, 128)
        arch.cluster_arrive()
        arch.cluster_wait()
        arch.store_async_dsmem(data.iterator + thread, thread, bar, peer)  # sends more
    out[thread] = data[thread]  # receives
    if const_expr(how == 3):
        arch.mbarrier_wait(bar, 1)
    arch.cluster_arrive()
    arch.cluster_wait()
@cute.kernel
def freed(out: cute.Tensor, how: Constexpr):
    thread, _, _ = arch.thread_idx()
    holder = cutlass.memory.SmemAllocator().allocate_array(Int32, 1)
    arch.cluster_arrive()
    arch.cluster_wait()
    pair = const_expr(how < 2)
    arch.alloc_tmem(32, holder, is_two_cta=pair)
    arch.sync_threads()
    columns = cute.make_tensor(arch.retrieve_tmem_ptr(Int32, 16, holder),
                               cute.make_layout((128, 32), stride=(65536, 1)))
    load = cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x32), Int32)
    mine = tcgen05.make_tmem_copy(load, columns).get_slice(thread)
    held = cute.make_rmem_tensor(mine.partition_D(columns).shape, Int32)
    cute.copy(mine, mine.partition_S(columns), held)  # used
    arch.fence_view_async_tmem_load()
    out[thread] = held[0]
    if const_expr(how == 0):
        arch.cluster_arrive()
        arch.cluster_wait()
    arch.dealloc_tmem(columns.iterator, 32, is_two_cta=pair)  # freed
@cute.jit
def run(out: cute.Tensor, name: Constexpr, how: Constexpr):
    globals()[name](out, how).launch(grid=(2, 1, 1), block=(32, 1, 1), cluster=(2, 1, 1))
@cute.jit
def run_waited(out: cute.Tensor, how: Constexpr):
    waited(out, how).launch(grid=(2, 1, 1), block=(64, 1, 1), cluster=(2, 1, 1))
out = make_fake_tensor(Int32, (64,), (1,), assumed_align=16)
for how in range(2):
    ext.compile(run_swapped, out, how)
for name in ("committed", "sent"):
    for how in range(3 if name == "committed" else 4):
        cute.compile(run, out, name, how)
for how in range(4):
    cute.compile(run_waited, out, how)
for how in range(3):
    cute.compile(run, out, "freed", how)
"""
LINES = ["", *(line.rpartition("# ")[2] for line in KERNELS.splitlines())]


@pytest.fixture(scope="module")
def orders(tmp_path_factory: pytest.TempPathFactory) -> tuple[OrderReport, ...]:
    """`swapped`: with a barrier, without. `committed`: waited for, not, not but the cluster meets at the end.

    `sent`: right, not waited for, more bytes than are announced, the second time not waited for.
    `waited`: two commits make one phase, one lane waits, the other block alone waits, it alone does not.
    `freed`: the pair meets before it frees its columns, does not, and each block has columns of its own.
    """
    return orders_of(KERNELS, tmp_path_factory.mktemp("clusters"), 16, "sm_100a")


def told(order: OrderReport) -> list[tuple[str, str, list[str]]]:
    """The severity and the code of each finding, and the remarks at its lines."""
    return [(f.severity, f.code, [LINES[p.where.line] for p in f.places]) for f in order.findings]


def test_a_kernel_of_cute_experimental_is_followed(orders: tuple[OrderReport, ...]) -> None:
    assert told(orders[0]) == []
    assert ("wrong", "LC504", ["writes", "reads"]) in told(orders[1])
    assert orders[0].events == 4  # a store to shared memory, a barrier, a load, a store to global memory


def test_a_commit_that_the_other_block_does_not_wait_for_is_a_note(orders: tuple[OrderReport, ...]) -> None:
    awaited, alone, met = orders[2:5]
    assert told(awaited) == told(met) == []
    assert told(alone) == [("note", "LC533", ["released"])]
    assert "block 1 of the cluster ends without a wait" in alone.findings[0].message


def test_a_wait_by_part_of_the_other_block_awaits_a_commit(orders: tuple[OrderReport, ...]) -> None:
    *right, alone = orders[9:13]
    assert [told(order) for order in right] == [[], [], []]
    assert told(alone) == [("note", "LC533", ["sent"])]


def test_a_store_to_a_peer_is_followed(orders: tuple[OrderReport, ...]) -> None:
    right, early, more, again = orders[5:9]
    assert told(right) == []
    assert ("wrong", "LC501", ["sends", "receives"]) in told(early)
    assert [code for _, code, _ in told(more)] == ["LC507"]
    second = next(f for f in again.findings if f.code == "LC501")
    assert [p.where.line for p in second.places[:2]] == [LINES.index("sends more"), LINES.index("receives")]
    assert "belongs to a later phase" in second.message
    assert "belongs to a later phase" not in early.findings[0].message


def test_a_pair_that_frees_its_columns_has_met(orders: tuple[OrderReport, ...]) -> None:
    met, alone, own = orders[13:]
    assert told(met) == told(own) == []
    assert {(severity, code, *sorted(lines)) for severity, code, lines in told(alone)} == {
        ("note", "LC536", "freed", "used")
    }
    assert {p.block for p in alone.findings[0].places} == {0, 1}
    one = alone.findings[0]
    assert "frees tensor memory that the other block of the pair reads" in one.title
    race = replace(one, code="LC504", severity="wrong", places=one.places[::-1])  # its own other threads'
    other = replace(race, places=race.places[:1])
    assert causes([one, race]) == (race,) and causes([one, other]) == (one, other)
