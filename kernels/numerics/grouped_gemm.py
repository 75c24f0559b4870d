"""A grouped GEMM: C_g = A_g B_g^T for a list of problems in one launch, f16 in, f32 sums, f16 out.

Every block takes one 128 x 64 tile of one problem, found in a table of first tiles. Four warps of 64 x 32,
three stages of `cp.async`, `ldmatrix` from swizzled shared memory, `mma.sync` m16n8k16. With `split` > 1 each
output's K is cut into that many runs, each summed from zero and added in f32: another order of the same sum.
"""

from __future__ import annotations

import cutlass
import cutlass.cute as cute
from cutlass import utils
from cutlass.cute.nvgpu import cpasync, warp

from layoutcheck.gpu.mma import pointer

TILE_M, TILE_N, TILE_K, STAGES, THREADS = 128, 64, 32, 3, 128
COLUMNS = 8  # of the problem table: addresses of A, B, C, then M, N, K, first tile, unused
_F16 = cutlass.Float16


def _smem_layout(rows: int):
    # Rows of 64 bytes: the four 16-byte units of a row are permuted by bits 1 and 2 of the row. The swizzle
    # goes onto the pointer, so it counts in bytes: S<2,4,3>.
    atom = cute.make_composed_layout(
        cute.make_swizzle(2, 4, 3), 0, cute.make_layout((8, TILE_K), stride=(TILE_K, 1))
    )
    return cute.tile_to_shape(atom, (rows, TILE_K, STAGES), order=(0, 1, 2))


