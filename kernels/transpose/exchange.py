"""The transpose with whole lines on both sides: 8x8 blocks turned in registers, traded through shared memory.

Threads lie along N for the loads and along M for the stores, so a tile of 128 x 128 reads and writes runs of 256
bytes. The columns a thread has turned pass through shared memory 16 bytes at a time. A column vector of block row `b`
goes to row 8*b + j; the XOR of `b` into the 16-byte chunk spreads eight neighbouring blocks over all banks, and the
chunks of one row, read together, stay a permutation of themselves: no conflict on either side.
"""

from __future__ import annotations

from typing import NamedTuple

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import CopyR2GOp, CopyUniversalOp

from kernels.transpose.common import Kernel, fake_args, strips, transpose_view
from kernels.transpose.registers import BLOCK, STORES, turn_block, turned


class Exchange(NamedTuple):
    """`tile` elements of a thread block along (N, M), powers of two, 64 at least; the rest as in `registers.Plan`."""

    tile: tuple[int, int] = (128, 128)
    group: int = 0
    load: str = "no_allocate"
    store: str = "streaming"
    flat: bool = False

    @property
    def blocks(self) -> tuple[int, int]:
        """8x8 blocks of a tile along (N, M)."""
        return self.tile[0] // BLOCK, self.tile[1] // BLOCK

    @property
    def threads(self) -> int:
        """One a block."""
        return self.blocks[0] * self.blocks[1]


DEFAULT = Exchange()


@cute.kernel
def transpose_tile(xt: cute.Tensor, yt: cute.Tensor, plan: cutlass.Constexpr):
    """`xt` (N,M):(1,ldx), `yt` (M,N):(1,ldy); partial tiles go block by block, without the trade."""
    tid, _, _ = cute.arch.thread_idx()
    bx, tile_n, bz = cute.arch.block_idx()
    tile_m = bx + bz * plan.group
    if cutlass.const_expr(plan.flat):
        tiles_m = (xt.shape[1] + plan.tile[1] - 1) // plan.tile[1]
        tile_n, tile_m = bx // tiles_m, bx % tiles_m
    n_tile, m_tile = plan.tile
    n_blocks, m_blocks = plan.blocks
    n8, m8 = tid % n_blocks, tid // n_blocks
    n, m = xt.shape
    dtype = xt.element_type
    pitch_bits = (m_tile * dtype.width // 8).bit_length() - 1
    smem = cutlass.memory.SmemAllocator().allocate_tensor(
        dtype,
        cute.make_layout((m_tile, n_tile), stride=(1, m_tile)),
        byte_alignment=1024,
        swizzle=cute.make_swizzle(3, 4, pitch_bits + 3 - 4),
    )
    if (tile_n + 1) * n_tile <= n and (tile_m + 1) * m_tile <= m:
        wide = cute.make_copy_atom(CopyUniversalOp(), dtype, num_bits_per_copy=128)
        write = cute.make_copy_atom(CopyR2GOp(), dtype, num_bits_per_copy=128, **STORES[plan.store])
        src = cute.local_tile(cute.local_tile(xt, plan.tile, (tile_n, tile_m)), (BLOCK, BLOCK), (n8, m8))
        cute.copy(wide, turned(src, plan.load), cute.local_tile(smem, (BLOCK, BLOCK), (m8, n8)))
        cute.arch.sync_threads()
        dst = cute.local_tile(yt, (m_tile, n_tile), (tile_m, tile_n))
        registers = cute.make_rmem_tensor((BLOCK, BLOCK), dtype)
        cute.copy(wide, rows_of_thread(smem, tid, plan.blocks), registers)
        cute.copy(write, registers, rows_of_thread(dst, tid, plan.blocks))
    else:
        turn_block(xt, yt, tile_n * n_blocks + n8, tile_m * m_blocks + m8, plan.load, plan.store)


@cute.jit
def rows_of_thread(tile: cute.Tensor, tid: cutlass.Int32, blocks: cutlass.Constexpr) -> cute.Tensor:
    """The 8 vectors a thread moves of `tile` (M,N):(1,pitch): neighbours lie along M, passes `blocks[0]` rows apart."""
    n_blocks, m_blocks = blocks
    pitch = tile.stride[1]
    layout = cute.make_layout(
        (BLOCK, (m_blocks, n_blocks), BLOCK), stride=(1, (BLOCK, pitch), n_blocks * pitch)
    )
    return cute.make_tensor(tile.iterator, layout)[None, tid, None]


def build_exchange(plan: Exchange = DEFAULT) -> Kernel:
    """Any M and N; both bases 16-byte aligned and both leading strides multiples of 8."""

    @cute.jit
    def host(x: cute.Tensor, y: cute.Tensor, stream):
        xt, yt = transpose_view(x), transpose_view(y)
        grid = strips(xt, plan.tile, plan.group)
        if cutlass.const_expr(plan.flat):
            grid = (grid[0] * grid[1], 1, 1)
        transpose_tile(xt, yt, plan).launch(grid=grid, block=(plan.threads, 1, 1), stream=stream)

    return Kernel(host, fake_args())
