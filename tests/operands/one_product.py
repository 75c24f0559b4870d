"""A product whose A is filled through the tiled copy of B: `tests/patching` has it repaired."""

import cutlass
import cutlass.cute as cute
from cutlass import BFloat16, Float32
from cutlass.cute.nvgpu import warp


@cute.kernel
def product(mma: cute.TiledMma, a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    thread = mma.get_slice(tidx)
    fragment_a = mma.make_fragment_A(thread.partition_A(a))
    fragment_b = mma.make_fragment_B(thread.partition_B(b))
    mine = thread.partition_C(c)
    total = cute.make_rmem_tensor(mine.shape, Float32)
    total.fill(0.0)
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), a.element_type)
    copy_a = cute.make_tiled_copy_B(atom, mma)
    copy_b = cute.make_tiled_copy_B(atom, mma)
    thread_a, thread_b = copy_a.get_slice(tidx), copy_b.get_slice(tidx)
    cute.copy(copy_a, thread_a.partition_S(a), thread_a.retile(fragment_a))
    cute.copy(copy_b, thread_b.partition_S(b), thread_b.retile(fragment_b))
    for i in cutlass.range_constexpr(cute.size(fragment_a, mode=[2])):
        cute.gemm(mma, total, fragment_a[(None, None, i)], fragment_b[(None, None, i)], total)
    for i in cutlass.range_constexpr(cute.size(total)):
        mine[i] = total[i]


@cute.jit
def products(a: cute.Pointer, b: cute.Pointer, c: cute.Pointer):
    plain = cute.make_layout((64, 64), stride=(64, 1))
    tensors = cute.make_tensor(a, plain), cute.make_tensor(b, plain), cute.make_tensor(c, plain)
    op = warp.MmaF16BF16Op(BFloat16, Float32, (16, 8, 16))
    mma = cute.make_tiled_mma(op, (2, 2, 1), permutation_mnk=(32, 32, 32))
    product(mma, *tensors).launch(grid=(1, 1, 1), block=(128, 1, 1))


if __name__ == "__main__":
    cute.compile(
        products,
        *[
            cute.runtime.make_ptr(kind, 1 << 20, cute.AddressSpace.gmem, assumed_align=128)
            for kind in (BFloat16, BFloat16, Float32)
        ],
    )
