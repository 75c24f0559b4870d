"""A cp.async predicated against its destination: false entries write zeros, repaired."""

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import cpasync


@cute.kernel
def load(tensor: cute.Tensor, tile: cute.Tensor, rows: cutlass.Int32):
    tidx, _, _ = cute.arch.thread_idx()
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), cutlass.Float16, num_bits_per_copy=128)
    thr_layout, val_layout = cute.make_layout((32, 4)), cute.make_layout((1, 8))
    thr = cute.make_tiled_copy_tv(atom, thr_layout, val_layout).get_slice(tidx)
    src, dst = thr.partition_S(tensor), thr.partition_D(tile)
    coords = thr.partition_S(cute.make_identity_tensor(tensor.shape))
    inside = cute.make_rmem_tensor(dst.shape[1], cutlass.Boolean)
    for i in cutlass.range_constexpr(dst.shape[1]):
        inside[i] = coords[0, i][0] < rows
    cute.copy(thr, src, dst, pred=inside)
