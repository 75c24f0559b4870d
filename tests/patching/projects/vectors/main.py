"""Row gather: one warp per row, fp8 payload, 1-D tail."""

import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_tensor

WARP = 32


class Rows:
    def __init__(self, dtype, cols, warps=8, bits=128):
        self.dtype, self.cols, self.warps = dtype, cols, warps
        self.elems = bits // dtype.width
        self.bits = bits

    @cute.jit
    def __call__(self, x: cute.Tensor, y: cute.Tensor):
        thr = cute.make_layout((self.warps, WARP), stride=(WARP, 1))
        val = cute.make_layout((1, self.elems))
        tiler_mn, layout_tv = cute.make_layout_tv(thr, val)
        gx = cute.zipped_divide(x, tiler_mn)
        gy = cute.zipped_divide(y, tiler_mn)
        ids = cute.zipped_divide(cute.make_identity_tensor(x.shape), tiler_mn)
        self.move(gx, gy, ids, x.shape, tiler_mn, layout_tv).launch(
            grid=(cute.size(gx, mode=[1]), 1, 1), block=(cute.size(layout_tv, mode=[0]), 1, 1)
        )

    @cute.kernel
    def move(
        self,
        gx: cute.Tensor,
        gy: cute.Tensor,
        ids: cute.Tensor,
        shape: cute.Shape,
        tiler: cute.Shape,
        tv: cute.Layout,
    ):
        tid, _, _ = cute.arch.thread_idx()
        bid, _, _ = cute.arch.block_idx()
        atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), self.dtype, num_bits_per_copy=self.bits)
        tiled = cute.make_tiled_copy(atom, tv, tiler)
        thr = tiled.get_slice(tid)
        sx = thr.partition_S(gx[(None, None), bid])
        sy = thr.partition_D(gy[(None, None), bid])
        sc = thr.partition_S(ids[(None, None), bid])
        reg = cute.make_rmem_tensor_like(sx)
        pred = cute.make_rmem_tensor((1, cute.size(sx, mode=[1]), cute.size(sx, mode=[2])), cutlass.Boolean)
        pred[0, 0, 0] = cute.elem_less(sc[0, 0, 0], shape)
        cute.copy(atom, sx, reg, pred=pred)
        cute.copy(atom, reg, sy, pred=pred)


def gmem(rows, cols, pitch=None, align=16):
    return make_fake_tensor(cutlass.Int8, (rows, cols), stride=(pitch or cols, 1), assumed_align=align)


cute.compile(Rows(cutlass.Int8, 1024), gmem(100, 1008), gmem(100, 1008))
