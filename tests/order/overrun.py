"""Kernels that load the tiles of two products one after the other; run by test_boxes.

0: right. 1: the number of the tile along k goes on, where the second product begins. 2: right, the last tile
hangs over the end of the rows, so that the first of its boxes is beyond. 3: as 1, but a condition keeps
the load within.
"""

import cutlass
from cutlass import Int64, cute
from cutlass.cute import arch
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import make_fake_tensor

ROWS, COLUMNS, BYTES = 64, 64, 64 * 64 * 2
TILES, DEPTH = 2, 4


@cute.kernel
def loads(atom: cute.CopyAtom, view: cute.Tensor, out: cute.Tensor, how: cutlass.Constexpr):
    thread, _, _ = arch.thread_idx()
    memory = cutlass.memory.SmemAllocator()
    barrier = memory.allocate_array(Int64, 1)
    tile = memory.allocate_tensor(
        cutlass.BFloat16, cute.make_layout((ROWS, COLUMNS), stride=(COLUMNS, 1)), 128
    )
    if thread == 0:
        arch.mbarrier_init(barrier, 1)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    count = cutlass.Int32(0)
    for product in cutlass.range(TILES, unroll=1):
        for k in cutlass.range(DEPTH, unroll=1):
            column = count if cutlass.const_expr(how in (1, 3)) else k
            row = product * DEPTH + DEPTH - 1 - k if cutlass.const_expr(how == 2) else product
            if cutlass.const_expr(how == 2):
                column = cutlass.Int32(0)
            if (column < DEPTH) if cutlass.const_expr(how == 3) else True:
                if thread < 32:
                    with arch.elect_one():
                        arch.mbarrier_arrive_and_expect_tx(barrier, BYTES)
                    box = cute.local_tile(view, (ROWS, COLUMNS), (row, column))
                    shared, there = cpasync.tma_partition(
                        atom,
                        0,
                        cute.make_layout(1),
                        cute.group_modes(tile, 0, 2),
                        cute.group_modes(box, 0, 2),
                    )
                    cute.copy(atom, there, shared, tma_bar_ptr=barrier)  # load
                arch.mbarrier_wait(barrier, count % 2)
                out[thread] = tile[thread % ROWS, 0]
                arch.sync_threads()
            count += 1


@cute.jit
def host(a: cute.Tensor, out: cute.Tensor, how: cutlass.Constexpr):
    layout = cute.make_layout((ROWS, COLUMNS), stride=(COLUMNS, 1))
    atom, view = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), a, layout, (ROWS, COLUMNS))
    loads(atom, view, out, how).launch(grid=(1, 1, 1), block=(128, 1, 1))


if __name__ == "__main__":
    out = make_fake_tensor(cutlass.BFloat16, (128,), stride=(1,), assumed_align=16)
    for how in range(4):
        rows = 7 * ROWS if how == 2 else TILES * ROWS
        a = make_fake_tensor(
            cutlass.BFloat16, (rows, DEPTH * COLUMNS), (DEPTH * COLUMNS, 1), assumed_align=16
        )
        cute.compile(host, a, out, how)
    n = cute.sym_int()
    a = make_fake_tensor(cutlass.BFloat16, (n, DEPTH * COLUMNS), (DEPTH * COLUMNS, 1), assumed_align=16)
    cute.compile(host, a, out, 1)
