"""Kernels whose TMA copies are single instructions with a tensor map that the driver encodes, and a ring that
turns once until its tensor is large. `how` 0 is right.

tiles       1 a stage is loaded before all warps have read it, 2 a row less than the box is announced,
            3 a row more, 4 the stage is loaded while its store reads it
large_ring  1 the stage is free while its store reads it
one_role    1 two warps use what all threads have read, and not only the one that wrote it
clustered   1 another warp's words are read without a barrier; an integer of the host is the cluster's size
"""

# ruff: noqa: SIM102 - what is known while tracing stands apart from what a run decides

from __future__ import annotations

import cutlass
import cutlass.cute as cute
import cutlass.experimental.cuda as cuda
from cutlass import Constexpr, Float16, Int32, Int64, const_expr
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import make_fake_compact_tensor
from cutlass.experimental import primitives as prims

from tests.order.kernels import barriers, buffer
from tests.order.pipelines import copy_in, staged
from tests.order.reported import WORDS

arch = cute.arch
SHARED = cutlass.AddressSpace.smem
THREADS, ROWS, COLUMNS, STAGES = 64, 8, 64, 2
TILE, BYTES = ROWS * COLUMNS, ROWS * COLUMNS * 2
BLOCKS = 108
# kernel -> (code, words of the first line, of the second) of each variant from 1 on
TOLD = {
    "tiles": (("LC503", "# read", "# loaded"), ("LC507", "# announced", ""), ("LC507", "# announced", ""),
              ("LC502", "# stored", "# loaded")),
    "large_ring": (("LC502", "# stored", ""),),
    "one_role": (("LC504", "# put", "# read"),),
    "clustered": (("LC504", "# put", "# got"),),
}  # fmt: skip


@cute.jit
def ready(bars, count: Constexpr):
    if arch.thread_idx()[0] == 0:
        for stage in cutlass.range_constexpr(count):
            prims.mbarrier_init(bars.subview(stage), 1)
    prims.fence_mbarrier_init()
    prims.barrier_cta_sync(0)


@cute.jit
def load(map_: cuda.TensorMap, data, full, turn, how: Constexpr):
    stage, announced = turn % STAGES, BYTES
    if const_expr(how == 2):
        announced = BYTES - COLUMNS * 2
    elif const_expr(how == 3):
        announced = BYTES + COLUMNS * 2
    if prims.elect_sync():
        prims.mbarrier_arrive_expect_tx(full.subview(stage), announced)  # announced
    if prims.elect_sync():
        prims.cp_async_bulk_tensor_shared_cta_global(  # loaded
            data.subview(stage * TILE), map_.get_ptr(), (0, turn * ROWS), full.subview(stage)
        )


