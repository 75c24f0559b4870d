"""The transpose of small matrices: vectors both ways, a few elements a thread, no shared memory, no barrier.

Where the whole matrix is a few microseconds' work, the time is one trip to memory and back, and whatever is
done in between adds to it: a thread loads a vector from each of a few rows and stores the columns.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import CopyUniversalOp

from kernels.transpose.common import (
    GRID_Y,
    Kernel,
    fake_args,
    let_others_start,
    matrices,
    matrix_of,
    short_view,
    wait_at,
)
from kernels.transpose.fitting import CHUNK_BYTES, SMALL, in_rows, in_vectors


class Blocks(NamedTuple):
    """All along (N, M): elements of a `block` of a thread, `lanes` of a warp, `warps` of a thread block."""

    block: tuple[int, int]
    lanes: tuple[int, int] = (8, 4)
    warps: tuple[int, int] = (1, 1)

    @property
    def tile(self) -> tuple[int, int]:
        """Elements of a thread block along (N, M)."""
        n, m = map(prod, zip(self.block, self.lanes, self.warps, strict=True))
        return n, m

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 32 * self.warps[0] * self.warps[1]

    def fits(self, x: Any, y: Any) -> bool:
        """Whether the kernel takes these two."""
        if not in_rows(x, y) or max(self.block) * x.element_size() > CHUNK_BYTES:
            return False
        vectors = in_vectors(x, self.block[0]) and in_vectors(y, self.block[1])
        short = x.stride(-2) * x.shape[-2] < 2**31 > y.stride(-2) * y.shape[-2]
        return vectors and short and x.shape[-1] <= GRID_Y * self.tile[0] and x.numel() <= SMALL


@cute.kernel
def transpose_vectors(xt: cute.Tensor, yt: cute.Tensor, plan: cutlass.Constexpr, early: cutlass.Constexpr):
    """`xt` (N,M):(1,ldx), `yt` (M,N):(1,ldy), both of whole blocks."""
    let_others_start(early)
    xt, yt = matrix_of(xt), matrix_of(yt)
    tid, _, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    size_n, size_m = plan.block
    lane_n, lane_m, warp_n, warp_m = cute.idx2crd(tid, (*plan.lanes, *plan.warps))
    n1 = by * (plan.tile[0] // size_n) + warp_n * plan.lanes[0] + lane_n
    m1 = bx * (plan.tile[1] // size_m) + warp_m * plan.lanes[1] + lane_m
    n, m = xt.shape
    if n1 * size_n < n and m1 * size_m < m:
        dtype = xt.element_type
        read = cute.make_copy_atom(CopyUniversalOp(), dtype, num_bits_per_copy=size_n * dtype.width)
        write = cute.make_copy_atom(CopyUniversalOp(), dtype, num_bits_per_copy=size_m * dtype.width)
        rows = cute.make_rmem_tensor((size_n, size_m), dtype)
        columns = cute.make_rmem_tensor((size_m, size_n), dtype)
        source = cute.local_tile(xt, plan.block, (n1, m1))
        wait_at(early, source.iterator.toint())
        cute.copy(read, source, rows)
        for i in cutlass.range_constexpr(size_n):
            for j in cutlass.range_constexpr(size_m):
                columns[j, i] = rows[i, j]
        cute.copy(write, columns, cute.local_tile(yt, (size_m, size_n), (m1, n1)))


def build_blocks(plan: Blocks, early: int = 0) -> Kernel:
    """M and N of whole blocks, less than 2**31 elements from a matrix's first to its last.

    Both bases are 16-byte aligned and the leading strides multiples of the vectors.
    """

    @cute.jit
    def host(x: cute.Tensor, y: cute.Tensor, stream):
        xt, yt = short_view(x, plan.block[0]), short_view(y, plan.block[1])
        n, m = xt.shape[0], xt.shape[1]
        tile_n, tile_m = plan.tile
        grid = ((m + tile_m - 1) // tile_m, (n + tile_n - 1) // tile_n, matrices(x, y)[0])
        transpose_vectors(xt, yt, plan, early).launch(
            grid=grid, block=(plan.threads, 1, 1), stream=stream, use_pdl=early > 0
        )

    return Kernel(host, fake_args())
