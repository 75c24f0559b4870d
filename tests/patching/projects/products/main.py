"""Operand B stored (K, N) row-major: ldmatrix.trans; fragments per k block; swizzle by a helper."""

import cutlass
from cutlass import BFloat16, Float32, cute
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.nvgpu.warp import LdMatrix8x8x16bOp, MmaF16BF16Op
from cutlass.cute.runtime import make_fake_tensor

M, N, K = 64, 64, 64


def swizzled(rows: int, cols: int, major_rows: bool):
    if major_rows:
        atom = cute.make_layout((rows, 8), stride=(1, rows))
    else:
        atom = cute.make_layout((8, cols), stride=(cols, 1))
    composed = cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, atom)
    return cute.tile_to_shape(composed, (rows, cols), (0, 1))


@cute.kernel
def gemm(
    gA: cute.Tensor,
    gB: cute.Tensor,
    gC: cute.Tensor,
    lA: cute.ComposedLayout,
    lB: cute.ComposedLayout,
    cpA: cute.TiledCopy,
    cpB: cute.TiledCopy,
    mma: cute.TiledMma,
):
    tid, _, _ = cute.arch.thread_idx()
    alloc = cutlass.memory.SmemAllocator()
    sA = alloc.allocate_tensor(BFloat16, lA, byte_alignment=1024)
    sB = alloc.allocate_tensor(BFloat16, lB, byte_alignment=1024)
    a, b = cpA.get_slice(tid), cpB.get_slice(tid)
    cute.copy(cpA, a.partition_S(gA), a.partition_D(sA))
    cute.copy(cpB, b.partition_S(gB), b.partition_D(sB))
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    thr = mma.get_slice(tid)
    rA, rB = mma.make_fragment_A(thr.partition_A(sA)), mma.make_fragment_B(thr.partition_B(sB))
    rC = mma.make_fragment_C(thr.partition_C(gC))
    rC.fill(0.0)
    ldA = cute.make_tiled_copy_A(cute.make_copy_atom(LdMatrix8x8x16bOp(num_matrices=4), BFloat16), mma)
    ldB = cute.make_tiled_copy_B(
        cute.make_copy_atom(LdMatrix8x8x16bOp(transpose=True, num_matrices=4), BFloat16), mma
    )
    la, lb = ldA.get_slice(tid), ldB.get_slice(tid)
    vA, vB = la.partition_S(sA), lb.partition_S(sB)
    wA, wB = la.retile(rA), lb.retile(rB)
    for k in cutlass.range_constexpr(cute.size(rA, mode=[2])):
        cute.copy(ldA, vA[None, None, k], wA[None, None, k])
        cute.copy(ldB, vB[None, None, k], wB[None, None, k])
        cute.gemm(mma, rC, rA[None, None, k], rB[None, None, k], rC)
    cute.autovec_copy(rC, thr.partition_C(gC))


@cute.jit
def run(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    mma = cute.make_tiled_mma(
        MmaF16BF16Op(BFloat16, Float32, (16, 8, 16)), (2, 2, 1), permutation_mnk=(32, 32, 16)
    )
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), BFloat16, num_bits_per_copy=128)
    along_k = cute.make_tiled_copy_tv(
        atom, cute.make_ordered_layout((16, 8), order=(1, 0)), cute.make_layout((1, 8))
    )
    along_n = cute.make_tiled_copy_tv(
        atom, cute.make_ordered_layout((8, 16), order=(0, 1)), cute.make_layout((8, 1))
    )
    gemm(a, b, c, swizzled(M, K, False), swizzled(N, K, True), along_k, along_n, mma).launch(
        grid=(1, 1, 1), block=(128, 1, 1)
    )


A = make_fake_tensor(BFloat16, (M, K), stride=(K, 1), assumed_align=16)
B = make_fake_tensor(BFloat16, (N, K), stride=(1, N), assumed_align=16)
C = make_fake_tensor(Float32, (M, N), stride=(N, 1), assumed_align=16)
cute.compile(run, A, B, C)
