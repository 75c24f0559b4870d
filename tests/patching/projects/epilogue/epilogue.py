import cutlass.cute as cute
from cutlass.cute.nvgpu import warp


def r2s_copy(mma, dtype, trans=False):
    atom = cute.make_copy_atom(warp.StMatrix8x8x16bOp(trans, 4), dtype)
    return cute.make_tiled_copy_C(atom, mma)


def s2g_copy(dtype, threads, n, bits):
    vec = bits // dtype.width
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), dtype, num_bits_per_copy=bits)
    return cute.make_tiled_copy_tv(
        atom,
        cute.make_ordered_layout((threads // (n // vec), n // vec), order=(1, 0)),
        cute.make_ordered_layout((1, vec), order=(1, 0)),
    )


def tile_layout(m, n, swizzle=(3, 3, 3)):
    inner = cute.make_swizzle(*swizzle)
    atom = cute.make_composed_layout(inner, 0, cute.make_layout((8, 64), stride=(64, 1)))
    return cute.tile_to_shape(atom, (m, n), (0, 1))
