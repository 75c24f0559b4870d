"""The report's third strategy: 16-byte loads to registers, element-wise stores to shared memory."""

from __future__ import annotations

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import CopyUniversalOp

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
def staged(xt: cute.Tensor, y: cute.Tensor, tiled: cute.TiledCopy):
    """`tiled` reads one tile into registers; each element then goes to its place in K-major shared memory."""
    tid, _, _ = cute.arch.thread_idx()
    bm, bn, _ = cute.arch.block_idx()
    tile = cute.make_layout((N_TILE, M_TILE), stride=(M_TILE, 1))
    smem = cutlass.memory.SmemAllocator().allocate_tensor(xt.element_type, tile, byte_alignment=16)
    mine = tiled.get_slice(tid)
    src = mine.partition_S(cute.local_tile(xt, (N_TILE, M_TILE), (bn, bm)))
    registers = cute.make_rmem_tensor(src.shape, xt.element_type)
    cute.copy(tiled, src, registers)
    one = cute.make_copy_atom(CopyUniversalOp(), xt.element_type, num_bits_per_copy=xt.element_type.width)
    cute.copy(one, registers, mine.partition_D(smem))
    cute.arch.sync_threads()
    store_rows(smem, cute.local_tile(y, (N_TILE, M_TILE), (bn, bm)), tid)


def build_staged() -> Kernel:
    """The report's thread and value layouts, kept."""

    @cute.jit
    def host(x: cute.Tensor, y: cute.Tensor, stream):
        xt = transpose_view(x)
        atom = cute.make_copy_atom(CopyUniversalOp(), x.element_type, num_bits_per_copy=128)
        thr, val = cute.make_layout((16, 16), stride=(16, 1)), cute.make_layout((8, 1))
        kernel = staged(xt, row_view(y), cute.make_tiled_copy_tv(atom, thr, val))
        kernel.launch(grid=tile_grid(xt), block=(THREADS, 1, 1), stream=stream)

    return Kernel(host, fake_args())
