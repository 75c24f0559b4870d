"""A tile of 10 rows under a copy of 16: six rows are out of bounds (NVIDIA/cutlass#1397), repaired."""

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import cpasync


@cute.kernel
def load(x: cute.Tensor, tiled: cute.TiledCopy):
    tidx, _, _ = cute.arch.thread_idx()
    smem = cutlass.memory.SmemAllocator()
    gmem_tile = cute.make_tensor(x.iterator, cute.make_layout((16, 32), stride=(32, 1)))
    smem_tile = smem.allocate_tensor(cutlass.Float32, cute.make_layout((16, 32), stride=(32, 1)), 16)
    thr = tiled.get_slice(tidx)
    cute.copy(tiled, thr.partition_S(gmem_tile), thr.partition_D(smem_tile))


@cute.jit
def host(x: cute.Tensor):
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), cutlass.Float32, num_bits_per_copy=128)
    thr = cute.make_layout((16, 8), stride=(8, 1))
    tiled = cute.make_tiled_copy_tv(atom, thr, cute.make_layout((1, 4), stride=(4, 1)))
    load(x, tiled).launch(grid=(1, 1, 1), block=(128, 1, 1))
