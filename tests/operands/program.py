"""Products of one warp-level MMA whose fragments are filled in several orders, and the DSL's own layouts.

    layoutcheck trace --no-launch tests/operands/program.py FILE

FILE gets, as JSON lines, the layouts of many tiled MMAs: type, operand, thread-value layout.
"""

import json
import sys
from pathlib import Path

import cutlass
import cutlass.cute as cute
from cutlass import BFloat16, Constexpr, Float32
from cutlass.cute.nvgpu import OperandMajorMode, warp, warpgroup

SIZE, THREADS = 64, 128
# What fills A and B; "" is the product's own MMA. Then how C is partitioned.
CASES = {
    "right": ("", "", ""),
    "n": ("", "n", ""),
    "n_in_c": ("", "n", "n"),
    "k_of_both": ("k", "k", ""),
    "k_of_a": ("k", "", ""),
    "b_for_a": ("B", "", ""),
}


@cute.kernel
def product(
    mma: cute.TiledMma, n: cute.TiledMma, k: cute.TiledMma, a: cute.Tensor, b: cute.Tensor, c: cute.Tensor,
    case: Constexpr,
):  # fmt: skip
    tidx, _, _ = cute.arch.thread_idx()
    mmas = {"": mma, "n": n, "k": k, "B": mma}
    thread = mma.get_slice(tidx)
    fragment_a = mma.make_fragment_A(thread.partition_A(a))
    fragment_b = mma.make_fragment_B(thread.partition_B(b))
    mine = (n if cutlass.const_expr(case[2] == "n") else mma).get_slice(tidx).partition_C(c)
    total = cute.make_rmem_tensor(mine.shape, Float32)
    total.fill(0.0)
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), a.element_type)
    make_a = cute.make_tiled_copy_B if cutlass.const_expr(case[0] == "B") else cute.make_tiled_copy_A
    copy_a, copy_b = make_a(atom, mmas[case[0]]), cute.make_tiled_copy_B(atom, mmas[case[1]])
    thread_a, thread_b = copy_a.get_slice(tidx), copy_b.get_slice(tidx)
    cute.copy(copy_a, thread_a.partition_S(a), thread_a.retile(fragment_a))
    cute.copy(copy_b, thread_b.partition_S(b), thread_b.retile(fragment_b))
    for i in cutlass.range_constexpr(cute.size(fragment_a, mode=[2])):
        cute.gemm(mma, total, fragment_a[(None, None, i)], fragment_b[(None, None, i)], total)
    for i in cutlass.range_constexpr(cute.size(total)):
        mine[i] = total[i]


@cute.jit
def products(a: cute.Pointer, b: cute.Pointer, c: cute.Pointer, case: Constexpr):
    plain = cute.make_layout((SIZE, SIZE), stride=(SIZE, 1))
    tensors = cute.make_tensor(a, plain), cute.make_tensor(b, plain), cute.make_tensor(c, plain)
    op, warps = warp.MmaF16BF16Op(BFloat16, Float32, (16, 8, 16)), (2, 2, 1)
    rows = cute.make_layout((8, 2, 2), stride=(1, 16, 8))
    depth = cute.make_layout((8, 2, 2), stride=(1, 16, 8))
    mma = cute.make_tiled_mma(op, warps, permutation_mnk=(32, 32, 32))
    n = cute.make_tiled_mma(op, warps, permutation_mnk=(32, rows, 32))
    k = cute.make_tiled_mma(op, warps, permutation_mnk=(32, 32, depth))
    product(mma, n, k, *tensors, case).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


@cute.kernel
def described(mma: cute.TiledMma, layout: Constexpr):
    """The report NVIDIA/cutlass#3078: a fragment of a shared tile without a swizzle."""
    tile = cutlass.utils.SmemAllocator().allocate_tensor(BFloat16, layout, byte_alignment=1024)
    thread = mma.get_slice(cute.arch.thread_idx()[0])
    mma.make_fragment_A(thread.partition_A(tile))


@cute.jit
def descriptor():
    major = OperandMajorMode.K
    op = warpgroup.MmaF16BF16Op(BFloat16, Float32, (64, 64, 16), warpgroup.OperandSource.SMEM, major, major)
    plain = cute.make_ordered_layout((64, 128), order=(1, 0))
    described(cute.make_tiled_mma(op), plain).launch(grid=(1, 1, 1), block=(128, 1, 1))


LAYOUTS = []


@cute.jit
def layouts():
    ops = [warp.MmaF16BF16Op(BFloat16, Float32, (16, 8, depth)) for depth in (8, 16)]
    ops += [warp.MmaTF32Op((16, 8, depth)) for depth in (4, 8)] if hasattr(warp, "MmaTF32Op") else []
    for op in ops:
        for warps in ((1, 1, 1), (2, 2, 1), (4, 1, 1), (1, 2, 2), (2, 4, 1)):
            order = cute.make_layout(warps, stride=(warps[1], 1, warps[0] * warps[1]))
            for permutation in (None, (64, 32, 16), (64, cute.make_layout((8, 2, 2), stride=(1, 16, 8)), 32)):
                for chosen in (warps, order):
                    mma = cute.make_tiled_mma(op, chosen, permutation_mnk=permutation)
                    note(mma)
    for source in (warpgroup.OperandSource.RMEM, warpgroup.OperandSource.SMEM):
        for columns in (8, 24, 256):
            for atoms in ((1, 1, 1), (2, 1, 1), (1, 2, 1)):
                major = OperandMajorMode.K
                shape = (64, columns, 16)
                op = warpgroup.MmaF16BF16Op(BFloat16, Float32, shape, source, major, major)
                note(cute.make_tiled_mma(op, atoms))


def note(mma):
    """Its layouts, as lines of the file."""
    for operand in "ABC":
        layout = getattr(mma, f"tv_layout_{operand}_tiled")
        LAYOUTS.append({"type": str(mma.type), "operand": operand, "layout": str(layout)})


if __name__ == "__main__":
    layouts()
    with Path(sys.argv[1]).open("w") as file:
        file.writelines(json.dumps(line) + "\n" for line in LAYOUTS)
    pointers = [
        cute.runtime.make_ptr(kind, 1 << 20, cute.AddressSpace.gmem, assumed_align=128)
        for kind in (BFloat16, BFloat16, Float32)
    ]
    for case in CASES.values():
        cute.compile(products, *pointers, case)
    cute.compile(descriptor)
