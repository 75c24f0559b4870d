"""NVIDIA/cutlass#2320 as programs: the copy that its reporter wrote, within a kernel.

The source is N-major, (N, K):(1, N), the tile in shared memory K-major, (128, 64):(64, 1). 256 threads hold 8
values along N each and copy 128 bits by `cp.async`, which cannot transpose. `COPIED` writes it to a K-major
result; `MULTIPLIED` reads it as the B operand of an MMA.
"""

from __future__ import annotations

COPIED = '''"""A matrix that is transposed on its way through shared memory."""

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import make_fake_tensor

ROWS, COLUMNS = 8192, 8192
TILE = (128, 64)


@cute.kernel
def kernel(
    src: cute.Tensor,
    dst: cute.Tensor,
    layout: cute.Layout,
    load: cute.TiledCopy,
    read: cute.TiledCopy,
    store: cute.TiledCopy,
):
    tid, _, _ = cute.arch.thread_idx()
    row, column, _ = cute.arch.block_idx()
    allocator = cutlass.memory.SmemAllocator()
    tile = allocator.allocate_tensor(cutlass.BFloat16, layout, byte_alignment=128)
    source = cute.local_tile(src, TILE, (row, column))
    own = load.get_slice(tid)
    cute.copy(load, own.partition_S(source), own.partition_D(tile))
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    reader, writer = read.get_slice(tid), store.get_slice(tid)
    target = writer.partition_D(cute.local_tile(dst, TILE, (row, column)))
    held = cute.make_fragment_like(target)
    cute.copy(read, reader.partition_S(tile), reader.retile(held))
    cute.copy(store, held, target)


@cute.jit
def host(src: cute.Tensor, dst: cute.Tensor):
    layout = cute.make_layout(TILE, stride=(64, 1))
    fast = cute.make_copy_atom(cpasync.CopyG2SOp(), cutlass.BFloat16, num_bits_per_copy=128)
    load = cute.make_tiled_copy_tv(
        fast, cute.make_layout((16, 16), stride=(16, 1)), cute.make_layout((8, 1))
    )
    rows = cute.make_layout((32, 8), stride=(8, 1))
    values = cute.make_layout((1, 8))
    shared = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.BFloat16, num_bits_per_copy=128)
    plain = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.BFloat16, num_bits_per_copy=128)
    read = cute.make_tiled_copy_tv(shared, rows, values)
    store = cute.make_tiled_copy_tv(plain, rows, values)
    grid = (ROWS // TILE[0], COLUMNS // TILE[1], 1)
    kernel(src, dst, layout, load, read, store).launch(grid=grid, block=(256, 1, 1))


def tensor(stride):
    return make_fake_tensor(cutlass.BFloat16, (ROWS, COLUMNS), stride=stride, assumed_align=16)


compiled = cute.compile(host, tensor((1, ROWS)), tensor((COLUMNS, 1)))
'''

MULTIPLIED = '''"""C = A B^T, B given N-major."""

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import cpasync, warp
from cutlass.cute.runtime import make_fake_tensor

M, N, K = 64, 8192, 8192
TILE_A, TILE_B, TILE_C = (64, 64), (128, 64), (64, 128)


@cute.kernel
def kernel(
    a: cute.Tensor,
    b: cute.Tensor,
    c: cute.Tensor,
    layout_a: cute.Layout,
    layout_b: cute.Layout,
    load_a: cute.TiledCopy,
    load_b: cute.TiledCopy,
    mma: cute.TiledMma,
):
    tid, _, _ = cute.arch.thread_idx()
    column, _, _ = cute.arch.block_idx()
    allocator = cutlass.memory.SmemAllocator()
    tile_a = allocator.allocate_tensor(cutlass.BFloat16, layout_a, byte_alignment=128)
    tile_b = allocator.allocate_tensor(cutlass.BFloat16, layout_b, byte_alignment=128)
    own_a, own_b, part = load_a.get_slice(tid), load_b.get_slice(tid), mma.get_slice(tid)
    held_a = mma.make_fragment_A(part.partition_A(tile_a))
    held_b = mma.make_fragment_B(part.partition_B(tile_b))
    result = cute.local_tile(c, TILE_C, (0, column))
    sums = mma.make_fragment_C(part.partition_C(result))
    sums.fill(0.0)
    atom_a = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), cutlass.BFloat16)
    atom_b = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), cutlass.BFloat16)
    read_a = cute.make_tiled_copy_A(atom_a, mma)
    read_b = cute.make_tiled_copy_B(atom_b, mma)
    rows_a = read_a.get_slice(tid).partition_S(tile_a)
    rows_b = read_b.get_slice(tid).partition_S(tile_b)
    into_a = read_a.get_slice(tid).retile(held_a)
    into_b = read_b.get_slice(tid).retile(held_b)
    for step in cutlass.range(K // 64):
        source_a = cute.local_tile(a, TILE_A, (0, step))
        source_b = cute.local_tile(b, TILE_B, (column, step))
        cute.copy(load_a, own_a.partition_S(source_a), own_a.partition_D(tile_a))
        cute.copy(load_b, own_b.partition_S(source_b), own_b.partition_D(tile_b))
        cute.arch.cp_async_commit_group()
        cute.arch.cp_async_wait_group(0)
        cute.arch.sync_threads()
        for k in cutlass.range_constexpr(cute.size(held_a, mode=[2])):
            cute.copy(read_a, rows_a[None, None, k], into_a[None, None, k])
            cute.copy(read_b, rows_b[None, None, k], into_b[None, None, k])
            cute.gemm(mma, sums, held_a[None, None, k], held_b[None, None, k], sums)
        cute.arch.sync_threads()
    plain = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32)
    cute.copy(plain, sums, part.partition_C(result))


@cute.jit
def host(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    layout_a = cute.make_layout(TILE_A, stride=(72, 1))
    layout_b = cute.make_layout(TILE_B, stride=(64, 1))
    plain = cute.make_copy_atom(cpasync.CopyG2SOp(), cutlass.BFloat16, num_bits_per_copy=128)
    fast = cute.make_copy_atom(cpasync.CopyG2SOp(), cutlass.BFloat16, num_bits_per_copy=128)
    load_a = cute.make_tiled_copy_tv(
        plain, cute.make_layout((32, 8), stride=(8, 1)), cute.make_layout((1, 8))
    )
    load_b = cute.make_tiled_copy_tv(
        fast, cute.make_layout((16, 16), stride=(16, 1)), cute.make_layout((8, 1))
    )
    operation = warp.MmaF16BF16Op(cutlass.BFloat16, cutlass.Float32, (16, 8, 16))
    mma = cute.make_tiled_mma(operation, cute.make_layout((2, 4, 1)), permutation_mnk=(32, 64, 16))
    kernel(a, b, c, layout_a, layout_b, load_a, load_b, mma).launch(
        grid=(N // 128, 1, 1), block=(256, 1, 1)
    )


def tensor(dtype, shape, stride):
    return make_fake_tensor(dtype, shape, stride=stride, assumed_align=16)


compiled = cute.compile(
    host,
    tensor(cutlass.BFloat16, (M, K), (K, 1)),
    tensor(cutlass.BFloat16, (N, K), (1, N)),
    tensor(cutlass.Float32, (M, N), (N, 1)),
)
'''
