"""Products whose accumulators or operands are, or are not, written before: `how` 0 is right.

python -m tests.provenance.first_sums KIND HOW
"""

# ruff: noqa: SIM102 - what is known while tracing stands apart from what a run decides

import sys

import cutlass
import cutlass.cute as cute
from cutlass import Constexpr, Float16, Float32, Int32, const_expr
from cutlass.cute.nvgpu import OperandMajorMode, warp, warpgroup
from cutlass.memory import SmemAllocator
from cutlass.utils import hopper_helpers

from tests.order import outside_umma
from tests.order.reported import pointers

arch = cute.arch
M, N, K = 64, 64, 32


@cute.kernel
def by_warps(
    a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, flag: cute.Tensor, mma: cute.TiledMma, how: Constexpr
):
    """1 no fill, 2 warp 0 alone fills, 3 A is not copied, 4 a flag in memory decides, 5 filled too late."""
    thread, _, _ = arch.thread_idx()
    mine = mma.get_slice(thread)
    ga, gb, gc = mine.partition_A(a), mine.partition_B(b), mine.partition_C(c)
    ra, rb, sums = mma.make_fragment_A(ga), mma.make_fragment_B(gb), mma.make_fragment_C(gc)
    if const_expr(how != 3):
        cute.autovec_copy(ga, ra)
    cute.autovec_copy(gb, rb)
    if const_expr(how in (0, 3)):
        sums.fill(0.0)
    if const_expr(how == 2):
        if thread < 32:
            sums.fill(0.0)
    if const_expr(how == 4):
        if flag[0] > 0:
            sums.fill(0.0)
    cute.gemm(mma, sums, ra, rb, sums)
    if const_expr(how == 5):
        sums.fill(0.0)
    cute.autovec_copy(sums, gc)


@cute.kernel
def by_warpgroup(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, mma: cute.TiledMma, la: cute.ComposedLayout,
                 lb: cute.ComposedLayout, how: Constexpr):  # fmt: skip
    """1 the first product adds."""
    thread, _, _ = arch.thread_idx()
    allocator = SmemAllocator()
    sa = allocator.allocate_tensor(Float16, la.outer, byte_alignment=1024, swizzle=la.inner)
    sb = allocator.allocate_tensor(Float16, lb.outer, byte_alignment=1024, swizzle=lb.inner)
    for i in cutlass.range(thread, M * K, 128):
        sa[i // K, i % K, 0] = a[i // K, i % K]
        sb[i // K, i % K, 0] = b[i // K, i % K]
    arch.fence_proxy("async.shared", space="cta")
    arch.sync_threads()
    mine = mma.get_slice(thread)
    ra, rb = mma.make_fragment_A(mine.partition_A(sa)), mma.make_fragment_B(mine.partition_B(sb))
    gc = mine.partition_C(c)
    sums = cute.make_rmem_tensor(gc.shape, Float32)
    mma.set(warpgroup.Field.ACCUMULATE, how == 1)
    warpgroup.fence()
    for k in cutlass.range_constexpr(cute.size(ra, mode=[2])):
        cute.gemm(mma, sums, ra[None, None, k, 0], rb[None, None, k, 0], sums)
        mma.set(warpgroup.Field.ACCUMULATE, True)
    warpgroup.commit_group()
    warpgroup.wait_group(0)
    cute.autovec_copy(sums, gc)


@cute.jit
def run(
    a: cute.Pointer, b: cute.Pointer, c: cute.Pointer, flag: cute.Pointer, kind: Constexpr, how: Constexpr
):
    rows, columns = cute.make_layout((M, K), stride=(K, 1)), cute.make_layout((M, N), stride=(N, 1))
    tensors = cute.make_tensor(a, rows), cute.make_tensor(b, rows), cute.make_tensor(c, columns)
    if const_expr(kind == "warps"):
        mma = cute.make_tiled_mma(warp.MmaF16BF16Op(Float16, Float32, (16, 8, 16)), (2, 2, 1))
        made = by_warps(*tensors, cute.make_tensor(flag, cute.make_layout(1)), mma, how)
    else:
        major, shape = OperandMajorMode.K, (M, N, K)
        op = warpgroup.MmaF16BF16Op(Float16, Float32, (64, N, 16), warpgroup.OperandSource.SMEM, major, major)
        mma = cute.make_tiled_mma(op)
        row = cutlass.utils.LayoutEnum.ROW_MAJOR
        la = hopper_helpers.make_smem_layout_a(row, shape, Float16, 1)
        lb = hopper_helpers.make_smem_layout_b(row, shape, Float16, 1)
        made = by_warpgroup(*tensors, mma, la, lb, how)
    made.launch(grid=(1, 1, 1), block=(128, 1, 1))


def pointer(kind: type) -> cute.Pointer:
    """An address of global memory."""
    return cute.runtime.make_ptr(kind, 1 << 20, cute.AddressSpace.gmem, assumed_align=128)


if __name__ == "__main__":
    kind = sys.argv[1]
    for how in map(int, sys.argv[2:]):
        if kind == "tcgen05":
            cute.compile(outside_umma.run, *pointers(), "warps", 0, how == 1)
        else:
            made = [pointer(one) for one in (Float16, Float16, Float32, Int32)]
            cute.compile(run, *made, kind, how)
