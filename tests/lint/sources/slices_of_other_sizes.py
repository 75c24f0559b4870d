"""A copy into a slice of half the size (NVIDIA/cutlass#3488)."""

import cutlass
from cutlass import cute


@cute.kernel
def load(x: cute.Tensor):
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=128)
    src = cute.make_tensor(x.iterator, cute.make_layout((4, 3)))
    dst = cute.make_rmem_tensor((2, 3), cutlass.Float32)
    cute.copy(atom, src, dst)  # LC105
