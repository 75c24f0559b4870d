"""The transpose in the read: N-major shared memory, `ldmatrix.trans` to registers, 16-byte stores to global memory.

`ldmatrix.x4.trans` hands lane `l` the elements (n = l/4, m = 2*(l%4) and the next) of four 8x8 matrices. Which rows
make up a matrix is the caller's choice, lane by lane. With row `m = 8*q + 2*j + e` as row `2*q + e` of matrix `j`,
lane `l` ends up with the 8 consecutive `m` from `8*(l%4)` on: one 16-byte store, and nothing to shuffle.
"""

from __future__ import annotations

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import CopyUniversalOp, LoadCacheMode, cpasync, warp

from kernels.transpose.common import (
    M_TILE,
    N_TILE,
    THREADS,
    Kernel,
    fake_args,
    row_view,
    tile_grid,
    transpose_view,
)

WARPS = THREADS // 32


@cute.kernel
def transpose_in_ldmatrix(
    xt: cute.Tensor, y: cute.Tensor, tiled: cute.TiledCopy, swizzled: cutlass.Constexpr
):
    """One tile: `cp.async` to shared memory in the order of `x`, `ldmatrix.trans`, rows of `y`.

    `swizzled` places the rows of one matrix side by side and XORs their index into the 16-byte chunk, so that the
    eight rows of a matrix lie in different banks; without it all eight lie in the same four.
    """
    tid, _, _ = cute.arch.thread_idx()
    bn, bm, _ = cute.arch.block_idx()
    # m = (e, j, q, half): matrix row 2*q + e of matrix j.
    m_stride = (
        (N_TILE, 8 * N_TILE, 2 * N_TILE, 32 * N_TILE)
        if swizzled
        else (N_TILE, 2 * N_TILE, 8 * N_TILE, 32 * N_TILE)
    )
    tile = cute.make_layout((N_TILE, (2, 4, 4, M_TILE // 32)), stride=(1, m_stride))
    smem = cutlass.memory.SmemAllocator().allocate_tensor(
        xt.element_type,
        tile,
        byte_alignment=1024,
        swizzle=cute.make_swizzle(3, 4, 4) if swizzled else None,
    )
    mine = tiled.get_slice(tid)
    src = mine.partition_S(cute.local_tile(xt, (N_TILE, M_TILE), (bn, bm)))
    cute.copy(tiled, src, mine.partition_D(smem))
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()

    # Lane l names row (e, q) = l%8 of matrix j = l/8; a warp takes every WARPS-th chunk of 8 columns, both halves.
    lane, w = tid % 32, tid // 32
    chunks = N_TILE // 8 // WARPS
    e, j, q, half = m_stride
    rows = cute.make_tensor(
        smem.iterator,
        cute.make_layout(
            (8, (2, 4, 4), WARPS, (chunks, M_TILE // 32)), stride=(1, (e, q, j), 8, (8 * WARPS, half))
        ),
    )
    registers = cute.make_rmem_tensor((8, (chunks, M_TILE // 32)), xt.element_type)
    load = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(transpose=True, num_matrices=4), xt.element_type)
    cute.copy(load, rows[None, lane, w, None], registers)

    # Lane l holds column n = l/4 of the chunk and rows 8*(l%4) to 8*(l%4)+7 of the half.
    gmem = cute.local_tile(y, (N_TILE, M_TILE), (bn, bm))
    ld = gmem.stride[0]
    out = cute.make_tensor(
        gmem.iterator,
        cute.make_layout(
            (8, (4, 8), WARPS, (chunks, M_TILE // 32)), stride=(1, (8, ld), 8 * ld, (8 * WARPS * ld, 32))
        ),
    )
    write = cute.make_copy_atom(CopyUniversalOp(), xt.element_type, num_bits_per_copy=128)
    cute.copy(write, registers, out[None, lane, w, None])


def build(swizzled: bool) -> Kernel:
    """The variant with or without bank conflicts."""

    @cute.jit
    def host(x: cute.Tensor, y: cute.Tensor, stream):
        xt = transpose_view(x)
        atom = cute.make_copy_atom(
            cpasync.CopyG2SOp(LoadCacheMode.GLOBAL), x.element_type, num_bits_per_copy=128
        )
        tiled = cute.make_tiled_copy_tv(atom, cute.make_layout((16, 16)), cute.make_layout((8, 1)))
        kernel = transpose_in_ldmatrix(xt, row_view(y), tiled, swizzled)
        kernel.launch(grid=tile_grid(xt), block=(THREADS, 1, 1), stream=stream)

    return Kernel(host, fake_args())


def build_ldmatrix_trans() -> Kernel:
    """`ldmatrix.trans` from plain N-major shared memory: right, but every read is an 8-way bank conflict."""
    return build(swizzled=False)


def build_swizzled() -> Kernel:
    """The same, free of bank conflicts."""
    return build(swizzled=True)
