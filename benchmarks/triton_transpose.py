"""A tiled Triton transpose, the peer that bench_transpose.py tunes at every size."""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, m, n, ldx, ldy, apart_x, apart_y, bm: tl.constexpr, bn: tl.constexpr, group: tl.constexpr):
    pid = tl.program_id(0)
    x += tl.program_id(1).to(tl.int64) * apart_x
    y += tl.program_id(1).to(tl.int64) * apart_y
    tiles_m, tiles_n = tl.cdiv(m, bm), tl.cdiv(n, bn)
    strip = pid // (group * tiles_n)
    height = min(tiles_m - strip * group, group)
    within = pid % (group * tiles_n)
    rows = (strip * group + within % height) * bm + tl.arange(0, bm)
    cols = (within // height) * bn + tl.arange(0, bn)
    in_m, in_n = rows < m, cols < n
    tile = tl.load(x + rows[:, None] * ldx + cols[None, :], mask=in_m[:, None] & in_n[None, :])
    tl.store(y + cols[:, None] * ldy + rows[None, :], tl.trans(tile), mask=in_n[:, None] & in_m[None, :])


def arguments(x: torch.Tensor, y: torch.Tensor) -> tuple[object, ...]:
    """What the kernel takes for (M,N) or (batch,M,N) and its transpose."""
    apart = (x.stride(0), y.stride(0)) if x.dim() == 3 else (0, 0)
    return (x, y, x.shape[-2], x.shape[-1], x.stride(-2), y.stride(-2), *apart)


def transpose(x: torch.Tensor, y: torch.Tensor, bm: int, bn: int, warps: int, group: int) -> None:
    m, n = x.shape[-2:]
    grid = (triton.cdiv(m, bm) * triton.cdiv(n, bn), x.shape[0] if x.dim() == 3 else 1)
    kernel[grid](*arguments(x, y), bm=bm, bn=bn, group=group, num_warps=warps)


def warm(base: torch.Tensor, numbers: tuple[int, ...], tiling: tuple[int, int, int, int]) -> None:
    """Compile for tensors aligned as `base`, and M, N, pitches and distances `numbers`."""
    bm, bn, warps, group = tiling
    kernel.warmup(base, base, *numbers, bm=bm, bn=bn, group=group, num_warps=warps, grid=(1,))
