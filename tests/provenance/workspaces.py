"""Tiles that are kept as flat regions of tensors with dynamic extents, and a tile that is stored wrongly."""

import cutlass
import cutlass.cute as cute
from cutlass import Float16, Float32
from cutlass.cute.nvgpu import warp

ROWS, COLUMNS, DEPTH, THREADS = 16, 256, 16, 32
TILE = 64


@cute.kernel
def product(mma: cute.TiledMma, a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, striped: cutlass.Constexpr):
    tidx, _, _ = cute.arch.thread_idx()
    thread = mma.get_slice(tidx)
    mine_a = thread.partition_A(cute.local_tile(a, (ROWS, DEPTH), (0, 0)))
    mine_b = thread.partition_B(cute.local_tile(b, (COLUMNS, DEPTH), (0, 0)))
    fragment_a, fragment_b = mma.make_fragment_A(mine_a), mma.make_fragment_B(mine_b)
    cute.autovec_copy(mine_a, fragment_a)
    cute.autovec_copy(mine_b, fragment_b)
    mine = thread.partition_C(cute.make_identity_tensor((ROWS, COLUMNS)))
    total = cute.make_rmem_tensor(mine.shape, Float32)
    total.fill(0.0)
    cute.gemm(mma, total, fragment_a, fragment_b, total)
    for i in cutlass.range_constexpr(cute.size(total)):
        if cutlass.const_expr(striped):  # one stripe after the other, for whoever has the same fragments
            c[tidx + THREADS * i, 0] = total[i]
        else:
            m, n = mine[i]
            c[m, n ^ 1] = total[i]


@cute.jit
def products(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, striped: cutlass.Constexpr):
    mma = cute.make_tiled_mma(warp.MmaF16BF16Op(Float16, Float32, (16, 8, 16)))
    product(mma, a, b, c, striped).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


@cute.kernel
def packed(source: cute.Tensor, target: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    layout = cute.make_layout((TILE, TILE), stride=(TILE, 1))
    shared = cutlass.utils.SmemAllocator().allocate_tensor(Float16, layout, 128, cute.make_swizzle(3, 3, 3))
    tile = cute.local_tile(source, (TILE, TILE), (0, 0))
    for i in cutlass.range_constexpr(TILE):
        shared[i, tidx] = tile[i, tidx]
    cute.arch.sync_threads()
    for i in cutlass.range_constexpr(TILE):  # blocks of 8 x 8, one after the other
        row, column = i % 8 + 8 * (tidx // 8), i // 8 * 8 + tidx % 8
        target[column % 8 + 8 * (row % 8) + 64 * (column // 8) + 512 * (row // 8), 0] = shared[row, column]


@cute.jit
def packs(source: cute.Tensor, target: cute.Tensor):
    packed(source, target).launch(grid=(1, 1, 1), block=(TILE, 1, 1))


def dynamic(kind: type, leading: int) -> cute.Tensor:
    """A matrix of any size, contiguous along one mode."""
    shape = cute.sym_int(divisibility=8), cute.sym_int(divisibility=8)
    return cute.runtime.make_fake_compact_tensor(
        kind, shape, stride_order=(leading, 1 - leading), assumed_align=16
    )


if __name__ == "__main__":
    operands = dynamic(Float16, 1), dynamic(Float16, 1)
    cute.compile(products, *operands, dynamic(Float32, 0), True)
    cute.compile(products, *operands, dynamic(Float32, 1), False)
    cute.compile(packs, dynamic(Float16, 1), dynamic(Float16, 0))
