"""The transpose without shared memory: each thread turns an 8x8 block of 16-bit elements in its registers.

Eight 16-byte loads of eight rows, 32 byte permutes, eight 16-byte stores of eight columns: between 32-bit
registers a transpose is only a renaming, so one permute is left for each pair of rows and pair of columns. No
barrier, no bank. The lanes of a warp lie `lanes` = (along N, along M): (8, 4) reads whole 128-byte lines and
writes halves of lines.
"""

from __future__ import annotations

from typing import NamedTuple

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import CacheEvictionPriority, CopyG2ROp, CopyR2GOp, StoreCacheMode

from kernels.transpose.common import (
    EVICT_FIRST,
    EVICT_LAST,
    Kernel,
    enter,
    fake_args,
    matrix_of,
    strips,
    transpose_view,
)

BLOCK = 8
"""Elements of a 16-byte access, if they have 16 bits."""

LOADS = {
    "plain": {},
    "no_allocate": {"l1c_evict_priority": CacheEvictionPriority.NO_ALLOCATE},
    "evict_last": {},
    "evict_last no_allocate": {"l1c_evict_priority": CacheEvictionPriority.NO_ALLOCATE},
}
"""Attributes of the loads; `evict_last` is an L2 policy, an operand of each."""

STORES = {
    "plain": {},
    "streaming": {"store_cache_mode": StoreCacheMode.STREAMING},
    "evict_first": {},
    "evict_last": {},
    "bulk": {},
}
"""Attributes of the stores; `evict_first` is an L2 policy, an operand of each. `bulk`: see exchange.py."""


class Plan(NamedTuple):
    """How the grid covers the matrix.

    `lanes` and `warps` (along N, along M) shape a thread block, `group` is the height of a strip in blocks
    (0: all of M), `load` and `store` name the cache hints.
    """

    lanes: tuple[int, int] = (8, 4)
    warps: tuple[int, int] = (2, 4)
    group: int = 0
    load: str = "plain"
    store: str = "plain"

    @property
    def tile(self) -> tuple[int, int]:
        """Elements of a thread block along (N, M)."""
        return BLOCK * self.lanes[0] * self.warps[0], BLOCK * self.lanes[1] * self.warps[1]

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 32 * self.warps[0] * self.warps[1]


DEFAULT = Plan()


@cute.kernel
def transpose_blocks(xt: cute.Tensor, yt: cute.Tensor, plan: cutlass.Constexpr, early: cutlass.Constexpr):
    """`xt` (N,M):(1,ldx), `yt` (M,N):(1,ldy), one 8x8 block a thread."""
    enter(early)
    xt, yt = matrix_of(xt), matrix_of(yt)
    tid, _, _ = cute.arch.thread_idx()
    bx, by, bz = cute.arch.block_idx()
    lane_n, lane_m, warp_n, warp_m = cute.idx2crd(tid, (*plan.lanes, *plan.warps))
    n_tile, m_tile = plan.tile
    n8 = by * (n_tile // BLOCK) + warp_n * plan.lanes[0] + lane_n
    m8 = (bx + bz * plan.group) * (m_tile // BLOCK) + warp_m * plan.lanes[1] + lane_m
    turn_block(xt, yt, n8, m8, plan.load, plan.store)


@cute.jit
def turn_block(
    xt: cute.Tensor,
    yt: cute.Tensor,
    n8: cutlass.Int32,
    m8: cutlass.Int32,
    load: cutlass.Constexpr,
    store: cutlass.Constexpr,
):
    """Block (n8, m8) through registers; at the edges, element by element."""
    n, m = xt.shape
    block = cutlass.const_expr(128 // xt.element_type.width)
    src = cute.local_tile(xt, (block, block), (n8, m8))
    dst = cute.local_tile(yt, (block, block), (m8, n8))
    n_left, m_left = n - block * n8, m - block * m8
    if n_left >= block and m_left >= block:
        store_wide(turned(src, load), dst, store)
    elif n_left > 0 and m_left > 0:
        for i in cutlass.range(min(n_left, block), unroll=1):
            for j in cutlass.range(min(m_left, block), unroll=1):
                dst[j, i] = src[i, j]


@cute.jit
def turned(src: cute.Tensor, load: cutlass.Constexpr) -> cute.Tensor:
    """`src` (8,8):(1,ld), read row by row into registers, as (8,8):(1,8) of its columns."""
    rows = cute.make_rmem_tensor(src.shape, src.element_type)
    load_wide(src, rows, load)
    return turned_registers(rows)


@cute.jit
def load_wide(src: cute.Tensor, dst: cute.Tensor, load: cutlass.Constexpr):
    """`src` to `dst`, 16 bytes an access."""
    read = cute.make_copy_atom(CopyG2ROp(), src.element_type, num_bits_per_copy=128, **LOADS[load])
    if cutlass.const_expr(load.startswith("evict_last")):
        cute.copy(read, src, dst, cache_policy=cutlass.Int64(EVICT_LAST))
    else:
        cute.copy(read, src, dst)


@cute.jit
def store_wide(src: cute.Tensor, dst: cute.Tensor, store: cutlass.Constexpr):
    """`src` to `dst`, 16 bytes an access."""
    write = cute.make_copy_atom(CopyR2GOp(), dst.element_type, num_bits_per_copy=128, **STORES[store])
    if cutlass.const_expr(store.startswith("evict")):
        policy = EVICT_FIRST if store == "evict_first" else EVICT_LAST
        cute.copy(write, src, dst, cache_policy=cutlass.Int64(policy))
    else:
        cute.copy(write, src, dst)


@cute.jit
def turned_registers(rows: cute.Tensor) -> cute.Tensor:
    """The columns of an 8x8 block whose rows are given: 32 byte permutes."""
    columns = cute.make_rmem_tensor(rows.shape, rows.element_type)
    for i in cutlass.range_constexpr(cute.size(rows, mode=[0])):
        for j in cutlass.range_constexpr(cute.size(rows, mode=[1])):
            columns[j, i] = rows[i, j]
    return columns


def build_registers(plan: Plan = DEFAULT, early: int = 0) -> Kernel:
    """Any M and N; both bases 16-byte aligned and both leading strides multiples of 8."""

    @cute.jit
    def host(x: cute.Tensor, y: cute.Tensor, stream):
        xt, yt = transpose_view(x), transpose_view(y)
        grid = strips(xt, plan.tile, plan.group)
        transpose_blocks(xt, yt, plan, early).launch(
            grid=grid, block=(plan.threads, 1, 1), stream=stream, use_pdl=early > 0
        )

    return Kernel(host, fake_args())
