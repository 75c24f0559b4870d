"""The transpose with whole lines on both sides: 8x8 blocks turned in registers, traded through shared memory.

The plan of a tile is one that `layoutcheck.synthesize` returns: how the loads, the stores and shared memory
are laid out (see synthesised.py). Lanes lie along N for the loads and along M for the stores, so a tile of
128 x 128 reads and writes runs of 256 bytes. The blocks turn before shared memory or, where loads are
asynchronous, after it. There, rows `j` of all blocks lie side by side, in runs of 128 bytes, and S<3,4,3>
sends eight of them, read or written together, to different banks. What the synthesis does not say: the cache
hints, the order of the tiles, and how many blocks share a multiprocessor.

With `bulk` stores, one instruction writes a row of a tile (sm_90 and later). Rows `j` of all blocks follow
one another there, a chunk further apart than they are long: eight of them lie in different banks as well.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import CopyUniversalOp, LoadCacheMode, cpasync

from kernels.transpose.common import (
    LINE,
    SMEM_KIB,
    TYPES,
    Kernel,
    fake_args,
    fetch_lines,
    let_others_start,
    matrix_of,
    strips,
    transpose_view,
    wait_now,
)
from kernels.transpose.fitting import overlaps, whole_tiles
from kernels.transpose.registers import store_wide, turn_block, turned, turned_registers

CHUNKS = 8
"""Chunks of 16 bytes in a run of shared memory, which passes all banks."""

SWIZZLE = (3, 4, 3)


class Exchange(NamedTuple):
    """How the grid covers the matrix.

    `tile`: elements of a thread block along (N, M), multiples of 64; `group`: height of a strip in tiles (0:
    all of M); `load` and `store`: cache hints, or `async` for loads past the registers and `bulk` for such
    stores; `resident`: threads a multiprocessor must have registers for; `size`: bytes of an element;
    `fetch`: a block that starts early has what it will load brought to the L2.
    """

    tile: tuple[int, int] = (128, 128)
    group: int = 0
    load: str = "evict_last"
    store: str = "plain"
    resident: int = 1280
    size: int = 2
    fetch: bool = False

    @property
    def block(self) -> int:
        """Elements of a 16-byte access."""
        return 16 // self.size

    @property
    def blocks(self) -> tuple[int, int]:
        """8x8 blocks of a tile along (N, M), if elements have 16 bits."""
        return self.tile[0] // self.block, self.tile[1] // self.block

    @property
    def slots(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Extents and strides in shared memory of (element, chunk, row of a block, block of rows).

        Runs of 128 bytes, the same row of every block one after the other. They lie along N as loaded
        (`async`) or along M as stored; whole rows for `bulk` stores.
        """
        if self.store == "bulk":
            pitch, rows = self.tile[1] + self.block, self.blocks[0]
            return (self.block, self.blocks[1], self.block, rows), (1, self.block, rows * pitch, pitch)
        chunks, rows = self.blocks if self.load == "async" else reversed(self.blocks)
        run = CHUNKS * self.block
        extents = (self.block, (CHUNKS, chunks // CHUNKS), self.block, rows)
        return extents, (1, (self.block, run * self.block * rows), run * rows, run)

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
        pitch = self.tile[1] + (self.block if self.store == "bulk" else 0)
        kib = -(-self.size * self.tile[0] * pitch // 1024) + 1
        return min(-(-100 * self.residents * kib // SMEM_KIB), 100)

    def fits(self, x: Any, y: Any) -> bool:
        """Whether the kernel takes these two."""
        return whole_tiles(x, y, self) and (self.store != "bulk" or overlaps())


DEFAULT = Exchange()


@cute.kernel
def transpose_tile(xt: cute.Tensor, yt: cute.Tensor, plan: cutlass.Constexpr, early: cutlass.Constexpr):
    """`xt` (N,M):(1,ldx), `yt` (M,N):(1,ldy); tiles with parts of blocks go block by block, untraded."""
    xt, yt = matrix_of(xt), matrix_of(yt)
    bx, tile_n, bz = cute.arch.block_idx()
    tile_m = bx + bz * plan.group
    n, m = xt.shape
    let_others_start(early)
    if cutlass.const_expr(plan.fetch):
        n0, m0 = cutlass.Int64(tile_n * plan.tile[0]), tile_m * plan.tile[1]
        wide, high = (
            min(extent - at, size) for extent, at, size in zip((n, m), (n0, m0), plan.tile, strict=True)
        )
        most = (plan.tile[1], plan.tile[0] * plan.size // LINE)
        fetch_lines(early, plan.residents, xt, n0 + m0 * xt.stride[1], xt.stride[1], high, wide, most)
    wait_now(early)
    smem = cutlass.memory.SmemAllocator().allocate_tensor(
        xt.element_type,
        cute.make_layout(plan.slots[0], stride=plan.slots[1]),
        byte_alignment=1024,
        swizzle=None if plan.store == "bulk" else cute.make_swizzle(*SWIZZLE),
    )
    if (tile_n + 1) * plan.tile[0] <= n and (tile_m + 1) * plan.tile[1] <= m:
        trade(xt, yt, smem, tile_n, tile_m, True, plan)
    elif n % plan.block == 0 and m % plan.block == 0:
        trade(xt, yt, smem, tile_n, tile_m, False, plan)
    else:
        tid, _, _ = cute.arch.thread_idx()
        n_blocks, m_blocks = plan.blocks
        here = (tile_n * n_blocks + tid % n_blocks, tile_m * m_blocks + tid // n_blocks)
        turn_block(xt, yt, *here, "plain" if plan.load == "async" else plan.load, plan.store)


@cute.jit
def trade(
    xt: cute.Tensor,
    yt: cute.Tensor,
    smem: cute.Tensor,
    tile_n: cutlass.Int32,
    tile_m: cutlass.Int32,
    whole: cutlass.Constexpr,
    plan: cutlass.Constexpr,
):
    """A tile of whole blocks; `whole`: it has all of them."""
    tid, _, _ = cute.arch.thread_idx()
    n_blocks, m_blocks = plan.blocks
    n, m = xt.shape
    n_left, m_left = n - tile_n * plan.tile[0], m - tile_m * plan.tile[1]
    out = cute.local_tile(yt, (plan.tile[1], plan.tile[0]), (tile_m, tile_n))
    vectors = cute.make_layout((plan.block, m_blocks, plan.tile[0]), stride=(1, plan.block, out.stride[1]))
    out = cute.make_tensor(out.iterator, vectors)
    wide = cute.make_copy_atom(CopyUniversalOp(), xt.element_type, num_bits_per_copy=128)
    taken = cute.make_rmem_tensor((plan.block, plan.block), xt.element_type)
    # Lanes lie along N, one block each, for the loads and along M for the stores.
    n8, m8 = tid % n_blocks, tid // n_blocks
    chunk, first = tid % m_blocks, tid // m_blocks
    if cutlass.const_expr(plan.load == "async"):
        op = cpasync.CopyG2SOp(LoadCacheMode.GLOBAL)
        atom = cute.make_copy_atom(op, xt.element_type, num_bits_per_copy=128)
        tile = cute.local_tile(xt, plan.tile, (tile_n, tile_m))
        rows = cute.make_layout((plan.block, n_blocks, plan.tile[1]), stride=(1, plan.block, tile.stride[1]))
        tile = cute.make_tensor(tile.iterator, rows)
        for i in cutlass.range_constexpr(plan.block):
            row = m8 + i * m_blocks
            if whole or (plan.block * n8 < n_left and row < m_left):
                cute.copy(atom, tile[None, n8, row], smem[None, n8, row % plan.block, row // plan.block])
        cute.arch.cp_async_commit_group()
        cute.arch.cp_async_wait_group(0)
        cute.arch.sync_threads()
        if whole or (plan.block * first < n_left and plan.block * chunk < m_left):
            cute.copy(wide, smem[None, first, None, chunk], taken)
            columns = turned_registers(taken)
            for i in cutlass.range_constexpr(plan.block):
                store_wide(columns[None, i], out[None, chunk, plan.block * first + i], plan.store)
    else:
        if whole or (plan.block * n8 < n_left and plan.block * m8 < m_left):
            block = cute.local_tile(
                xt, (plan.block, plan.block), (tile_n * n_blocks + n8, tile_m * m_blocks + m8)
            )
            cute.copy(wide, turned(block, plan.load), smem[None, m8, None, n8])
        if cutlass.const_expr(whole and plan.store == "bulk"):
            store_rows(smem, out, plan)
        else:
            cute.arch.sync_threads()
            # Rows first, first + n_blocks, ...: at any time the threads write rows side by side.
            for i in cutlass.range_constexpr(plan.block):
                row = first + i * n_blocks
                cute.copy(wide, smem[None, chunk, row % plan.block, row // plan.block], taken[None, i])
            for i in cutlass.range_constexpr(plan.block):
                row = first + i * n_blocks
                if whole or (row < n_left and plan.block * chunk < m_left):
                    store_wide(taken[None, i], out[None, chunk, row], plan.store)


@cute.jit
def store_rows(smem: cute.Tensor, out: cute.Tensor, plan: cutlass.Constexpr):
    """The rows of a whole tile, one instruction each."""
    tid, _, _ = cute.arch.thread_idx()
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    atom = cute.make_copy_atom(cpasync.CopyBulkS2GOp(), out.element_type)
    row = cute.make_layout(plan.tile[1])
    for number in cutlass.range(tid, plan.tile[0], plan.threads, unroll=1):
        j, n8 = number // plan.blocks[0], number % plan.blocks[0]
        held = cute.make_tensor(smem[None, None, j, n8].iterator, row)
        cute.copy(atom, held, cute.make_tensor(out[None, None, plan.block * n8 + j].iterator, row))
    cute.arch.cp_async_bulk_commit_group()
    cute.arch.cp_async_bulk_wait_group(0, read=True)


def build_exchange(plan: Exchange = DEFAULT, early: int = 0) -> Kernel:
    """Any M and N; both bases 16-byte aligned and both leading strides multiples of 16 bytes."""

    @cute.jit
    def host(x: cute.Tensor, y: cute.Tensor, stream):
        xt, yt = transpose_view(x, plan.block), transpose_view(y, plan.block)
        transpose_tile(xt, yt, plan, early).launch(
            grid=strips(xt, plan.tile, plan.group),
            block=(plan.threads, 1, 1),
            min_blocks_per_mp=plan.residents,
            preferred_smem_carveout=plan.carveout,
            stream=stream,
            use_pdl=early > 0,
        )

    return Kernel(host, fake_args(TYPES[plan.size]))
