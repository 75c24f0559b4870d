"""The transpose for rows no vector fits: any strides and alignment, one element an access, coalesced."""

from __future__ import annotations

from typing import NamedTuple

import cutlass
from cutlass import cute

from kernels.transpose.common import Kernel, enter, fake_args, matrix_of, strips

LANES = 32


class Narrow(NamedTuple):
    """`tile`: elements of a block along N and along M; `warps` of the block; `group`: see `strips`."""

    tile: tuple[int, int] = (64, 128)
    warps: int = 8
    group: int = 0


STANDARD = Narrow()


@cute.kernel
def transpose_elements(xt: cute.Tensor, y: cute.Tensor, plan: cutlass.Constexpr, early: cutlass.Constexpr):
    """`xt` and `y` (N,M), any strides: lanes run along N for the loads and along M for the stores.

    A pitch of an odd number of banks keeps both directions through shared memory free of conflicts.
    """
    enter(early)
    xt, y = matrix_of(xt), matrix_of(y)
    tile_n, tile_m = plan.tile
    tid, _, _ = cute.arch.thread_idx()
    bx, by, bz = cute.arch.block_idx()
    lane, warp = tid % LANES, tid // LANES
    n0, m0 = tile_n * by, tile_m * (bx + bz * plan.group)
    n, m = xt.shape
    dtype = xt.element_type
    layout = cute.make_layout(plan.tile, stride=(1, tile_n + 2))
    smem = cutlass.memory.SmemAllocator().allocate_tensor(dtype, layout, byte_alignment=16)
    registers = cute.make_rmem_tensor((tile_m // plan.warps, tile_n // LANES), dtype)
    for i in cutlass.range_constexpr(tile_m // plan.warps):
        for j in cutlass.range_constexpr(tile_n // LANES):
            n1, m1 = lane + LANES * j, warp + plan.warps * i
            if n0 + n1 < n and m0 + m1 < m:
                registers[i, j] = xt[n0 + n1, m0 + m1]
    for i in cutlass.range_constexpr(tile_m // plan.warps):
        for j in cutlass.range_constexpr(tile_n // LANES):
            smem[lane + LANES * j, warp + plan.warps * i] = registers[i, j]
    cute.arch.sync_threads()
    for i in cutlass.range_constexpr(tile_n // plan.warps):
        for j in cutlass.range_constexpr(tile_m // LANES):
            n1, m1 = warp + plan.warps * i, lane + LANES * j
            if n0 + n1 < n and m0 + m1 < m:
                y[n0 + n1, m0 + m1] = smem[n1, m1]


def build_narrow(plan: Narrow = STANDARD, early: bool = False) -> Kernel:
    """Any M and N, any strides of either tensor."""

    @cute.jit
    def host(x: cute.Tensor, y: cute.Tensor, stream):
        xt = cute.make_tensor(x.iterator, cute.select(x.layout, mode=[1, 0, 2][: cute.rank(x)]))
        grid = strips(xt, plan.tile, plan.group)
        transpose_elements(xt, y, plan, early).launch(
            grid=grid, block=(LANES * plan.warps, 1, 1), stream=stream, use_pdl=early
        )

    return Kernel(host, fake_args(align_bytes=2))
