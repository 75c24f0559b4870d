"""A cp.async from a pointer without an address space (NVIDIA/cutlass#2392), repaired."""

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import cpasync


@cute.kernel
def load(address: cutlass.Int64):
    smem = cutlass.memory.SmemAllocator()
    pointer = cute.make_ptr(cutlass.Float32, address, cute.AddressSpace.gmem)
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), cutlass.Float32, num_bits_per_copy=32)
    src = cute.make_tensor(pointer, cute.make_layout((1, 8)))
    dst = smem.allocate_tensor(cutlass.Float32, cute.make_layout((1, 8)), 16)
    cute.copy(atom, src, dst)
