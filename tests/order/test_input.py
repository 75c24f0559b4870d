"""Counts of arrivals, and ends of loops, that are made of what a kernel loads: the caller's input may fit."""

from __future__ import annotations

import pytest

from layoutcheck.sources.traced import OrderReport
from tests.order.looked import looked

# `ring`: a warp fills a stage for as long as `lengths` says, and the other one reads it for as long as `ends`
# says and gives it back (0), or for as long and does not (1). `counted`: an mbarrier for as many arrivals as
# `ends` says, which its readers wait for (0) or not (1), or meet at a barrier of so many threads (2); for as
# many as the host says (3).
KERNELS = """
import cutlass
from cutlass import Float32, Int32, Int64, Constexpr, const_expr, cute
from cutlass.cute import arch
from cutlass.cute.runtime import make_fake_tensor

@cute.kernel
def ring(x: cute.Tensor, ends: cute.Tensor, lengths: cute.Tensor, how: Constexpr):
    thread = arch.thread_idx()[0]
    warp = arch.make_warp_uniform(arch.warp_idx())
    smem = cutlass.memory.SmemAllocator()
    data = smem.allocate_tensor(Float32, cute.make_layout(32), 16)
    full, free = smem.allocate_array(Int64, 1), smem.allocate_array(Int64, 1)
    if thread == 0:
        arch.mbarrier_init(full, 32)
        arch.mbarrier_init(free, 32)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    if warp == 0:
        for turn in cutlass.range(lengths[0], unroll=1):
            arch.mbarrier_wait(free, turn % 2 ^ 1)
            data[thread] = x[thread]
            arch.mbarrier_arrive(full)
    else:
        for turn in cutlass.range(lengths[0] if const_expr(how) else ends[1], unroll=1):
            arch.mbarrier_wait(full, turn % 2)
            x[thread] = data[thread - 32]
            if const_expr(not how):
                arch.mbarrier_arrive(free)

@cute.kernel
def counted(x: cute.Tensor, ends: cute.Tensor, given: Int32, how: Constexpr):
    thread, many = arch.thread_idx()[0], ends[0] if const_expr(how < 3) else given
    smem = cutlass.memory.SmemAllocator()
    data = smem.allocate_tensor(Float32, cute.make_layout(64), 16)
    full = smem.allocate_array(Int64, 1)
    if thread == 0:
        arch.mbarrier_init(full, many)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    data[thread] = x[thread]
    if thread < many:
        arch.mbarrier_arrive(full)
    if const_expr(how % 3 == 0):
        arch.mbarrier_wait(full, 0)
    if const_expr(how == 2):
        arch.barrier(barrier_id=1, number_of_threads=many)
    x[thread] = data[63 - thread]

@cute.kernel
def gathered(x: cute.Tensor, ends: cute.Tensor, rows: cute.Tensor, how: Constexpr):
    thread = arch.thread_idx()[0]
    warp = arch.make_warp_uniform(arch.warp_idx())
    smem = cutlass.memory.SmemAllocator()
    data = smem.allocate_tensor(Float32, cute.make_layout(128), 16)
    full = smem.allocate_array(Int64, 1)
    if thread == 0:
        arch.mbarrier_init(full, 1)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    if warp == 0:
        if thread == 0:
            arch.mbarrier_arrive_and_expect_tx(full, 16 * (31 if how else 32))
        arch.sync_warp()
        row = cute.make_tensor((x.iterator + 4 * rows[thread]).align(16), cute.make_layout(4))
        place = cute.make_tensor((data.iterator + 4 * thread).align(16), cute.make_layout(4))
        bulk = cute.make_copy_atom(cute.nvgpu.cpasync.CopyBulkG2SOp(), Float32)
        cute.copy(bulk, row, place, mbar_ptr=full)
    arch.mbarrier_wait(full, 0)
    x[thread] = data[127 - thread]

@cute.jit
def host(kernel: Constexpr, x: cute.Tensor, ends: cute.Tensor, lengths: cute.Tensor, how: Constexpr):
    kernel(x, ends, lengths, how).launch(grid=(1, 1, 1), block=(64, 1, 1))

def fake(kind, size):
    return make_fake_tensor(kind, (size,), stride=(1,), assumed_align=16)

@cute.jit
def numbered(x: cute.Tensor, ends: cute.Tensor, given: Int32, how: Constexpr):
    counted(x, ends, given, how).launch(grid=(1, 1, 1), block=(64, 1, 1))

for kernel in (ring, gathered):
    for how in range(2):
        cute.compile(host, kernel, fake(Float32, 64), fake(Int32, 2), fake(Int32, 32), how)
for how in range(4):
    cute.compile(numbered, fake(Float32, 64), fake(Int32, 2), Int32(64), how)
"""


@pytest.fixture(scope="module")
def orders(tmp_path_factory: pytest.TempPathFactory) -> list[OrderReport]:
    pytest.importorskip("cutlass", reason="kernels are traced through the installed DSL")
    script = tmp_path_factory.mktemp("input") / "kernels.py"
    script.write_text(KERNELS)
    return [report for *_, report in looked(script)]


def test_a_wait_is_told_where_both_sides_go_by_the_same_input(orders: list[OrderReport]) -> None:
    """Where they go by other input, that may fit: the report says what is not known."""
    either, same = ({f.code for f in one.findings if f.severity == "wrong"} for one in orders[:2])
    assert same == {"LC510"} and not either
    said = "ends: what it waits for happens as often as other loaded values say"
    assert [any(one.endswith(said) for one in order.unchecked) for order in orders[:2]] == [True, False]


def test_a_count_that_only_a_run_knows_is_not_known(orders: list[OrderReport]) -> None:
    waits, reads, meets, given = orders[4:]
    assert not meets.findings and meets.problem.endswith(
        "its count of threads, rests on what only a run knows"
    )
    for one in (waits, given):
        assert not one.findings and one.problem.endswith(
            "the count of its mbarrier rests on what only a run knows"
        )
    assert {f.code for f in reads.findings if f.severity == "wrong"} == {"LC504"} and not reads.problem


def test_rows_loaded_in_bulk_by_loaded_numbers_are_followed(orders: list[OrderReport]) -> None:
    """Where they come from is not known; where they go, and how many bytes, is."""
    assert [order.problem for order in orders[2:4]] == ["", ""]
    assert [[f.code for f in order.findings] for order in orders[2:4]] == [[], ["LC507"]]
