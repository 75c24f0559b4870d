"""A tiled Triton transpose, the peer that bench_transpose.py tunes at every size."""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, m, n, ldx, ldy, bm: tl.constexpr, bn: tl.constexpr, group: tl.constexpr):
    pid = tl.program_id(0)
    tiles_m, tiles_n = tl.cdiv(m, bm), tl.cdiv(n, bn)
    strip = pid // (group * tiles_n)
    height = min(tiles_m - strip * group, group)
    within = pid % (group * tiles_n)
    rows = (strip * group + within % height) * bm + tl.arange(0, bm)
    cols = (within // height) * bn + tl.arange(0, bn)
    in_m, in_n = rows < m, cols < n
    tile = tl.load(x + rows[:, None] * ldx + cols[None, :], mask=in_m[:, None] & in_n[None, :])
    tl.store(y + cols[:, None] * ldy + rows[None, :], tl.trans(tile), mask=in_n[:, None] & in_m[None, :])


def transpose(x: torch.Tensor, y: torch.Tensor, bm: int, bn: int, warps: int, group: int) -> None:
    m, n = x.shape
    grid = (triton.cdiv(m, bm) * triton.cdiv(n, bn),)
    kernel[grid](x, y, m, n, x.stride(0), y.stride(0), bm=bm, bn=bn, group=group, num_warps=warps)
