"""The transpose for rows no vector fits: any strides and alignment, one element an access, coalesced."""

from __future__ import annotations

from typing import Any, NamedTuple

import cutlass
from cutlass import cute

from kernels.transpose.common import (
    GRID_Y,
    Kernel,
    enter,
    fake_args,
    fetch_ends,
    fetch_line,
    let_others_start,
    matrix_of,
    short_view,
    strips,
    wait_at,
    worked_out,
)
from kernels.transpose.fitting import SMALL, in_rows, span

LANES = 32


class Narrow(NamedTuple):
    """`tile`: elements of a block along N and along M; `warps` of the block; `group`: see `strips`."""

    tile: tuple[int, int] = (64, 128)
    warps: int = 8
    group: int = 0

    def fits(self, x: Any, y: Any) -> bool:
        """Whether the kernel takes these two."""
        return True


STANDARD = Narrow()


class Small(NamedTuple):
    """The same for matrices of less than 2**31 elements from first to last, rows of both contiguous.

    `tile` and `warps` are small: such a matrix is a few microseconds' work, and many blocks begin at once. A
    block has two threads or more for each row of `x`.
    """

    tile: tuple[int, int] = (32, 32)
    warps: int = 8

    def fits(self, x: Any, y: Any) -> bool:
        """Whether the kernel takes these two."""
        items = x.shape[0] if x.dim() == 3 else 1
        one = items == 1 or y.stride(0) == y.shape[1] * y.stride(1)
        short = items * x.shape[-1] <= GRID_Y * self.tile[0] and span(x) < 2**31 > span(y)
        return in_rows(x, y) and one and short and x.numel() <= 4 * SMALL


