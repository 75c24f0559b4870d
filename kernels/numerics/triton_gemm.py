"""A GEMM in Triton for the tolerance runs: right in several ways, or wrong by one skipped block of k."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

TILE, BLOCK_K = 128, 64


@triton.jit
def _gemm(
    a, b, c, m, n, k, stride_am, stride_ak, stride_bk, stride_bn, blocks, skip,
    BACKWARDS: tl.constexpr, HALF: tl.constexpr, PROMOTE: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
    K: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    piece = tl.program_id(2)
    total = tl.zeros((M, N), dtype=tl.float16 if HALF else tl.float32)
    for step in range(blocks):
        at = piece * blocks + (blocks - 1 - step if BACKWARDS else step)
        ks = at * K + tl.arange(0, K)
        inside = (ks < k) & (at != skip)
        left = tl.load(
            a + rows[:, None] * stride_am + ks[None, :] * stride_ak, mask=inside[None, :], other=0.0
        )
        right = tl.load(
            b + ks[:, None] * stride_bk + columns[None, :] * stride_bn, mask=inside[:, None], other=0.0
        )
        if HALF:
            total = tl.dot(left, right, total, out_dtype=tl.float16)
        elif PROMOTE:
            total = total + tl.dot(left, right, max_num_imprecise_acc=0)
        else:
            total = tl.dot(left, right, total, input_precision="tf32")
    at = c + piece * m * n + rows[:, None] * n + columns[None, :]
    tl.store(at, total.to(tl.float32))


def gemm(
    a: torch.Tensor, b: torch.Tensor, split: int, backwards: bool, skip: int, half: bool, promote: int
) -> list[torch.Tensor]:
    """The pieces (f32, M x N) of a (M, K) times b (K, N) with K in `split` parts.

    `skip`: a block of 64 k that is left out. `promote`: each 128 k are summed from zero and added in f32.
    """
    (m, k), n = a.shape, b.shape[1]
    depth = promote or BLOCK_K
    if skip >= 0:
        depth = BLOCK_K
    blocks = triton.cdiv(k, depth * split)
    pieces = torch.full((split, m, n), float("nan"), dtype=torch.float32, device="cuda")
    grid = (triton.cdiv(m, TILE), triton.cdiv(n, TILE), split)
    _gemm[grid](
        a, b, pieces, m, n, k, *a.stride(), *b.stride(), blocks, skip, BACKWARDS=backwards, HALF=half,
        PROMOTE=bool(promote), M=TILE, N=TILE, K=depth,
    )  # fmt: skip
    return list(pieces)
