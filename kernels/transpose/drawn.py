"""The transposes that `layoutcheck.synthesize` draws: its kernels as they stand, a tile a thread block.

A drawn kernel walks along the tiles of its row. So each tile is made a row here: (N,M) is seen as
((tile_n,tiles),tile_m).
"""

from __future__ import annotations

from typing import NamedTuple

import cutlass
from cutlass import cute

from kernels.transpose import drawn_64x64, drawn_128x128
from kernels.transpose.common import Kernel, divisible, fake_args

MODULES = {(128, 128): drawn_128x128, (64, 64): drawn_64x64}


class Drawn(NamedTuple):
    """`tile`: elements of a thread block along (N, M), one of MODULES."""

    tile: tuple[int, int] = (128, 128)


STANDARD = Drawn()


@cute.jit
def tile_a_row(t: cute.Tensor, turned: cutlass.Constexpr, tile: cutlass.Constexpr) -> cute.Tensor:
    """(M,N):(ld,1), if `turned`, or (N,M):(ld,1) as ((tile_n,(tiles_m,tiles_n,items)),tile_m)."""
    n, m = (1, 0) if cutlass.const_expr(turned) else (0, 1)
    steps = (divisible(t.stride[0], 8), 1)
    items, apart = 1, divisible(cutlass.Int64(0), 8)
    if cutlass.const_expr(cute.rank(t) == 3):
        items, apart = t.shape[2], divisible(t.stride[2], 8)
    step_n, step_m = steps[n], steps[m]
    layout = cute.make_layout(
        ((tile[0], (t.shape[m] // tile[1], t.shape[n] // tile[0], items)), tile[1]),
        stride=((step_n, (tile[1] * step_m, tile[0] * step_n, apart)), step_m),
    )
    return cute.make_tensor(t.iterator, layout)


def build_drawn(plan: Drawn = STANDARD) -> Kernel:
    """M and N of whole tiles; both bases 16-byte aligned and both leading strides multiples of 8."""
    module = MODULES[plan.tile]

    @cute.jit
    def host(x: cute.Tensor, y: cute.Tensor, stream):
        xt, yt = tile_a_row(x, True, plan.tile), tile_a_row(y, False, plan.tile)
        module.kernel(xt, yt).launch(
            grid=(cute.size(xt, mode=[0]) // plan.tile[0], 1, 1),
            block=(module.THREADS, 1, 1),
            stream=stream,
        )

    return Kernel(host, fake_args())
