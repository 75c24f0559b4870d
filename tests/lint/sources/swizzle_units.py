"""A swizzle of elements on a pointer, which counts bytes (FlyDSL#634, NVIDIA/cutlass#2388)."""

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import cpasync


@cute.kernel
def stage(x: cute.Tensor, tiled: cute.TiledCopy):
    tidx, _, _ = cute.arch.thread_idx()
    smem = cutlass.memory.SmemAllocator()
    gmem_tile = cute.make_tensor(x.iterator, cute.make_layout((32, 64), stride=(64, 1)))
    layout = cute.make_layout((32, 64), stride=(64, 1))
    swizzle = cute.make_swizzle(3, 3, 3)  # LC262
    smem_tile = smem.allocate_tensor(cutlass.BFloat16, layout, 1024, swizzle=swizzle)
    thr = tiled.get_slice(tidx)
    cute.copy(tiled, thr.partition_S(gmem_tile), thr.partition_D(smem_tile))


@cute.jit
def host(x: cute.Tensor):
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), cutlass.BFloat16, num_bits_per_copy=128)
    thr = cute.make_layout((32, 8), stride=(8, 1))
    tiled = cute.make_tiled_copy_tv(atom, thr, cute.make_layout((1, 8), stride=(8, 1)))
    stage(x, tiled).launch(grid=(1, 1, 1), block=(256, 1, 1))
