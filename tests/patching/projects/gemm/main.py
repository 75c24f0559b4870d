from dataclasses import dataclass

import cutlass
import cutlass.cute as cute
import tiles
from cutlass.cute.nvgpu import cpasync, warp
from cutlass.cute.runtime import make_fake_tensor


@dataclass(frozen=True)
class Config:
    bm: int = 64
    bn: int = 64
    bk: int = 32
    stages: int = 2
    warps: int = 4

    @property
    def threads(self):
        return self.warps * 32


class Gemm:
    def __init__(self, cfg: Config, dtype):
        self.cfg = cfg
        self.dtype = dtype
        self.num_threads = cfg.threads
        self.copy_bits = 128
        self.smem_align = 16

    @cute.jit
    def __call__(self, mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor):
        c = self.cfg
        self.sA_layout = tiles.padded_rows(c.bm, c.bk, c.stages)
        self.sB_layout = tiles.operand_rows(c.bn, c.bk, c.stages)
        g2s = cute.make_copy_atom(
            cpasync.CopyG2SOp(cache_mode=cpasync.LoadCacheMode.GLOBAL),
            self.dtype,
            num_bits_per_copy=self.copy_bits,
        )
        load_a = tiles.loader(g2s, self.dtype, self.num_threads, c.bk)
        load_b = tiles.loader(g2s, self.dtype, self.num_threads, c.bk)
        mma = cute.make_tiled_mma(
            warp.MmaF16BF16Op(self.dtype, cutlass.Float32, (16, 8, 16)),
            cute.make_layout((2, 2, 1)),
            permutation_mnk=(32, 32, 16),
        )
        self.kernel(mA, mB, mC, self.sA_layout, self.sB_layout, load_a, load_b, mma).launch(
            grid=[mA.shape[0] // c.bm, mB.shape[0] // c.bn, 1], block=[self.num_threads, 1, 1]
        )

    @cute.kernel
    def kernel(
        self,
        mA: cute.Tensor,
        mB: cute.Tensor,
        mC: cute.Tensor,
        sA_layout: cute.Layout,
        sB_layout: cute.ComposedLayout,
        load_a: cute.TiledCopy,
        load_b: cute.TiledCopy,
        mma: cute.TiledMma,
    ):
        tidx, _, _ = cute.arch.thread_idx()
        bx, by, _ = cute.arch.block_idx()
        c = self.cfg
        tiler = (c.bm, c.bn, c.bk)
        gA = cute.local_tile(mA, tiler=tiler, coord=(bx, by, None), proj=(1, None, 1))
        gB = cute.local_tile(mB, tiler=tiler, coord=(bx, by, None), proj=(None, 1, 1))
        gC = cute.local_tile(mC, tiler=tiler, coord=(bx, by, None), proj=(1, 1, None))

        smem = cutlass.memory.SmemAllocator()
        sA = smem.allocate_tensor(self.dtype, sA_layout, self.smem_align)
        sB = smem.allocate_tensor(self.dtype, sB_layout, 128)

        thr_a = load_a.get_slice(tidx)
        thr_b = load_b.get_slice(tidx)
        tAgA, tAsA = thr_a.partition_S(gA), thr_a.partition_D(sA)
        tBgB, tBsB = thr_b.partition_S(gB), thr_b.partition_D(sB)
        for s in range(c.stages, unroll_full=True):
            cute.copy(load_a, tAgA[None, None, None, s], tAsA[None, None, None, s])
            cute.copy(load_b, tBgB[None, None, None, s], tBsB[None, None, None, s])
        cute.arch.cp_async_commit_group()
        cute.arch.cp_async_wait_group(0)
        cute.arch.sync_threads()

        thr_mma = mma.get_slice(tidx)
        tCrA = mma.make_fragment_A(thr_mma.partition_A(sA[None, None, 0]))
        tCrB = mma.make_fragment_B(thr_mma.partition_B(sB[None, None, 0]))
        acc = cute.make_rmem_tensor(thr_mma.partition_shape_C((c.bm, c.bn)), cutlass.Float32)
        acc.fill(0.0)

        s2r_a, s2r_b = self.ldmatrix_copies(mma)
        v_a, v_b = s2r_a.get_slice(tidx), s2r_b.get_slice(tidx)
        tXsA, tXrA = v_a.partition_S(sA), v_a.retile(tCrA)
        tXsB, tXrB = v_b.partition_S(sB), v_b.retile(tCrB)
        for s in range(c.stages, unroll_full=True):
            for k in range(c.bk // 16, unroll_full=True):
                cute.copy(s2r_a, tXsA[None, None, k, s], tXrA[None, None, k])
                cute.copy(s2r_b, tXsB[None, None, k, s], tXrB[None, None, k])
                cute.gemm(mma, acc, tCrA[None, None, k], tCrB[None, None, k], acc)
        self.store(mma, tidx, acc, gC)

    @cute.jit
    def ldmatrix_copies(self, mma: cute.TiledMma):
        op = warp.LdMatrix8x8x16bOp(transpose=False, num_matrices=4)
        atom = cute.make_copy_atom(op, self.dtype)
        return cute.make_tiled_copy_A(atom, mma), cute.make_tiled_copy_B(atom, mma)

    @cute.jit
    def store(self, mma: cute.TiledMma, tidx: cutlass.Int32, acc: cute.Tensor, gC: cute.Tensor):
        tCgC = mma.get_slice(tidx).partition_C(gC)
        out = cute.make_fragment_like(acc, self.dtype)
        out.store(acc.load().to(self.dtype))
        cute.autovec_copy(out, tCgC)


def operand(m, k, pitch=None):
    return make_fake_tensor(cutlass.BFloat16, (m, k), stride=(pitch or k, 1), assumed_align=16)


if __name__ == "__main__":
    gemm = Gemm(Config(), cutlass.BFloat16)
    cute.compile(gemm, operand(128, 64), operand(128, 64), operand(128, 128))
