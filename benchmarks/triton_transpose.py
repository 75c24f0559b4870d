"""A tiled Triton transpose, the peer that bench_transpose.py tunes at every size."""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, m, n, ldx, ldy, BM: tl.constexpr, BN: tl.constexpr, GROUP: tl.constexpr):
    pid = tl.program_id(0)
    tiles_m, tiles_n = tl.cdiv(m, BM), tl.cdiv(n, BN)
    strip = pid // (GROUP * tiles_n)
    height = min(tiles_m - strip * GROUP, GROUP)
    within = pid % (GROUP * tiles_n)
    rows = (strip * GROUP + within % height) * BM + tl.arange(0, BM)
    cols = (within // height) * BN + tl.arange(0, BN)
    inside_m, inside_n = rows < m, cols < n
    tile = tl.load(x + rows[:, None] * ldx + cols[None, :], mask=inside_m[:, None] & inside_n[None, :])
    tl.store(
        y + cols[:, None] * ldy + rows[None, :], tl.trans(tile), mask=inside_n[:, None] & inside_m[None, :]
    )


def transpose(x: torch.Tensor, y: torch.Tensor, bm: int, bn: int, warps: int, group: int) -> None:
    m, n = x.shape
    grid = (triton.cdiv(m, bm) * triton.cdiv(n, bn),)
    kernel[grid](x, y, m, n, x.stride(0), y.stride(0), BM=bm, BN=bn, GROUP=group, num_warps=warps)
