"""The transpose for rows no vector fits: any strides and alignment, one element an access, coalesced."""

from __future__ import annotations

import cutlass
from cutlass import cute

from kernels.transpose.common import Kernel, fake_args, strips

TILE = 64
LANES = 32
ROWS = 8


@cute.kernel
def transpose_elements(xt: cute.Tensor, y: cute.Tensor, group: cutlass.Constexpr):
    """`xt` and `y` (N,M), any strides: lanes run along N for the loads and along M for the stores.

    A pitch of TILE + 2 elements, 33 banks, keeps both directions through shared memory free of conflicts.
    """
    tid, _, _ = cute.arch.thread_idx()
    bx, by, bz = cute.arch.block_idx()
    lane, row = tid % LANES, tid // LANES
    n0, m0 = TILE * by, TILE * (bx + bz * group)
    n, m = xt.shape
    dtype = xt.element_type
    layout = cute.make_layout((TILE, TILE), stride=(1, TILE + 2))
    smem = cutlass.memory.SmemAllocator().allocate_tensor(dtype, layout, byte_alignment=16)
    registers = cute.make_rmem_tensor((TILE // ROWS, TILE // LANES), dtype)
    for i in cutlass.range_constexpr(TILE // ROWS):
        for j in cutlass.range_constexpr(TILE // LANES):
            n1, m1 = lane + LANES * j, row + ROWS * i
            if n0 + n1 < n and m0 + m1 < m:
                registers[i, j] = xt[n0 + n1, m0 + m1]
    for i in cutlass.range_constexpr(TILE // ROWS):
        for j in cutlass.range_constexpr(TILE // LANES):
            smem[lane + LANES * j, row + ROWS * i] = registers[i, j]
    cute.arch.sync_threads()
    for i in cutlass.range_constexpr(TILE // ROWS):
        for j in cutlass.range_constexpr(TILE // LANES):
            n1, m1 = row + ROWS * i, lane + LANES * j
            if n0 + n1 < n and m0 + m1 < m:
                y[n0 + n1, m0 + m1] = smem[n1, m1]


def build_narrow(group: int = 0) -> Kernel:
    """Any M and N, any strides of either tensor."""

    @cute.jit
    def host(x: cute.Tensor, y: cute.Tensor, stream):
        m, n = x.shape
        xt = cute.make_tensor(x.iterator, cute.make_layout((n, m), stride=(x.stride[1], x.stride[0])))
        grid = strips(xt, (TILE, TILE), group)
        transpose_elements(xt, y, group).launch(grid=grid, block=(LANES * ROWS, 1, 1), stream=stream)

    return Kernel(host, fake_args(align_bytes=2))