def spare(dtype) -> int:
    """Elements from row to row of shared memory beyond those of a row: a bank's, or one."""
    return max(32 // dtype.width, 1)


@cute.kernel
def transpose_elements(xt: cute.Tensor, y: cute.Tensor, plan: cutlass.Constexpr, early: cutlass.Constexpr):
    """`xt` and `y` (N,M), any strides: lanes run along N for the loads and along M for the stores.

    A pitch of an odd number of banks keeps both directions through shared memory free of conflicts.
    """
    enter(early)
    xt, y = matrix_of(xt), matrix_of(y)
    tile_n, tile_m = plan.tile
    tid, _, _ = cute.arch.thread_idx()
    bx, by, bz = cute.arch.block_idx()
    lane, warp = tid % LANES, tid // LANES
    n0, m0 = tile_n * by, tile_m * (bx + bz * plan.group)
    n, m = xt.shape
    dtype = xt.element_type
    layout = cute.make_layout(plan.tile, stride=(1, tile_n + spare(dtype)))
    smem = cutlass.memory.SmemAllocator().allocate_tensor(dtype, layout, byte_alignment=16)
    registers = cute.make_rmem_tensor((tile_m // plan.warps, tile_n // LANES), dtype)
    for i in cutlass.range_constexpr(tile_m // plan.warps):
        for j in cutlass.range_constexpr(tile_n // LANES):
            n1, m1 = lane + LANES * j, warp + plan.warps * i
            if n0 + n1 < n and m0 + m1 < m:
                registers[i, j] = xt[n0 + n1, m0 + m1]
    for i in cutlass.range_constexpr(tile_m // plan.warps):
        for j in cutlass.range_constexpr(tile_n // LANES):
            smem[lane + LANES * j, warp + plan.warps * i] = registers[i, j]
    cute.arch.sync_threads()
    for i in cutlass.range_constexpr(tile_n // plan.warps):
        for j in cutlass.range_constexpr(tile_m // LANES):
            n1, m1 = warp + plan.warps * i, lane + LANES * j
            if n0 + n1 < n and m0 + m1 < m:
                y[n0 + n1, m0 + m1] = smem[n1, m1]


def build_narrow(plan: Narrow = STANDARD, early: int = 0) -> Kernel:
    """Any M and N, any strides of either tensor."""

    @cute.jit
    def host(x: cute.Tensor, y: cute.Tensor, stream):
        xt = cute.make_tensor(x.iterator, cute.select(x.layout, mode=[1, 0, 2][: cute.rank(x)]))
        grid = strips(xt, plan.tile, plan.group)
        transpose_elements(xt, y, plan, early).launch(
            grid=grid, block=(LANES * plan.warps, 1, 1), stream=stream, use_pdl=early > 0
        )

    return Kernel(host, fake_args(align_bytes=2))


@cute.kernel
def transpose_small(xt: cute.Tensor, y: cute.Tensor, plan: cutlass.Constexpr, early: cutlass.Constexpr):
    """As `transpose_elements`, without branches: past an edge, a load takes the element at the edge.

    A batch is one matrix: `xt` ((N,batch),M), `y` (N*batch,M).
    """
    let_others_start(early)
    tile_n, tile_m = plan.tile
    tid, _, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    lane, warp = tid % LANES, tid // LANES
    n0, m0 = tile_n * by, tile_m * bx
    n, m = y.shape
    dtype = xt.element_type
    layout = cute.make_layout(plan.tile, stride=(1, tile_n + spare(dtype)))
    smem = cutlass.memory.SmemAllocator().allocate_tensor(dtype, layout, byte_alignment=16)
    if cutlass.const_expr(early > 0):
        # What the rows of the tile begin and end in comes to the L2.
        row = m0 + (tid >> 1)
        if row < min(m, m0 + tile_m):
            end = min(n0 + (tid & 1) * (tile_n - 1), n - 1)
            fetch_line(xt, cutlass.Int64(cute.crd2idx((end, row), xt.layout)))
    sources = worked_out(sources_of(xt, (n0, m0), (n, m), plan))
    wait_at(early, sources[0])
    loaded = cute.make_rmem_tensor((tile_m // plan.warps, tile_n // LANES), dtype)
    stored = cute.make_rmem_tensor((tile_n // plan.warps, tile_m // LANES), dtype)
    flat_x, flat_y = (cute.make_tensor(t.iterator, cute.make_layout(1 << 30)) for t in (xt, y))
    for k in cutlass.range_constexpr(len(sources)):
        loaded[k] = flat_x[sources[k]]
    if m0 + tile_m >= m and cutlass.Int32(y.stride[0]) != m:
        pitch = cutlass.Int64(y.stride[0])
        fetch_ends(y, n0 * pitch, pitch, min(n - n0, tile_n), cutlass.Int32(m))
    targets = worked_out(targets_of(y, (n0, m0), (n, m), plan))  # while the loads are on their way
    for i in cutlass.range_constexpr(tile_m // plan.warps):
        for j in cutlass.range_constexpr(tile_n // LANES):
            smem[lane + LANES * j, warp + plan.warps * i] = loaded[i, j]
    cute.arch.sync_threads()
    for i in cutlass.range_constexpr(tile_n // plan.warps):
        for j in cutlass.range_constexpr(tile_m // LANES):
            stored[i, j] = smem[warp + plan.warps * i, lane + LANES * j]
    for k in cutlass.range_constexpr(len(targets)):
        if targets[k] >= 0:
            flat_y[targets[k]] = stored[k]


def sources_of(xt, tile, shape, plan: Small):
    """Where the elements lie that a thread loads."""
    tid, _, _ = cute.arch.thread_idx()
    n1, m1 = tile[0] + tid % LANES, tile[1] + tid // LANES
    return [
        cute.crd2idx(
            (
                cutlass.min(n1 + LANES * j, shape[0] - 1),
                cutlass.min(m1 + plan.warps * i, shape[1] - 1),
            ),
            xt.layout,
        )
        for j in range(plan.tile[0] // LANES)
        for i in range(plan.tile[1] // plan.warps)
    ]


def targets_of(y, tile, shape, plan: Small):
    """Where the elements go that a thread stores; -1 for those that are outside."""
    tid, _, _ = cute.arch.thread_idx()
    n1, m1 = tile[0] + tid // LANES, tile[1] + tid % LANES
    return [
        cutlass.select_(
            cutlass.Boolean(n1 + plan.warps * i < shape[0]) & cutlass.Boolean(m1 + LANES * j < shape[1]),
            cute.crd2idx((n1 + plan.warps * i, m1 + LANES * j), y.layout),
            -1,
        )
        for j in range(plan.tile[1] // LANES)
        for i in range(plan.tile[0] // plan.warps)
    ]


def build_small(plan: Small, early: int = 0) -> Kernel:
    """Any M and N, pitches and bases; rows of `x` and `y` contiguous, less than 2**31 elements in all.

    The matrices of a batch of `y` follow one another.
    """

    @cute.jit
    def host(x: cute.Tensor, y: cute.Tensor, stream):
        xt, yt = short_view(x, 1), short_view(y, 1)
        layout, shape = xt.layout, (yt.shape[1], yt.shape[0])
        if cutlass.const_expr(cute.rank(x) == 3):
            n, m, items = xt.shape
            apart = cutlass.Int32(x.stride[2])
            layout = cute.make_layout(((n, items), m), stride=((1, apart), xt.stride[1]))
            shape = (n * items, m)
        xt = cute.make_tensor(xt.iterator, layout)
        y = cute.make_tensor(y.iterator, cute.make_layout(shape, stride=(yt.stride[1], 1)))
        tile_n, tile_m = plan.tile
        grid = ((shape[1] + tile_m - 1) // tile_m, (shape[0] + tile_n - 1) // tile_n, 1)
        transpose_small(xt, y, plan, early).launch(
            grid=grid, block=(LANES * plan.warps, 1, 1), stream=stream, use_pdl=early > 0
        )

    return Kernel(host, fake_args(align_bytes=2))
