"""The load of NVIDIA/cutlass#2320 and its neighbours: `cp.async` from global (N,M):(1,ld) to shared memory.

The report asks one 16-byte `cp.async` to gather 8 elements that are adjacent in global memory and to scatter
them 64 elements apart in shared memory. No such instruction exists: a transpose cannot happen inside a vector
copy.
"""

from __future__ import annotations

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import LoadCacheMode, cpasync

from kernels.transpose.common import (
    M_TILE,
    N_TILE,
    THREADS,
    Kernel,
    fake_args,
    row_view,
    store_rows,
    tile_grid,
    transpose_view,
)


@cute.kernel
def transpose_in_load(xt: cute.Tensor, y: cute.Tensor, tiled: cute.TiledCopy):
    """`tiled` carries one tile into K-major shared memory, the transpose; its rows then go to `y`."""
    tid, _, _ = cute.arch.thread_idx()
    bm, bn, _ = cute.arch.block_idx()
    tile = cute.make_layout((N_TILE, M_TILE), stride=(M_TILE, 1))
    smem = cutlass.memory.SmemAllocator().allocate_tensor(xt.element_type, tile, byte_alignment=16)
    if tid < tiled.size:
        mine = tiled.get_slice(tid)
        src = mine.partition_S(cute.local_tile(xt, (N_TILE, M_TILE), (bn, bm)))
        cute.copy(tiled, src, mine.partition_D(smem))
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    store_rows(smem, cute.local_tile(y, (N_TILE, M_TILE), (bn, bm)), tid)


@cute.kernel
def transpose_after_load(xt: cute.Tensor, y: cute.Tensor, tiled: cute.TiledCopy):
    """`tiled` carries one tile into N-major shared memory, as in `x`; each thread gathers rows of `y`."""
    tid, _, _ = cute.arch.thread_idx()
    bm, bn, _ = cute.arch.block_idx()
    tile = cute.make_layout((N_TILE, M_TILE), stride=(1, N_TILE))
    smem = cutlass.memory.SmemAllocator().allocate_tensor(xt.element_type, tile, byte_alignment=16)
    mine = tiled.get_slice(tid)
    src = mine.partition_S(cute.local_tile(xt, (N_TILE, M_TILE), (bn, bm)))
    cute.copy(tiled, src, mine.partition_D(smem))
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    store_rows(smem, cute.local_tile(y, (N_TILE, M_TILE), (bn, bm)), tid, xt.element_type.width)


def cp_async(bits: int, dtype: type) -> cute.CopyAtom:
    """The `cp.async` atom; 16 bytes bypass L1, as the report asks."""
    mode = LoadCacheMode.GLOBAL if bits == 128 else LoadCacheMode.ALWAYS
    return cute.make_copy_atom(cpasync.CopyG2SOp(mode), dtype, num_bits_per_copy=bits)


def build_broken() -> Kernel:
    """The report's copy: rejected, for an alignment that is only the first symptom."""

    @cute.jit
    def host(x: cute.Tensor, y: cute.Tensor, stream):
        xt = transpose_view(x)
        thr, val = cute.make_layout((16, 16), stride=(16, 1)), cute.make_layout((8, 1))
        tiled = cute.make_tiled_copy_tv(cp_async(128, x.element_type), thr, val)
        kernel = transpose_in_load(xt, row_view(y), tiled)
        kernel.launch(grid=tile_grid(xt), block=(THREADS, 1, 1), stream=stream)

    return Kernel(host, fake_args())


def build_broken_silently() -> Kernel:
    """Thread columns 8 apart instead of 1: every address is aligned, so it compiles, runs and corrupts."""

    @cute.jit
    def host(x: cute.Tensor, y: cute.Tensor, stream):
        xt = transpose_view(x)
        layout_tv = cute.make_layout(((16, 8), 8), stride=((8, 8 * N_TILE), 1))
        tiled = cute.make_tiled_copy(cp_async(128, x.element_type), layout_tv, (N_TILE, M_TILE))
        kernel = transpose_in_load(xt, row_view(y), tiled)
        kernel.launch(grid=tile_grid(xt), block=(THREADS, 1, 1), stream=stream)

    return Kernel(host, fake_args())


def build_broken_at_run_time() -> Kernel:
    """Threads along N only: the base address is aligned, the next column is 2 bytes on and faults."""

    @cute.jit
    def host(x: cute.Tensor, y: cute.Tensor, stream):
        xt = transpose_view(x)
        thr, val = cute.make_layout((16, 1)), cute.make_layout((8, 1))
        tiled = cute.make_tiled_copy_tv(cp_async(128, x.element_type), thr, val)
        kernel = transpose_in_load(xt, row_view(y), tiled)
        kernel.launch(grid=tile_grid(xt), block=(THREADS, 1, 1), stream=stream)

    return Kernel(host, fake_args())


def build_match_layout() -> Kernel:
    """Shared memory in the order of global memory; the transpose moves to 2-byte shared-memory reads."""

    @cute.jit
    def host(x: cute.Tensor, y: cute.Tensor, stream):
        xt = transpose_view(x)
        thr, val = cute.make_layout((16, 16)), cute.make_layout((8, 1))
        tiled = cute.make_tiled_copy_tv(cp_async(128, x.element_type), thr, val)
        kernel = transpose_after_load(xt, row_view(y), tiled)
        kernel.launch(grid=tile_grid(xt), block=(THREADS, 1, 1), stream=stream)

    return Kernel(host, fake_args())


def build_fp32_elementwise() -> Kernel:
    """The report's second strategy: 4-byte elements, one a copy, the least `cp.async` can move."""

    @cute.jit
    def host(x: cute.Tensor, y: cute.Tensor, stream):
        xt = transpose_view(x, 4)
        thr, val = cute.make_layout((16, 16), stride=(16, 1)), cute.make_layout((1, 1))
        tiled = cute.make_tiled_copy_tv(cp_async(32, x.element_type), thr, val)
        kernel = transpose_in_load(xt, row_view(y, 4), tiled)
        kernel.launch(grid=tile_grid(xt), block=(THREADS, 1, 1), stream=stream)

    return Kernel(host, fake_args(cutlass.Float32))