@cute.kernel
def tiles(
    map_: cutlass.GridConstant[cuda.TensorMap],
    out: cutlass.GridConstant[cuda.TensorMap],
    turns: Int32,
    how: Constexpr,
):
    data = cutlass.Array(Float16, STAGES * TILE, space=SHARED, alignment=1024)
    full = cutlass.Array(Int64, STAGES, space=SHARED, alignment=8)
    ready(full, STAGES)
    thread, warp = arch.thread_idx()[0], arch.warp_idx()
    if warp == 0:
        load(map_, data, full, 0, how)
    for turn in cutlass.range(turns):
        stage = turn % STAGES
        if warp == 0:
            if turn + 1 < turns:
                load(map_, data, full, turn + 1, how)
        while not prims.mbarrier_try_wait_parity(full.subview(stage), (turn // STAGES) & 1, time_limit=1000):
            pass
        pointer = data.data_ptr() + stage * TILE + thread
        pointer.store(pointer.load() + Float16(1.0))  # read
        arch.fence_view_async_shared()
        if const_expr(how != 1):
            prims.barrier_cta_sync(0)
        if warp == 0:
            if prims.elect_sync():
                prims.cp_async_bulk_tensor_global_shared_cta(  # stored
                    out.get_ptr(), data.subview(stage * TILE), (0, turn * ROWS)
                )
                prims.cp_async_bulk_commit_group()
                if const_expr(how != 4):
                    prims.cp_async_bulk_wait_group(0)
    if warp == 0:
        if prims.elect_sync():
            prims.cp_async_bulk_wait_group(0)


@cute.kernel
def large_ring(source: cute.Tensor, target: cute.Tensor, turns: Int32, how: Constexpr):
    thread, block = arch.thread_idx()[0], arch.block_idx()[0]
    data, bars = staged(buffer(STAGES * WORDS).iterator, STAGES), barriers(2 * STAGES)
    given, taken = (cute.local_tile(one, (WORDS,), (None,)) for one in (source, target))
    if thread == 0:
        for i in cutlass.range_constexpr(2 * STAGES):
            arch.mbarrier_init(bars + i, 1)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    if thread < 32:
        for turn in cutlass.range(turns, unroll=1):
            stage, parity = turn % STAGES, (turn // STAGES) & 1
            arch.mbarrier_wait(bars + STAGES + stage, parity ^ 1)
            with arch.elect_one():
                arch.mbarrier_arrive_and_expect_tx(bars + stage, 4 * WORDS)
                copy_in(given[(None, block * turns + turn)], data[(None, stage)], bars + stage)  # filled
    if thread >= 32:  # a role of its own, which the program has after the other
        for turn in cutlass.range(turns, unroll=1):
            stage, parity = turn % STAGES, (turn // STAGES) & 1
            arch.mbarrier_wait(bars + stage, parity)
            with arch.elect_one():
                bulk = cute.make_copy_atom(cpasync.CopyBulkS2GOp(), Int32)
                cute.copy(bulk, data[(None, stage)], taken[(None, block * turns + turn)])  # stored
                arch.cp_async_bulk_commit_group()
                arch.cp_async_bulk_wait_group(1 if const_expr(how == 1) else 0, read=True)
                arch.mbarrier_arrive(bars + STAGES + stage)
        arch.cp_async_bulk_wait_group(0, read=True)


@cute.kernel
def one_role(target: cute.Tensor, how: Constexpr):
    thread, warp, data = arch.thread_idx()[0], arch.warp_idx(), buffer(1)
    if thread == 0:
        data[0] = Int32(7)  # put
    if warp == 0:
        arch.sync_warp()
    value = data[0] * 2  # read
    if warp <= how:
        target[thread] = value


@cute.jit
def run_one_role(target: cute.Tensor, how: Constexpr):
    one_role(target, how).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


@cute.kernel
def clustered(target: cute.Tensor, how: Constexpr):
    thread, data = arch.thread_idx()[0], buffer(THREADS)
    data[thread] = thread  # put
    if const_expr(how == 0):
        arch.sync_threads()
    target[thread] = data[THREADS - 1 - thread]  # got


@cute.jit
def run_clustered(target: cute.Tensor, blocks: Int32, how: Constexpr):
    clustered(target, how).launch(grid=(blocks, 1, 1), block=(THREADS, 1, 1), cluster=(blocks, 1, 1))


@cute.jit
def run_tiles(source: cute.Tensor, target: cute.Tensor, turns: Int32, how: Constexpr):
    maps = [
        cuda.create_tensor_map_tiled(
            global_address=one.iterator.toint(), dtype=Float16, global_dims=[COLUMNS, one.shape[0]],
            global_strides=[COLUMNS * 2 // 16], box_dims=[COLUMNS, ROWS], swizzle=cuda.TensorMapSwizzle.s128b,
        )
        for one in (source, target)
    ]  # fmt: skip
    tiles(*maps, turns, how).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


@cute.jit
def run_large_ring(source: cute.Tensor, target: cute.Tensor, how: Constexpr):
    large_ring(source, target, Int32(source.shape[0] // (WORDS * BLOCKS)), how).launch(
        grid=(BLOCKS, 1, 1), block=(THREADS, 1, 1)
    )


@cute.jit
def on_the_host(data: cute.Tensor):
    for i in range(cute.size(data)):
        data[i] = data[i] + 1


if __name__ == "__main__":
    memory = cutlass.AddressSpace.generic
    cute.compile(on_the_host, make_fake_compact_tensor(Int32, (4,), memspace=memory))
    for how in range(len(TOLD["tiles"]) + 1):
        rows = cute.sym_int64()
        given = [make_fake_compact_tensor(Float16, (rows, COLUMNS), stride_order=(1, 0)) for _ in range(2)]
        cute.compile(run_tiles, *given, 4, how)
    for how in range(len(TOLD["large_ring"]) + 1):
        size = cute.sym_int64(divisibility=WORDS * BLOCKS)
        given = [make_fake_compact_tensor(Int32, (size,), assumed_align=128) for _ in range(2)]
        cute.compile(run_large_ring, *given, how)
    for how in range(len(TOLD["one_role"]) + 1):
        cute.compile(run_one_role, make_fake_compact_tensor(Int32, (THREADS,)), how)
    for how in range(len(TOLD["clustered"]) + 1):
        cute.compile(run_clustered, make_fake_compact_tensor(Int32, (THREADS,)), 4, how)
