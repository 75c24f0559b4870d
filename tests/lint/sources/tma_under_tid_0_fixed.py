"""A TMA copy under `if tidx == 0`: its election waits for a warp (NVIDIA/cutlass#3189), repaired."""

from cutlass import cute
from cutlass.cute.nvgpu import cpasync


@cute.kernel
def load(atom: cute.CopyAtom, tensor: cute.Tensor, tile: cute.Tensor, barrier: cute.Pointer):
    warp_idx = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    dst, src = cpasync.tma_partition(atom, 0, cute.make_layout(1), tile, tensor)
    if warp_idx == 0:
        cute.copy(
            atom,
            src,
            dst,
            tma_bar_ptr=barrier,
        )
