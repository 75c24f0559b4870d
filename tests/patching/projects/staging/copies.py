import cutlass.cute as cute
from cutlass.cute.nvgpu import cpasync


def g2s_copy(dtype, threads, row_len, bits=128):
    n = bits // dtype.width
    thr = cute.make_layout((threads // (row_len // n), row_len // n), stride=(row_len // n, 1))
    val = cute.make_layout((1, n))
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), dtype, num_bits_per_copy=bits)
    return cute.make_tiled_copy_tv(atom, thr, val)


def s2g_copy(dtype, threads, row_len, bits=128):
    n = bits // dtype.width
    thr = cute.make_layout((threads // (row_len // n), row_len // n), stride=(row_len // n, 1))
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), dtype, num_bits_per_copy=bits)
    return cute.make_tiled_copy_tv(atom, thr_layout=thr, val_layout=cute.make_layout((1, n)))
