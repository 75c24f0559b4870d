"""A 32-bit atom on a vector mode of four: one element in four is copied (NVIDIA/cutlass#2393), repaired."""

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import cpasync


@cute.kernel
def load(x: cute.Tensor):
    smem = cutlass.memory.SmemAllocator()
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), cutlass.Float32, num_bits_per_copy=32)
    src = cute.make_tensor(x.iterator, cute.make_layout((1, (4, 2)), stride=(0, (8, 1))))
    dst = smem.allocate_tensor(cutlass.Float32, cute.make_layout((1, (4, 2))), 16)
    cute.copy(atom, src, dst)
