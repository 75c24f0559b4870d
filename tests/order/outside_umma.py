"""A GEMM of tcgen05 with a warp for TMA, one for the products and four for the epilogue: `how` 0 right,
others broken. `TOLD` says what each broken variant is told, with words of its two lines.

    python -m tests.order.outside_umma [NAME ...]         # compile every variant
"""

# ruff: noqa: SIM102 - what is known while tracing stands apart from what a run decides

from __future__ import annotations

import sys

import cutlass
import cutlass.cute as cute
from cutlass import BFloat16, Constexpr, Float32, Int32, const_expr, pipeline
from cutlass.cute.nvgpu import cpasync, tcgen05
from cutlass.memory import SmemAllocator
from cutlass.utils import blackwell_helpers

from tests.order.fresh import group
from tests.order.kernels import barriers
from tests.order.reported import pointers

arch = cute.arch
SHAPE = (128, 64, 64)
TURNS = 5
# kernel -> (code, words of the first line, of the second) of each variant from 1 on, threads, blocks
TOLD = {
    "warps": (
        (("LC501", "# product", "# result"), ("LC501", "# of A", "# product"),
         ("LC508", "PipelineTmaUmma", "# announced"),
         ("LC504", "# result", "# freed"), ("LC503", "# result", "# product")),
        192, 1),
}  # fmt: skip


@cute.kernel
def warps(atom_a: cute.CopyAtom, ta: cute.Tensor, atom_b: cute.CopyAtom, tb: cute.Tensor,
          target: cute.Pointer, mma: cute.TiledMma, la: cute.ComposedLayout,
          lb: cute.ComposedLayout, how: Constexpr):  # fmt: skip
    """1 the epilogue does not wait, 2 the products do not, 3 the loads do not, 4 the columns are freed by
    one warp with no barrier of the others, 5 the products commit one turn early."""
    thread, _, _ = arch.thread_idx()
    warp = arch.make_warp_uniform(arch.warp_idx())
    allocator = SmemAllocator()
    holder = allocator.allocate_array(Int32, 1)
    a = allocator.allocate_tensor(BFloat16, la.outer, byte_alignment=1024, swizzle=la.inner)
    b = allocator.allocate_tensor(BFloat16, lb.outer, byte_alignment=1024, swizzle=lb.inner)
    loads = pipeline.PipelineTmaUmma.create(
        num_stages=2, producer_group=group(), consumer_group=group(), tx_count=(128 + 64) * 64 * 2,
        barrier_storage=barriers(4), cta_layout_vmnk=cute.make_layout((1, 1, 1, 1)),
    )  # fmt: skip
    done = pipeline.PipelineUmmaAsync.create(
        num_stages=1, producer_group=group(), consumer_group=group(128), barrier_storage=barriers(2),
        cta_layout_vmnk=cute.make_layout((1, 1, 1, 1)),
    )  # fmt: skip
    if warp == 0:
        arch.alloc_tmem(64, holder)
    arch.sync_threads()
    sums = mma.make_fragment_C(mma.partition_shape_C(SHAPE[:2]))
    memory = cute.make_tensor(arch.retrieve_tmem_ptr(Float32, 16, holder), sums.layout)
    slices, one = mma.get_slice(0), cute.make_layout(1)
    tiles_a = slices.partition_A(cute.local_tile(ta, (128, 64), (0, None)))
    tiles_b = slices.partition_B(cute.local_tile(tb, (64, 64), (0, None)))
    sa, ga = cpasync.tma_partition(atom_a, 0, one, cute.group_modes(a, 0, 3), cute.group_modes(tiles_a, 0, 3))
    sb, gb = cpasync.tma_partition(atom_b, 0, one, cute.group_modes(b, 0, 3), cute.group_modes(tiles_b, 0, 3))
    ra, rb = mma.make_fragment_A(a), mma.make_fragment_B(b)
    if warp == 5:
        state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, 2)
        for turn in cutlass.range(TURNS, unroll=1):
            bar = loads.producer_get_barrier(state)
            if const_expr(how == 3):
                with arch.elect_one():
                    arch.mbarrier_arrive_and_expect_tx(bar, (128 + 64) * 64 * 2)  # announced
            else:
                loads.producer_acquire(state)
            cute.copy(atom_a, ga[None, turn], sa[None, state.index], tma_bar_ptr=bar)  # of A
            cute.copy(atom_b, gb[None, turn], sb[None, state.index], tma_bar_ptr=bar)
            state.advance()
        if const_expr(how != 3):
            loads.producer_tail(state)
    elif warp == 4:
        state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, 2)
        out = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, 1)
        done.producer_acquire(out)
        for turn in cutlass.range(TURNS, unroll=1):
            if const_expr(how == 5):
                if turn == TURNS - 1:
                    done.producer_commit(out)
            if const_expr(how != 2):
                loads.consumer_wait(state)
            for k in cutlass.range_constexpr(cute.size(ra, mode=[2])):
                at = (None, None, k, state.index)
                cute.gemm(mma, memory, ra[at], rb[at], memory)  # product
                mma.set(tcgen05.Field.ACCUMULATE, True)
            loads.consumer_release(state)
            state.advance()
        if const_expr(how != 5):
            done.producer_commit(out)
    else:
        state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, 1)
        if const_expr(how != 1):
            done.consumer_wait(state)
        flat = cute.make_tensor(memory.iterator, cute.make_layout((128, 64), stride=(65536, 1)))
        load = cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x64), Float32)
        mine = tcgen05.make_tmem_copy(load, flat).get_slice(thread)
        out = cute.make_tensor(target, cute.make_layout((128, 64), stride=(64, 1)))
        there = mine.partition_D(out)
        held = cute.make_rmem_tensor(there.shape, Float32)
        cute.copy(mine, mine.partition_S(flat), held)  # result
        arch.fence_view_async_tmem_load()
        for i in cutlass.range_constexpr(cute.size(held)):
            there[i] = held[i].to(Int32)
        done.consumer_release(state)
        if const_expr(how != 4):
            arch.barrier(barrier_id=1, number_of_threads=128)
        if warp == 0:
            arch.relinquish_tmem_alloc_permit()
            arch.dealloc_tmem(memory.iterator, 64)  # freed


