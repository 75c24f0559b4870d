"""A transpose inside a 128-bit cp.async (NVIDIA/cutlass#2320)."""

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import cpasync

N, M = 128, 64


@cute.kernel
def load(x: cute.Tensor, tiled: cute.TiledCopy):
    tidx, _, _ = cute.arch.thread_idx()
    smem = cutlass.memory.SmemAllocator()
    gmem_tile = cute.make_tensor(x.iterator, cute.make_layout((N, M), stride=(1, N)))
    smem_tile = smem.allocate_tensor(cutlass.BFloat16, cute.make_layout((N, M), stride=(M, 1)), 16)
    thr = tiled.get_slice(tidx)
    src, dst = thr.partition_S(gmem_tile), thr.partition_D(smem_tile)
    cute.copy(tiled, src, dst)  # LC101 LC102


@cute.jit
def host(x: cute.Tensor):
    op = cpasync.CopyG2SOp(cpasync.LoadCacheMode.GLOBAL)
    atom = cute.make_copy_atom(op, cutlass.BFloat16, num_bits_per_copy=128)
    tiled = cute.make_tiled_copy_tv(
        atom, cute.make_layout((16, 16), stride=(16, 1)), cute.make_layout((8, 1))
    )
    load(x, tiled).launch(grid=(1, 1, 1), block=(256, 1, 1))
