"""Drawn by layoutcheck.synthesize for a tile of 64 x 64: see draw.py."""

import cutlass
from cutlass import cute

TILE = (64, 64)
THREADS, STAGES = 128, 1


@cute.kernel
def kernel(src: cute.Tensor, dst: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    tiles = cute.local_tile(src, TILE, (row, None))  # (MN, K, tiles along K)
    count = cute.size(tiles, mode=[2])
    dst_tiles = cute.local_tile(dst, TILE, (row, None))
    allocator = cutlass.memory.SmemAllocator()
    smem = allocator.allocate_tensor(
        cutlass.BFloat16,
        cute.make_layout((64, 64, 1), stride=(1, 64, 0)),
        byte_alignment=1024,
        swizzle=cute.make_swizzle(3, 4, 3),
    )
    fill_atom = cute.make_copy_atom(
        cute.nvgpu.cpasync.CopyG2SOp(cute.nvgpu.cpasync.LoadCacheMode.GLOBAL),
        cutlass.BFloat16,
        num_bits_per_copy=128,
    )
    fill_tiled = cute.make_tiled_copy_tv(
        fill_atom,
        cute.make_layout((8, 16), stride=(1, 8)),
        cute.make_layout((8, 1), stride=(1, 0)),
    )
    fill = fill_tiled.get_slice(tidx)
    read_load_atom = cute.make_copy_atom(
        cute.nvgpu.CopyUniversalOp(),
        cutlass.BFloat16,
        num_bits_per_copy=128,
    )
    read_load_tiled = cute.make_tiled_copy_tv(
        read_load_atom,
        cute.make_layout((4, 32), stride=(32, 1)),
        cute.make_layout((8, 2), stride=(1, 8)),
    )
    read_load = read_load_tiled.get_slice(tidx)
    read_store_atom = cute.make_copy_atom(
        cute.nvgpu.CopyUniversalOp(),
        cutlass.BFloat16,
        num_bits_per_copy=32,
    )
    read_store_tiled = cute.make_tiled_copy_tv(
        read_store_atom,
        cute.make_layout((4, 32), stride=(32, 1)),
        cute.make_layout((8, 2), stride=(2, 1)),
    )
    read_store = read_store_tiled.get_slice(tidx)
    for k in cutlass.range(count):
        cute.copy(
            fill_atom,
            fill.partition_S(tiles[None, None, k]),
            fill.partition_D(smem[None, None, 0]),
        )
        cute.arch.cp_async_commit_group()
        cute.arch.cp_async_wait_group(0)
        cute.arch.sync_threads()
        held1 = cute.make_rmem_tensor(
            read_load.partition_D(smem[None, None, 0]).shape,
            cutlass.BFloat16,
        )
        cute.copy(
            read_load_atom,
            read_load.partition_S(smem[None, None, 0]),
            held1,
        )
        turned = cute.make_tensor(
            held1.iterator,
            cute.make_layout(((2, 8), 2, 1), stride=((8, 1), 16, 0)),
        )
        held1 = cute.make_rmem_tensor(((2, 8), 2, 1), cutlass.BFloat16)
        cute.basic_copy(turned, held1)
        cute.copy(
            read_store_atom,
            held1,
            read_store.partition_D(dst_tiles[None, None, k]),
        )
        cute.arch.sync_threads()  # before the stage is written again


@cute.jit
def launch(src: cute.Tensor, dst: cute.Tensor, stream):
    src = cute.make_tensor(
        src.iterator,
        cute.make_layout(src.shape, stride=(1, cute.assume(src.stride[1], divby=8))),
    )
    dst = cute.make_tensor(
        dst.iterator,
        cute.make_layout(dst.shape, stride=(cute.assume(dst.stride[0], divby=8), 1)),
    )
    grid = (cute.ceil_div(cute.size(src, mode=[0]), TILE[0]), 1, 1)
    kernel(src, dst).launch(grid=grid, block=(THREADS, 1, 1), stream=stream)
