"""The transpose with whole lines on both sides: 8x8 blocks turned in registers, traded through shared memory.

A thread loads one block and stores 8 vectors of 8 others. Blocks are dealt out along N for the loads and
along M for the stores, so a tile of 128 x 128 reads and writes runs of 256 bytes. In between, vector `j` of a
block lies in slot `j`, at the block's place along N, XORed with the one along M modulo 8: eight blocks side
by side along N, written together, lie in different banks, and so do eight along M, read together.
"""

from __future__ import annotations

from typing import NamedTuple

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import CopyUniversalOp

from kernels.transpose.common import SMEM_KIB, Kernel, enter, fake_args, matrix_of, strips, transpose_view
from kernels.transpose.registers import BLOCK, store_wide, turn_block, turned


class Exchange(NamedTuple):
    """How the grid covers the matrix.

    `tile`: elements of a thread block along (N, M), multiples of 64; `group`: height of a strip in tiles (0:
    all of M); `load` and `store`: cache hints; `resident`: threads a multiprocessor must have registers for.
    """

    tile: tuple[int, int] = (128, 128)
    group: int = 0
    load: str = "evict_last"
    store: str = "plain"
    resident: int = 1280

    @property
    def blocks(self) -> tuple[int, int]:
        """8x8 blocks of a tile along (N, M)."""
        return self.tile[0] // BLOCK, self.tile[1] // BLOCK

    @property
    def threads(self) -> int:
        """One a block."""
        return self.blocks[0] * self.blocks[1]

    @property
    def residents(self) -> int:
        """Thread blocks a multiprocessor must have registers for."""
        return max(self.resident // self.threads, 1)

    @property
    def carveout(self) -> int:
        """The percentage of the unified cache that holds the shared memory of `residents` thread blocks."""
        kib = 2 * self.tile[0] * self.tile[1] // 1024 + 1
        return min(-(-100 * self.residents * kib // SMEM_KIB), 100)


DEFAULT = Exchange()


@cute.kernel
def transpose_tile(xt: cute.Tensor, yt: cute.Tensor, plan: cutlass.Constexpr, early: cutlass.Constexpr):
    """`xt` (N,M):(1,ldx), `yt` (M,N):(1,ldy); partial tiles go block by block, without the trade."""
    enter(early)
    xt, yt = matrix_of(xt), matrix_of(yt)
    tid, _, _ = cute.arch.thread_idx()
    bx, tile_n, bz = cute.arch.block_idx()
    tile_m = bx + bz * plan.group
    n_tile, m_tile = plan.tile
    n_blocks, m_blocks = plan.blocks
    n8, m8 = tid % n_blocks, tid // n_blocks
    n, m = xt.shape
    slots = cute.make_layout(
        (BLOCK, (n_blocks, m_blocks), BLOCK), stride=(1, (BLOCK, BLOCK * n_blocks), BLOCK * plan.threads)
    )
    smem = cutlass.memory.SmemAllocator().allocate_tensor(xt.element_type, slots, byte_alignment=128)
    whole = (tile_n + 1) * n_tile <= n and (tile_m + 1) * m_tile <= m
    if whole:
        trade(xt, yt, smem, tile_n, tile_m, plan, True)
    elif n % BLOCK == 0 and m % BLOCK == 0:
        trade(xt, yt, smem, tile_n, tile_m, plan, False)
    else:
        turn_block(xt, yt, tile_n * n_blocks + n8, tile_m * m_blocks + m8, plan.load, plan.store)


@cute.jit
def trade(
    xt: cute.Tensor,
    yt: cute.Tensor,
    smem: cute.Tensor,
    tile_n: cutlass.Int32,
    tile_m: cutlass.Int32,
    plan: cutlass.Constexpr,
    whole: cutlass.Constexpr,
):
    """A tile of whole blocks; `whole`: it has all of them."""
    tid, _, _ = cute.arch.thread_idx()
    n_tile, m_tile = plan.tile
    n_blocks, m_blocks = plan.blocks
    n8, m8 = tid % n_blocks, tid // n_blocks
    here = (tile_n * n_blocks + n8, tile_m * m_blocks + m8)
    n, m = xt.shape
    dtype = xt.element_type
    wide = cute.make_copy_atom(CopyUniversalOp(), dtype, num_bits_per_copy=128)
    if whole or (BLOCK * here[0] < n and BLOCK * here[1] < m):
        given = turned(cute.local_tile(xt, (BLOCK, BLOCK), here), plan.load)
        cute.copy(wide, given, smem[None, (n8 ^ (m8 % 8), m8), None])
    cute.arch.sync_threads()

    # Rows first, first + n_blocks, ... of the tile of y: at any time the threads write rows side by side.
    first, chunk = tid // m_blocks, tid % m_blocks
    out = cute.local_tile(yt, (m_tile, n_tile), (tile_m, tile_n))
    vectors = cute.make_layout((BLOCK, m_blocks, n_tile), stride=(1, BLOCK, out.stride[1]))
    out = cute.make_tensor(out.iterator, vectors)
    taken = cute.make_rmem_tensor((BLOCK, BLOCK), dtype)
    for i in cutlass.range_constexpr(BLOCK):
        row = first + i * n_blocks
        place = ((row // BLOCK) ^ (chunk % 8), chunk)
        cute.copy(wide, smem[None, place, row % BLOCK], taken[None, i])
    for i in cutlass.range_constexpr(BLOCK):
        row = first + i * n_blocks
        if whole or (tile_n * n_tile + row < n and tile_m * m_tile + BLOCK * chunk < m):
            store_wide(taken[None, i], out[None, chunk, row], plan.store)


def build_exchange(plan: Exchange = DEFAULT, early: bool = False) -> Kernel:
    """Any M and N; both bases 16-byte aligned and both leading strides multiples of 8."""

    @cute.jit
    def host(x: cute.Tensor, y: cute.Tensor, stream):
        xt, yt = transpose_view(x), transpose_view(y)
        transpose_tile(xt, yt, plan, early).launch(
            grid=strips(xt, plan.tile, plan.group),
            block=(plan.threads, 1, 1),
            min_blocks_per_mp=plan.residents,
            preferred_smem_carveout=plan.carveout,
            stream=stream,
            use_pdl=early,
        )

    return Kernel(host, fake_args())
