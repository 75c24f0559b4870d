"""The transpose at any pitch and base, by as many blocks as there is room for: `shifted` with two buffers.

While a block gathers and stores a tile, the chunks of its next one are on their way into the other buffer.
The blocks take the tiles in turn, so that at any time they work on tiles side by side, as a grid of one tile
a block would: were each to go down a strip of its own, too many rows of `y` would be half written.
"""

from __future__ import annotations

from typing import NamedTuple

import cutlass
from cutlass import cute

from kernels.transpose.common import SMEM_KIB, Kernel, fake_args, multiprocessors
from kernels.transpose.shifted import CHUNK, Shifted, in_chunks, load_rows, store_chunks, tiles_of


class Stream(NamedTuple):
    """`each`: the plan of a tile, whose loads are asynchronous."""

    each: Shifted = Shifted((128, 256), 32, 32)

    @property
    def stage(self) -> int:
        """Elements of a buffer: eight rows take one chunk more than their pitch."""
        return -(-self.each.rows // CHUNK) * (CHUNK * self.each.pitch + CHUNK)

    @property
    def residents(self) -> int:
        """Blocks that a multiprocessor has shared memory and threads for."""
        return max(min(1024 * SMEM_KIB // (4 * self.stage + 1024), 2048 // self.each.threads), 1)


STANDARD = Stream()


@cute.kernel
def transpose_in_turn(
    x: cute.Tensor,
    y: cute.Tensor,
    shape: tuple[cutlass.Int32, cutlass.Int32],
    pitches: tuple[cutlass.Int64, cutlass.Int64],
    apart: tuple[cutlass.Int64, cutlass.Int64],
    starts: tuple[cutlass.Int64, cutlass.Int64],
    whole: tuple[cutlass.Int64, cutlass.Int64],
    tiles: tuple[cutlass.Int32, cutlass.Int32, cutlass.Int32],
    plan: cutlass.Constexpr,
):
    """As `shifted.transpose_chunks`; `tiles`: their number along M, along N, and matrices."""
    block, _, _ = cute.arch.block_idx()
    blocks, _, _ = cute.arch.grid_dim()
    each = plan.each
    layout = cute.make_layout(
        (CHUNK, each.pitch // CHUNK, (CHUNK, -(-each.rows // CHUNK)), 2),
        stride=(1, CHUNK, (each.pitch, CHUNK * each.pitch + CHUNK), plan.stage),
    )
    smem = cutlass.memory.SmemAllocator().allocate_tensor(x.element_type, layout, byte_alignment=128)
    count = (tiles[0] * tiles[1] * tiles[2] - block + blocks - 1) // blocks
    for i in cutlass.range(count + 1, unroll=1):
        if i < count:
            m0, n0, item = place_of(block + i * blocks, tiles, each)
            start = starts[0] + item * apart[0]
            first = m0 - (each.align - 1)
            slot = smem[None, None, None, i & 1]
            if first > 0 and first + each.rows < shape[0] and n0 + each.pitch <= shape[1]:
                load_rows(x, slot, shape, pitches[0], start, whole, n0, first, True, each)
            else:
                load_rows(x, slot, shape, pitches[0], start, whole, n0, first, False, each)
        cute.arch.cp_async_commit_group()
        if i > 0:
            m0, n0, item = place_of(block + (i - 1) * blocks, tiles, each)
            here = starts[0] + item * apart[0], starts[1] + item * apart[1]
            cute.arch.cp_async_wait_group(1)
            cute.arch.sync_threads()
            store_chunks(smem[None, None, None, (i - 1) & 1], y, shape, pitches, here, n0, m0, each)
            cute.arch.sync_threads()  # before the buffer is filled again


@cute.jit
def place_of(
    number: cutlass.Int32,
    tiles: tuple[cutlass.Int32, cutlass.Int32, cutlass.Int32],
    each: cutlass.Constexpr,
):
    """First row, first column and matrix of a tile: M first, then N, then the matrices."""
    column = number // tiles[0]
    item = column // tiles[1]
    return (number - column * tiles[0]) * each.tile[1], (column - item * tiles[1]) * each.tile[0], item


def build_stream(plan: Stream = STANDARD) -> Kernel:
    """Any M and N, bases and pitches; rows of `x` and `y` contiguous, 16-bit elements."""
    most = plan.residents * multiprocessors()

    @cute.jit
    def host(x: cute.Tensor, y: cute.Tensor, stream):
        tiles = tiles_of(x, plan.each)
        transpose_in_turn(*in_chunks(x, y, plan.each.align), tiles, plan).launch(
            grid=(min(tiles[0] * tiles[1] * tiles[2], cutlass.Int32(most)), 1, 1),
            block=(plan.each.threads, 1, 1),
            min_blocks_per_mp=plan.residents,
            preferred_smem_carveout=100,
            stream=stream,
        )

    return Kernel(host, fake_args(align_bytes=2))
