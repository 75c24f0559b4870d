"""The Hopper transpose: TMA in, `ldmatrix.trans` and `stmatrix` between two swizzled tiles, TMA out.

Both tiles have 128-byte rows and the 128-byte swizzle, so the eight 16-byte rows of a matrix lie in different
banks on either side. The bulk copies clip at the edges of the tensors: any M and N whose rows are multiples
of 16 bytes.
"""

from __future__ import annotations

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import cpasync, warp

from kernels.transpose.common import THREADS, Kernel, fake_args, row_view, strips, transpose_view

SPAN = 64
"""Elements in a 128-byte row of a swizzled tile."""


def policy_of(policy: int) -> cutlass.Int64 | None:
    """The operand that carries `policy`, none for 0."""
    return cutlass.Int64(policy) if policy else None


@cute.kernel
def transpose_tile(
    load: cute.CopyAtom,
    xt: cute.Tensor,
    in_layout: cute.ComposedLayout,
    store: cute.CopyAtom,
    y: cute.Tensor,
    out_layout: cute.ComposedLayout,
    group: cutlass.Constexpr,
    dtype: cutlass.Constexpr,
    tile: cutlass.Constexpr,
    policy: cutlass.Constexpr,
):
    """One tile a block; blocks walk strips of `group` tiles along M, so that both sides stay local."""
    tid, _, _ = cute.arch.thread_idx()
    bx, bn, bz = cute.arch.block_idx()
    bm = bx + bz * group
    n_tile, m_tile = tile
    _, m = xt.shape
    smem = cutlass.memory.SmemAllocator()
    arrived = smem.allocate_array(cutlass.Int64, 1)
    tile_in = smem.allocate_tensor(dtype, in_layout.outer, byte_alignment=1024, swizzle=in_layout.inner)
    tile_out = smem.allocate_tensor(dtype, out_layout.outer, byte_alignment=1024, swizzle=out_layout.inner)
    w = cute.arch.make_warp_uniform(tid // 32)
    if bm * m_tile < m:
        alone = cute.make_layout(1)
        whole_in, from_x = cpasync.tma_partition(
            load,
            0,
            alone,
            cute.group_modes(tile_in, 0, 2),
            cute.group_modes(cute.local_tile(xt, tile, (bn, bm)), 0, 2),
        )
        whole_out, to_y = cpasync.tma_partition(
            store,
            0,
            alone,
            cute.group_modes(tile_out, 0, 2),
            cute.group_modes(cute.local_tile(y, tile, (bn, bm)), 0, 2),
        )
        if w == 0:
            with cute.arch.elect_one():
                cute.arch.mbarrier_init(arrived, 1)
                cute.arch.mbarrier_init_fence()
                cute.arch.mbarrier_arrive_and_expect_tx(arrived, n_tile * m_tile * dtype.width // 8)
            cute.arch.sync_warp()
            cute.copy(load, from_x, whole_in, tma_bar_ptr=arrived, cache_policy=policy_of(policy))
        cute.arch.sync_threads()
        cute.arch.mbarrier_wait(arrived, 0)
        transpose_in_smem(tile_in, tile_out, tid % 32, w, tile)
        cute.arch.fence_proxy("async.shared", space="cta")
        cute.arch.sync_threads()
        if w == 0:
            cute.copy(store, whole_out, to_y)
            cute.arch.cp_async_bulk_commit_group()
            cute.arch.cp_async_bulk_wait_group(0, read=True)


@cute.jit
def transpose_in_smem(
    tile_in: cute.Tensor,
    tile_out: cute.Tensor,
    lane: cutlass.Int32,
    w: cutlass.Int32,
    tile: cutlass.Constexpr,
):
    """Four 8x8 matrices an instruction; lane l names row l%8 of matrix l/8, on either side.

    A warp takes every 8th chunk of 8 columns, the matrices of an instruction lie next to one another along M.
    """
    n_tile, m_tile = tile
    spans_n, spans_m = n_tile // SPAN, m_tile // SPAN
    shape = (8, (8, 4), SPAN // 8, (spans_n, 2, spans_m))
    rows_in = cute.make_layout(
        shape, stride=(1, (SPAN, 8 * SPAN), 8, (SPAN * m_tile, 32 * SPAN, SPAN * SPAN))
    )
    rows_out = cute.make_layout(shape, stride=(1, (SPAN, 8), 8 * SPAN, (SPAN * SPAN, 32, SPAN * n_tile)))
    dtype = tile_in.element_type
    load = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(transpose=True, num_matrices=4), dtype)
    store = cute.make_copy_atom(warp.StMatrix8x8x16bOp(num_matrices=4), dtype)
    src = cute.make_tensor(tile_in.iterator, rows_in)[None, lane, w, None]
    dst = cute.make_tensor(tile_out.iterator, rows_out)[None, lane, w, None]
    registers = cute.make_rmem_tensor(src.shape, dtype)
    cute.copy(load, src, registers)
    cute.copy(store, registers, dst)


def build_tma(tile: tuple[int, int] = (128, 64), group: int = 0, policy: int = 0) -> Kernel:
    """`tile` (N,M), multiples of 64; `group` tiles a strip; `policy`: L2 policy of the loads, 0 for none."""
    n_tile, m_tile = tile

    @cute.jit
    def host(x: cute.Tensor, y: cute.Tensor, stream):
        xt, rows = transpose_view(x), row_view(y)
        swizzle = cute.make_swizzle(3, 4, 3)
        in_layout = cute.make_composed_layout(
            swizzle, 0, cute.make_layout(((SPAN, n_tile // SPAN), m_tile), stride=((1, SPAN * m_tile), SPAN))
        )
        out_layout = cute.make_composed_layout(
            swizzle, 0, cute.make_layout((n_tile, (SPAN, m_tile // SPAN)), stride=(SPAN, (1, SPAN * n_tile)))
        )
        load, x_coords = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), xt, in_layout, tile)
        store, y_coords = cpasync.make_tiled_tma_atom(
            cpasync.CopyBulkTensorTileS2GOp(), rows, out_layout, tile
        )
        grid = strips(xt, tile, group)
        transpose_tile(
            load, x_coords, in_layout, store, y_coords, out_layout, group, x.element_type, tile, policy
        ).launch(grid=grid, block=(THREADS, 1, 1), stream=stream)

    return Kernel(host, fake_args())
