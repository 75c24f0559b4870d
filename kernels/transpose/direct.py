"""The transpose of a tiny or thin matrix: no shared memory and no barrier, one 2-byte element an access.

Where the whole matrix is a few microseconds' work, the time is one trip to memory and back, and whatever is
done in between adds to it. Lanes lie along M, so that the stores of a warp are next to one another.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import cutlass
from cutlass import cute

from kernels.transpose.common import GRID_Y, Kernel, fake_args, let_others_start, matrices, matrix_of, wait_at
from kernels.transpose.fitting import SMALL
from kernels.transpose.narrow import LANES


class Direct(NamedTuple):
    """`each`: elements of a thread, along N; `warps` of a block."""

    each: int = 4
    warps: int = 4

    def fits(self, x: Any, y: Any) -> bool:
        """Whether the kernel takes these two."""
        # Its lanes lie along the columns of `x`, or along its rows.
        rows = y.stride(-1) == 1 in (x.stride(-1), x.stride(-2))
        return rows and x.numel() <= SMALL and x.shape[-1] <= GRID_Y * self.each * self.warps


@cute.kernel
def transpose_singly(xt: cute.Tensor, y: cute.Tensor, plan: cutlass.Constexpr, early: cutlass.Constexpr):
    """`xt` and `y` (N,M), any strides; warps lie along N."""
    let_others_start(early)
    xt, y = matrix_of(xt), matrix_of(y)
    tid, _, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    lane, warp = tid % LANES, tid // LANES
    n, m = xt.shape
    n0, m0 = plan.each * (plan.warps * by + warp), LANES * bx + lane
    registers = cute.make_rmem_tensor((plan.each,), xt.element_type)
    wait_at(early, cute.crd2idx((n0, m0), xt.layout))
    for i in cutlass.range_constexpr(plan.each):
        if n0 + i < n and m0 < m:
            registers[i] = xt[n0 + i, m0]
    for i in cutlass.range_constexpr(plan.each):
        if n0 + i < n and m0 < m:
            y[n0 + i, m0] = registers[i]


def build_direct(plan: Direct, early: int = 0) -> Kernel:
    """Any M and N, any strides; at most 65535 * each * warps columns."""

    @cute.jit
    def host(x: cute.Tensor, y: cute.Tensor, stream):
        xt = cute.make_tensor(x.iterator, cute.select(x.layout, mode=[1, 0, 2][: cute.rank(x)]))
        n, m = xt.shape[0], xt.shape[1]
        items, _ = matrices(x, y)
        of_block = plan.each * plan.warps
        grid = ((m + LANES - 1) // LANES, (n + of_block - 1) // of_block, items)
        transpose_singly(xt, y, plan, early).launch(
            grid=grid, block=(LANES * plan.warps, 1, 1), stream=stream, use_pdl=early > 0
        )

    return Kernel(host, fake_args(align_bytes=2))
