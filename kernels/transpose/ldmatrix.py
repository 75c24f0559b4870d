"""The transpose in the read: N-major shared memory, `ldmatrix.trans` to registers, 16-byte stores.

`ldmatrix.x4.trans` hands lane `l` the elements (n = l/4, m = 2*(l%4) and the next) of four 8x8 matrices.
Which rows make up a matrix is the caller's choice, lane by lane. With row `m = 8*q + 2*j + e` as row `2*q +
e` of matrix `j`, lane `l` ends up with the 8 consecutive `m` from `8*(l%4)` on: one 16-byte store, and
nothing to shuffle.
"""

from __future__ import annotations

from typing import NamedTuple

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import CopyUniversalOp, LoadCacheMode, cpasync, warp

from kernels.transpose.common import M_TILE, N_TILE, THREADS, Kernel, fake_args, row_view, transpose_view


class Lines(NamedTuple):
    """`tile`: elements of a thread block along (N, M), N 64 at least, M a multiple of 32."""

    tile: tuple[int, int] = (N_TILE, M_TILE)
    threads: int = THREADS
    swizzled: bool = True


DEFAULT = Lines()


@cute.kernel
def transpose_in_ldmatrix(xt: cute.Tensor, y: cute.Tensor, tiled: cute.TiledCopy, plan: cutlass.Constexpr):
    """One tile: `cp.async` to shared memory in the order of `x`, `ldmatrix.trans`, rows of `y`.

    `swizzled` places the rows of one matrix side by side and XORs their index into the 16-byte chunk, so that
    the eight rows of a matrix lie in different banks; without it all eight lie in the same four.
    """
    tid, _, _ = cute.arch.thread_idx()
    bm, bn, _ = cute.arch.block_idx()
    n_tile, m_tile = plan.tile
    # m = (e, j, q, half): matrix row 2*q + e of matrix j.
    e, j, q, half = (1, 8, 2, 32) if plan.swizzled else (1, 2, 8, 32)
    pitch_bits = (n_tile * xt.element_type.width // 8).bit_length() - 1
    smem = cutlass.memory.SmemAllocator().allocate_tensor(
        xt.element_type,
        cute.make_layout(
            (n_tile, (2, 4, 4, m_tile // 32)), stride=(1, (e * n_tile, j * n_tile, q * n_tile, half * n_tile))
        ),
        byte_alignment=1024,
        swizzle=cute.make_swizzle(3, 4, pitch_bits - 4) if plan.swizzled else None,
    )
    mine = tiled.get_slice(tid)
    src = mine.partition_S(cute.local_tile(xt, plan.tile, (bn, bm)))
    cute.copy(tiled, src, mine.partition_D(smem))
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()

    # Lane l names row (e, q) = l%8 of matrix j = l/8; a warp takes every `warps`-th chunk of 8 columns.
    lane, w, warps = tid % 32, tid // 32, plan.threads // 32
    passes = (n_tile // 8 // warps, m_tile // 32)
    rows = cute.make_layout(
        (8, (2, 4, 4), warps, passes),
        stride=(1, (e * n_tile, q * n_tile, j * n_tile), 8, (8 * warps, half * n_tile)),
    )
    registers = cute.make_rmem_tensor((8, passes), xt.element_type)
    load = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(transpose=True, num_matrices=4), xt.element_type)
    cute.copy(load, cute.make_tensor(smem.iterator, rows)[None, lane, w, None], registers)

    # Lane l holds column n = l/4 of the chunk and rows 8*(l%4) to 8*(l%4)+7 of the half.
    gmem = cute.local_tile(y, plan.tile, (bn, bm))
    ld = gmem.stride[0]
    out = cute.make_layout((8, (4, 8), warps, passes), stride=(1, (8, ld), 8 * ld, (8 * warps * ld, 32)))
    write = cute.make_copy_atom(CopyUniversalOp(), xt.element_type, num_bits_per_copy=128)
    cute.copy(write, registers, cute.make_tensor(gmem.iterator, out)[None, lane, w, None])


def build(plan: Lines) -> Kernel:
    """M and N have to be multiples of the tile."""
    n_tile, m_tile = plan.tile

    @cute.jit
    def host(x: cute.Tensor, y: cute.Tensor, stream):
        xt = transpose_view(x)
        n, m = xt.shape
        op = cpasync.CopyG2SOp(LoadCacheMode.GLOBAL)
        atom = cute.make_copy_atom(op, x.element_type, num_bits_per_copy=128)
        thr = cute.make_layout((n_tile // 8, plan.threads // (n_tile // 8)))
        tiled = cute.make_tiled_copy_tv(atom, thr, cute.make_layout((8, 1)))
        kernel = transpose_in_ldmatrix(xt, row_view(y), tiled, plan)
        kernel.launch(grid=(m // m_tile, n // n_tile, 1), block=(plan.threads, 1, 1), stream=stream)

    return Kernel(host, fake_args())


def build_ldmatrix_trans() -> Kernel:
    """`ldmatrix.trans` from plain N-major shared memory: right, but every read is an 8-way bank conflict."""
    return build(Lines(swizzled=False))


def build_swizzled(plan: Lines = DEFAULT) -> Kernel:
    """The same, free of bank conflicts."""
    return build(plan)
