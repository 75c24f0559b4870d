"""Tensor memory: what must be waited for before it is read, given away or freed."""

from __future__ import annotations

import pytest

from layoutcheck.order.tensor_cores import _rectangle
from layoutcheck.sources.traced import OrderReport
from tests.order.looked import orders_of

KERNELS = """\
import cutlass, cutlass.cute as cute
from cutlass import Constexpr, Float32, Int32, Int64, const_expr
from cutlass.cute.nvgpu import tcgen05
from cutlass.cute.runtime import make_ptr
from cutlass.experimental import primitives as prims
arch = cute.arch
@cute.jit
def parts(holder, shift: Constexpr = 0):
    tidx, _, _ = arch.thread_idx()
    memory = cute.make_tensor(
        arch.retrieve_tmem_ptr(Float32, 16, holder) + shift, cute.make_layout((128, 32), stride=(65536, 1))
    )
    load = cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x32), Float32)
    store = cute.make_copy_atom(tcgen05.St32x32bOp(tcgen05.Repetition.x32), Float32)
    mine = tcgen05.make_tmem_copy(load, memory).get_slice(tidx % 128)
    its = tcgen05.make_tmem_copy(store, memory).get_slice(tidx % 128)
    got = cute.make_rmem_tensor(mine.partition_D(cute.make_identity_tensor((128, 32))).shape, Float32)
    got.fill(1.0)
    return memory, mine, its, got
@cute.jit
def free(memory, warp):
    if warp == 0:
        arch.relinquish_tmem_alloc_permit()
        arch.dealloc_tmem(memory.iterator, 32)
@cute.kernel
def stored(out: cute.Tensor, how: Constexpr):
    tidx, _, _ = arch.thread_idx()
    warp = arch.make_warp_uniform(arch.warp_idx())
    holder = arch.alloc_smem(Int32, 2)
    if warp == 0:
        arch.alloc_tmem(32, holder)  # allocates
        if const_expr(how == 5):
            arch.alloc_tmem(512, holder + 1)  # waits
    arch.sync_threads()
    memory, mine, its, got = parts(holder, 16 if const_expr(how == 3) else 0)
    if warp < 4:
        cute.copy(its, got, its.partition_D(memory))  # beyond
        if const_expr(how == 6):
            cute.copy(mine, mine.partition_S(memory), got)  # too early
        if const_expr(how != 2):
            arch.fence_view_async_tmem_store()
        if const_expr(how == 7):
            cute.copy(mine, mine.partition_S(memory), got)
        if const_expr(how >= 6):
            arch.fence_view_async_tmem_load()
            out[tidx] = got[0]
    arch.sync_threads()
    if warp >= 4:
        cute.copy(mine, mine.partition_S(memory), got)
        arch.fence_view_async_tmem_load()
        out[tidx] = got[0]
    if const_expr(how != 1):
        arch.sync_threads()
    if const_expr(how != 4):
        free(memory, warp)
@cute.kernel
def released(out: cute.Tensor, how: Constexpr):
    tidx, _, _ = arch.thread_idx()
    warp = arch.make_warp_uniform(arch.warp_idx())
    holder, bar = arch.alloc_smem(Int32, 1), arch.alloc_smem(Int64, 1)
    if warp == 0:
        arch.alloc_tmem(32, holder)
        arch.mbarrier_init(bar, 4)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    memory, mine, its, got = parts(holder)
    if warp < 4:
        total = Float32(0)
        if const_expr(how != 3):
            cute.copy(mine, mine.partition_S(memory), got)  # loaded
        else:
            columns = cute.make_tensor(holder, cute.make_layout(1))[0] + (warp << 21)
            brought = prims.tcgen05_ld("32x32b", cutlass.inttoptr(columns, 6, Float32), num=32)
            arch.fence_view_async_tmem_load()
            total += brought[0]
        if const_expr(how == 2):
            total += got[0]
        if const_expr(how == 0):
            arch.fence_view_async_tmem_load()
        if const_expr(how == 4):
            out[tidx] = got[0] * 2.0
        with arch.elect_one():
            arch.mbarrier_arrive(bar)
        if const_expr(how < 2):
            total += got[0]
        out[tidx] = total
    else:
        arch.mbarrier_wait(bar, 0)
        cute.copy(its, got, its.partition_D(memory))  # written over
        arch.fence_view_async_tmem_store()
    arch.sync_threads()
    free(memory, warp)
@cute.kernel
def handed(out: cute.Tensor, how: Constexpr):
    tidx, _, _ = arch.thread_idx()
    warp = arch.make_warp_uniform(arch.warp_idx())
    holder, bar = arch.alloc_smem(Int32, 1), arch.alloc_smem(Int64, 1)
    if warp == 0:
        arch.alloc_tmem(32, holder)
        arch.mbarrier_init(bar, 128 if const_expr(how == 3) else 4)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    memory, mine, its, got = parts(holder)
    if warp < 4:
        cute.copy(its, got, its.partition_D(memory))  # handed over
        if const_expr(how == 2):
            arch.sync_warp()
        elif const_expr(how == 4):
            arch.barrier(barrier_id=1, number_of_threads=128)
        arch.fence_view_async_tmem_store()
        if const_expr(how == 0):
            arch.sync_warp()
        if const_expr(how == 3):
            arch.mbarrier_arrive(bar)
        else:
            with arch.elect_one():
                arch.mbarrier_arrive(bar)
    else:
        arch.mbarrier_wait(bar, 0)
        cute.copy(mine, mine.partition_S(memory), got)  # by another warp
        arch.fence_view_async_tmem_load()
        out[tidx] = got[0]
    arch.sync_threads()
    free(memory, warp)
@cute.jit
def run(out: cute.Pointer, name: Constexpr, how: Constexpr):
    tensor = cute.make_tensor(out, cute.make_layout(256))
    globals()[name](tensor, how).launch(grid=[1, 1, 1], block=[256, 1, 1])
for name, count in (("stored", 8), ("released", 5), ("handed", 5)):
    for how in range(count):
        cute.compile(run, make_ptr(Float32, 0, cute.AddressSpace.gmem, assumed_align=16), name, how)
"""


