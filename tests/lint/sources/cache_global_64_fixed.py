"""LoadCacheMode.GLOBAL with 64 bits, which it does not have (NVIDIA/cutlass#1790), repaired."""

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import cpasync


def atom():
    return cute.make_copy_atom(
        cpasync.CopyG2SOp(cache_mode=cpasync.LoadCacheMode.ALWAYS),
        cutlass.Float32,
        num_bits_per_copy=64,
    )
