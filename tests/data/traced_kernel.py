"""The kernel that tests/data/traced.mlir was traced from."""

import cutlass
from cutlass import cute


@cute.kernel
def kernel(a: cute.Tensor, b: cute.Tensor):
    tid, _, _ = cute.arch.thread_idx()
    smem = cutlass.memory.SmemAllocator()
    tile = smem.allocate_tensor(
        cutlass.Float16,
        cute.make_layout((64, 64), stride=(64, 1)),
        byte_alignment=128,
        swizzle=cute.make_swizzle(3, 4, 3),
    )
    atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), cutlass.Float16, num_bits_per_copy=128)
    tiled = cute.make_tiled_copy_tv(atom, cute.make_layout((16, 8), stride=(8, 1)), cute.make_layout((1, 8)))
    mine = tiled.get_slice(tid)
    here = mine.partition_D(tile)
    cute.copy(tiled, mine.partition_S(a), here)
    registers = cute.make_fragment_like(here)
    cute.autovec_copy(here, registers)
    cute.autovec_copy(registers, mine.partition_D(b))


@cute.jit
def host(a: cute.Tensor, b: cute.Tensor):
    kernel(a, b).launch(grid=(1, 1, 1), block=(128, 1, 1))
