"""A tile that is waited for by the extents of another tensor, which has to have the same; run by test_boxes.

0: right. 1: the wait is one phase early whatever the extents are.
"""

import cutlass
from cutlass import Int64, cute
from cutlass.cute import arch
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import make_fake_tensor

ROWS, COLUMNS, BYTES, STEP = 64, 64, 64 * 64 * 2, 512


@cute.kernel
def loads(
    atom: cute.CopyAtom, view: cute.Tensor, other: cute.Tensor, out: cute.Tensor, early: cutlass.Constexpr
):
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
    turns = cute.ceil_div(cute.size(view, mode=[0]), STEP)
    for turn in cutlass.range(turns, unroll=1):
        if thread < 32:
            with arch.elect_one():
                arch.mbarrier_arrive_and_expect_tx(barrier, BYTES)
            box = cute.local_tile(view, (ROWS, COLUMNS), (turn, 0))
            shared, there = cpasync.tma_partition(
                atom, 0, cute.make_layout(1), cute.group_modes(tile, 0, 2), cute.group_modes(box, 0, 2)
            )
            cute.copy(atom, there, shared, tma_bar_ptr=barrier)  # load
        if turn + 1 < turns:
            arch.mbarrier_wait(barrier, turn % 2)
        arch.sync_threads()
    last = cute.ceil_div(cute.size(other), STEP) - 1 + early
    arch.mbarrier_wait(barrier, last % 2)
    out[thread] = tile[thread % ROWS, 0]  # read


@cute.jit
def host(b: cute.Tensor, other: cute.Tensor, out: cute.Tensor, early: cutlass.Constexpr):
    layout = cute.make_layout((ROWS, COLUMNS), stride=(COLUMNS, 1))
    atom, view = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), b, layout, (ROWS, COLUMNS))
    loads(atom, view, other, out, early).launch(grid=(1, 1, 1), block=(128, 1, 1))


if __name__ == "__main__":
    k = cute.sym_int()
    b = make_fake_tensor(
        cutlass.BFloat16, (k, cute.sym_int()), (cute.sym_int64(divisibility=8), 1), assumed_align=16
    )
    other = make_fake_tensor(cutlass.BFloat16, (k,), (1,), assumed_align=16)
    out = make_fake_tensor(cutlass.BFloat16, (128,), (1,), assumed_align=16)
    for early in (0, 1):
        cute.compile(host, b, other, out, early)
