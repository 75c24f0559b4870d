"""A 128-bit load through a pointer that promises an element's alignment (NVIDIA/cutlass#3033)."""

import cutlass
from cutlass import cute


@cute.kernel
def load(address: cutlass.Int64):
    pointer = cute.make_ptr(cutlass.Float32, address, cute.AddressSpace.gmem)
    src = cute.make_tensor(pointer, cute.make_layout((4, 8)))
    dst = cute.make_rmem_tensor((4, 8), cutlass.Float32)
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=128)
    cute.copy(atom, src, dst)  # LC101
