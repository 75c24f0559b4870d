import cutlass
import cutlass.cute as cute
import epilogue
from cutlass.cute.nvgpu import warp
from cutlass.cute.runtime import make_fake_tensor

BLK_M, BLK_N = 64, 64
NUM_WARPS = 4


@cute.kernel
def epi_kernel(
    mC: cute.Tensor,
    mD: cute.Tensor,
    sC_layout: cute.ComposedLayout,
    mma: cute.TiledMma,
    r2s: cute.TiledCopy,
    s2g: cute.TiledCopy,
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, bidy, _ = cute.arch.block_idx()
    gD = cute.local_tile(mD, (BLK_M, BLK_N), (bidx, bidy))
    gC = cute.local_tile(mC, (BLK_M, BLK_N), (bidx, bidy))
    sC = cutlass.memory.SmemAllocator().allocate_tensor(mD.element_type, sC_layout, byte_alignment=128)
    thr_mma = mma.get_slice(tidx)
    tCgC = thr_mma.partition_C(gC)
    acc = cute.make_fragment_like(tCgC)
    cute.autovec_copy(tCgC, acc)
    rD = cute.make_fragment_like(acc, mD.element_type)
    rD.store(acc.load().to(mD.element_type))
    thr_r2s = r2s.get_slice(tidx)
    tRS_rD = thr_r2s.retile(rD)
    tRS_sD = thr_r2s.partition_D(sC)
    cute.copy(r2s, tRS_rD, tRS_sD)
    cute.arch.sync_threads()
    thr_s2g = s2g.get_slice(tidx)
    tSG_sD, tSG_gD = thr_s2g.partition_S(sC), thr_s2g.partition_D(gD)
    tSG_rD = cute.make_fragment_like(tSG_sD)
    cute.copy(s2g, tSG_sD, tSG_rD)
    cute.copy(s2g, tSG_rD, tSG_gD)


@cute.jit
def epi(mC: cute.Tensor, mD: cute.Tensor):
    dtype = mD.element_type
    threads = 32 * NUM_WARPS
    op = warp.MmaF16BF16Op(dtype, cutlass.Float32, (16, 8, 16))
    mma = cute.make_tiled_mma(op, (2, 2, 1), permutation_mnk=(32, 32, 16))
    r2s = epilogue.r2s_copy(mma, dtype)
    s2g = epilogue.s2g_copy(dtype, threads, BLK_N, bits=128)
    sC = epilogue.tile_layout(BLK_M, BLK_N)
    epi_kernel(mC, mD, sC, mma, r2s, s2g).launch(grid=(2, 2, 1), block=(threads, 1, 1))


def matrix(dtype, align=16):
    return make_fake_tensor(dtype, (128, 128), stride=(128, 1), assumed_align=align)


cute.compile(epi, matrix(cutlass.Float32), matrix(cutlass.Float16))