@cute.kernel
def _kernel(table: cute.Pointer, problems: cutlass.Constexpr, split: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    rows = cute.make_tensor(table, cute.make_layout((problems, COLUMNS), stride=(COLUMNS, 1)))
    group = cutlass.Int32(0)
    for index in cutlass.range_constexpr(1, problems):
        if cutlass.Int64(block) >= rows[index, 6]:
            group = cutlass.Int32(index)
    n, k = cutlass.Int32(rows[group, 4]), cutlass.Int32(rows[group, 5])
    tile = block - cutlass.Int32(rows[group, 6])
    across = n // TILE_N
    row, column = (tile // across) * TILE_M, (tile % across) * TILE_N
    address_a, address_b, address_c = rows[group, 0], rows[group, 1], rows[group, 2]
    space = cute.AddressSpace.gmem
    ptr_a = cute.make_ptr(_F16, address_a, space, assumed_align=16)
    ptr_b = cute.make_ptr(_F16, address_b, space, assumed_align=16)
    ptr_c = cute.make_ptr(_F16, address_c, space, assumed_align=16)
    pitch = cute.assume(k, divby=TILE_K)
    ga = cute.make_tensor(
        ptr_a + row * pitch, cute.make_layout((TILE_M, TILE_K, k // TILE_K), stride=(pitch, 1, TILE_K))
    )
    gb = cute.make_tensor(
        ptr_b + column * pitch, cute.make_layout((TILE_N, TILE_K, k // TILE_K), stride=(pitch, 1, TILE_K))
    )
    gc = cute.make_tensor(
        ptr_c + cute.assume(row * n + column, divby=TILE_N),
        cute.make_layout((TILE_M, TILE_N), stride=(cute.assume(n, divby=TILE_N), 1)),
    )

    smem = utils.SmemAllocator()
    layout_a, layout_b = _smem_layout(TILE_M), _smem_layout(TILE_N)
    sa = smem.allocate_tensor(_F16, layout_a.outer, byte_alignment=128, swizzle=layout_a.inner)
    sb = smem.allocate_tensor(_F16, layout_b.outer, byte_alignment=128, swizzle=layout_b.inner)

    load = cute.make_copy_atom(cpasync.CopyG2SOp(), _F16, num_bits_per_copy=128)
    spread = cute.make_layout((THREADS // 4, 4), stride=(4, 1))
    into_smem = cute.make_tiled_copy_tv(load, spread, cute.make_layout((1, 8))).get_slice(thread)
    from_a, to_a = into_smem.partition_S(ga), into_smem.partition_D(sa)
    from_b, to_b = into_smem.partition_S(gb), into_smem.partition_D(sb)

    op = warp.MmaF16BF16Op(_F16, cutlass.Float32, (16, 8, 16))
    mma = cute.make_tiled_mma(op, cute.make_layout((2, 2, 1)), permutation_mnk=(32, 32, 16))
    mine = mma.get_slice(thread)
    ra = mma.make_fragment_A(mine.partition_A(sa[None, None, 0]))
    rb = mma.make_fragment_B(mine.partition_B(sb[None, None, 0]))
    tc = mine.partition_C(gc)
    accumulator, total = mma.make_fragment_C(tc), mma.make_fragment_C(tc)
    matrices = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), _F16)
    read_a, read_b = cute.make_tiled_copy_A(matrices, mma), cute.make_tiled_copy_B(matrices, mma)
    slice_a, slice_b = read_a.get_slice(thread), read_b.get_slice(thread)
    tsa, tra = slice_a.partition_S(sa), slice_a.retile(ra)
    tsb, trb = slice_b.partition_S(sb), slice_b.retile(rb)

    steps = k // TILE_K
    for stage in cutlass.range_constexpr(STAGES - 1):
        if stage < steps:
            cute.copy(into_smem, from_a[None, None, None, stage], to_a[None, None, None, stage])
            cute.copy(into_smem, from_b[None, None, None, stage], to_b[None, None, None, stage])
        cute.arch.cp_async_commit_group()
    accumulator.fill(0.0)
    total.fill(0.0)
    run = steps // split
    for step in cutlass.range(steps):
        cute.arch.cp_async_wait_group(STAGES - 2)
        cute.arch.sync_threads()
        stage, ahead = step % STAGES, step + STAGES - 1
        if ahead < steps:
            into = ahead % STAGES
            cute.copy(into_smem, from_a[None, None, None, ahead], to_a[None, None, None, into])
            cute.copy(into_smem, from_b[None, None, None, ahead], to_b[None, None, None, into])
        cute.arch.cp_async_commit_group()
        for part in cutlass.range_constexpr(TILE_K // 16):
            cute.copy(read_a, tsa[None, None, part, stage], tra[None, None, part])
            cute.copy(read_b, tsb[None, None, part, stage], trb[None, None, part])
            cute.gemm(mma, accumulator, ra[None, None, part], rb[None, None, part], accumulator)
        if cutlass.const_expr(split > 1):  # noqa: SIM102  decided when compiling; the inner one at run time
            if (step + 1) % run == 0:
                total.store(total.load() + accumulator.load())
                accumulator.fill(0.0)
    if cutlass.const_expr(split > 1):
        accumulator.store(total.load())
    halves = cute.make_fragment_like(accumulator, _F16)
    halves.store(accumulator.load().to(_F16))
    cute.autovec_copy(halves, tc)


@cute.jit
def _launch(
    table: cute.Pointer, blocks: cutlass.Int32, problems: cutlass.Constexpr, split: cutlass.Constexpr
):
    _kernel(table, problems, split).launch(grid=(blocks, 1, 1), block=(THREADS, 1, 1))


def compile_grouped(problems: int, split: int = 1):
    """The compiled launcher for that many problems: `run(table_address, blocks)`. Needs no GPU."""
    compiled = cute.compile(_launch, pointer(cutlass.Int64), 1, problems, split)

    def run(table: int, blocks: int) -> None:
        compiled(pointer(cutlass.Int64, table), blocks)

    run.compiled = compiled
    return run


def plan(
    shapes: list[tuple[int, int, int]], addresses: list[tuple[int, int, int]]
) -> tuple[list[list[int]], int]:
    """The problem table (one row a problem) and the number of blocks; M, N, K multiples of 128, 64, 32."""
    table, first = [], 0
    for (m, n, k), where in zip(shapes, addresses, strict=True):
        if m % TILE_M or n % TILE_N or k % TILE_K:
            raise ValueError(f"{m} x {n} x {k} is no multiple of {TILE_M} x {TILE_N} x {TILE_K}")
        table.append([*where, m, n, k, first, 0])
        first += (m // TILE_M) * (n // TILE_N)
    return table, first