@cute.jit
def run(source: cute.Pointer, target: cute.Pointer, name: Constexpr, how: Constexpr, adds: Constexpr = False):
    """`adds`: the first product adds to what the tensor memory holds."""
    major = tcgen05.OperandMajorMode.K
    op = tcgen05.MmaF16BF16Op(
        BFloat16, Float32, (128, 64, 16), tcgen05.CtaGroup.ONE, tcgen05.OperandSource.SMEM, major, major
    )
    mma = cute.make_tiled_mma(op)
    mma.set(tcgen05.Field.ACCUMULATE, adds)
    la = blackwell_helpers.make_smem_layout_a(mma, SHAPE, BFloat16, 2)
    lb = blackwell_helpers.make_smem_layout_b(mma, SHAPE, BFloat16, 2)
    words = cute.recast_ptr(source, dtype=BFloat16)
    ga = cute.make_tensor(words, cute.make_layout((128, 64 * TURNS), stride=(64 * TURNS, 1)))
    gb = cute.make_tensor(words, cute.make_layout((64, 64 * TURNS), stride=(64 * TURNS, 1)))
    load = cpasync.CopyBulkTensorTileG2SOp(tcgen05.CtaGroup.ONE)
    atom_a, ta = cute.nvgpu.make_tiled_tma_atom_A(load, ga, cute.select(la, mode=[0, 1, 2]), SHAPE, mma)
    atom_b, tb = cute.nvgpu.make_tiled_tma_atom_B(load, gb, cute.select(lb, mode=[0, 1, 2]), SHAPE, mma)
    made = globals()[name](atom_a, ta, atom_b, tb, target, mma, la, lb, how)
    made.launch(grid=(1, 1, 1), block=(TOLD[name][1], 1, 1))


if __name__ == "__main__":
    for name in [word for word in sys.argv[1:] if word in TOLD] or TOLD:
        for how in range(len(TOLD[name][0]) + 1):
            cute.compile(run, *pointers(), name, how)