@pytest.fixture(scope="module")
def orders(tmp_path_factory: pytest.TempPathFactory) -> tuple[OrderReport, ...]:
    """`stored`: right, freed too early, without a wait, three of `tensor_memory`, and loaded by the warp that
    stored before and after its wait.

    `released`: right, without a wait, used, loaded as integers that are recast before the wait, and stored.
    `handed`: right, without a warp barrier, with one too early, right by an arrival of each lane, and without
    one behind a barrier of all that stands before the wait (FlashAttention's backward for two blocks).
    """
    return orders_of(KERNELS, tmp_path_factory.mktemp("tensor_memory"), 18, "sm_100a")


def test_columns_are_read_after_the_stores_and_freed_after_reads(orders: tuple[OrderReport, ...]) -> None:
    """4 warps store, 4 read, warp 0 frees; with and without tcgen05.wait::st and a barrier."""
    told = [[(one.code, one.title, one.message) for one in order.findings] for order in orders[:3]]
    assert told[0] == []
    ((code, title, _),) = told[1]
    assert code == "LC504" and "reads (tcgen05.ld)" in title and "frees (tcgen05.dealloc)" in title
    (code, title, message), freed = told[2]
    assert code == "LC501" and "reads (tcgen05.ld)" in title and "still writes (tcgen05.st)" in title
    assert "Missing: tcgen05.wait::st" in message and "frees" in freed[1]


def test_a_load_is_over_where_it_is_waited_for_or_used(orders: tuple[OrderReport, ...]) -> None:
    """In the DSL's SASS for sm_100a the arrival waits for LDTM's scoreboard behind tcgen05.wait::ld only.

    An addition may stand behind the arrival (flashinfer-ai/flashinfer#5334); a store, which it releases, not.
    """
    told = [[(f.severity, f.code) for f in order.findings] for order in orders[8:13]]
    waited, released, used, recast, stored = told
    assert waited == [] and recast == [] and stored == [("note", "LC523")]
    assert released == used == [("note", "LC523")] * 2
    assert "its registers are used" in orders[12].findings[0].title
    lines = KERNELS.splitlines()
    for order in orders[9:11]:
        (race,) = (one for one in order.findings if "may overwrite" in one.title)
        ends = [lines[place.where.line - 1].rpartition("# ")[2] for place in race.places[:2]]
        assert ends == ["loaded", "written over"]
        assert "Missing: fence_view_async_tmem_load() behind kernels.py" in race.message


def test_a_warp_waits_for_its_own_stores_before_it_loads_them(orders: tuple[OrderReport, ...]) -> None:
    """PTX ISA: tcgen05.st and tcgen05.ld are asynchronous, and no pair that executes in order."""
    lines = KERNELS.splitlines()
    early, waited = ([f for f in order.findings if f.code != "LC516"] for order in orders[6:8])
    assert waited == []
    (note,) = early
    ends = [lines[place.where.line - 1].rpartition("# ")[2] for place in note.places[:2]]
    assert (note.severity, note.code, ends) == ("note", "LC523", ["beyond", "too early"])
    assert "Missing: fence_view_async_tmem_store() between" in note.message


def test_columns_beyond_the_allocation_kept_or_not_to_be_had(orders: tuple[OrderReport, ...]) -> None:
    """A store that begins 16 columns into 32; an allocation that nothing frees; 512 columns more."""
    lines = KERNELS.splitlines()
    told = [[one for one in order.findings if one.code == "LC516"] for order in orders]
    assert [len(each) for each in told] == [0, 0, 0, 2, 1, 1, *[0] * 12]
    ends = [
        [lines[p.where.line - 1].rpartition("# ")[2] for p in one.places] for each in told for one in each
    ]
    assert ends[0] == ["allocates", "beyond"] and ends[2:] == [["allocates"], ["allocates", "waits"]]
    assert all("allocates 32 columns" in one.message and "column 48" in one.message for one in told[3])


def test_one_lane_hands_over_what_all_lanes_have_stored(orders: tuple[OrderReport, ...]) -> None:
    """tcgen05.wait::st is about the waiting lane's own stores; Dao-AILab/flash-attention 2c0f11e9."""
    lines = KERNELS.splitlines()
    told = [
        [
            (f.severity, f.code, [lines[p.where.line - 1].rpartition("# ")[2] for p in f.places[:2]])
            for f in order.findings
        ]
        for order in orders[13:]
    ]
    note = ("note", "LC524", ["handed over", "by another warp"])
    assert told == [[], [note], [note], [], [note]]
    assert "Missing: sync_warp() behind kernels.py" in orders[14].findings[0].message


def test_two_accumulators_of_64_rows_share_columns() -> None:
    """The second one lies 16 lanes further on, in each warp's quarter."""
    first, second = (set(_rectangle(lane << 16 | 32, 64, 8, False).at) for lane in (0, 16))
    assert len(first) == len(second) == 4 * 8 and not first & second
    assert {cell - 1 for cell in second} == first
