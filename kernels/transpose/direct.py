"""The transpose of a tiny or thin matrix: no shared memory and no barrier, one 2-byte element an access.

Where the whole matrix is a few microseconds' work, the time is one trip to memory and back, and whatever is
done in between adds to it. Lanes lie along M, so that the stores of a warp are next to one another, or along
N, and then the loads are.
"""

from __future__ import annotations

from typing import NamedTuple

import cutlass
from cutlass import cute

from kernels.transpose.common import Kernel, enter, fake_args, matrices, matrix_of
from kernels.transpose.narrow import LANES


class Direct(NamedTuple):
    """`along`: the extent that the lanes lie along, "m" or "n"; `each`: elements of a thread, along N."""

    along: str
    each: int = 4
    warps: int = 4


@cute.kernel
def transpose_singly(xt: cute.Tensor, y: cute.Tensor, plan: cutlass.Constexpr, early: cutlass.Constexpr):
    """`xt` and `y` (N,M), any strides; warps lie along N."""
    enter(early)
    xt, y = matrix_of(xt), matrix_of(y)
    tid, _, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    lane, warp = tid % LANES, tid // LANES
    n, m = xt.shape
    if cutlass.const_expr(plan.along == "m"):
        n0, m0, step = plan.each * (plan.warps * by + warp), LANES * bx + lane, 1
    else:
        n0, m0, step = plan.each * LANES * (plan.warps * bx + warp) + lane, by, LANES
    registers = cute.make_rmem_tensor((plan.each,), xt.element_type)
    for i in cutlass.range_constexpr(plan.each):
        if n0 + i * step < n and m0 < m:
            registers[i] = xt[n0 + i * step, m0]
    for i in cutlass.range_constexpr(plan.each):
        if n0 + i * step < n and m0 < m:
            y[n0 + i * step, m0] = registers[i]


def build_direct(plan: Direct, early: bool = False) -> Kernel:
    """Any M and N, any strides; at most 65535 * each * warps columns, or 65535 rows if lanes lie along N."""

    @cute.jit
    def host(x: cute.Tensor, y: cute.Tensor, stream):
        xt = cute.make_tensor(x.iterator, cute.select(x.layout, mode=[1, 0, 2][: cute.rank(x)]))
        n, m = xt.shape[0], xt.shape[1]
        items, _ = matrices(x, y)
        of_block = plan.each * plan.warps
        grid = ((m + LANES - 1) // LANES, (n + of_block - 1) // of_block, items)
        if cutlass.const_expr(plan.along == "n"):
            grid = ((n + LANES * of_block - 1) // (LANES * of_block), m, items)
        transpose_singly(xt, y, plan, early).launch(
            grid=grid, block=(LANES * plan.warps, 1, 1), stream=stream, use_pdl=early
        )

    return Kernel(host, fake_args(align_bytes=2))
