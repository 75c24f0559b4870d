"""The transpose of one row or one column: a copy, as `y` then holds the elements of `x` in their order."""

from __future__ import annotations

from typing import NamedTuple

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import CopyUniversalOp

from kernels.transpose.common import Kernel, enter, fake_args
from kernels.transpose.shifted import CHUNK, aligned


class Flat(NamedTuple):
    """`each`: 16-byte chunks of a thread, a block's width apart; `threads` of a block."""

    each: int = 1
    threads: int = 256


STANDARD = Flat()


@cute.kernel
def copy_chunks(
    x: cute.Tensor,
    y: cute.Tensor,
    total: cutlass.Int32,
    plan: cutlass.Constexpr,
    early: cutlass.Constexpr,
):
    """`x` and `y` (8,chunks):(1,8), aligned, of `total` elements."""
    enter(early)
    tid, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    first = block * plan.each * plan.threads + tid
    wide = cute.make_copy_atom(CopyUniversalOp(), x.element_type, num_bits_per_copy=128)
    held = cute.make_rmem_tensor((CHUNK, plan.each), x.element_type)
    for i in cutlass.range_constexpr(plan.each):
        if CHUNK * (first + i * plan.threads + 1) <= total:
            cute.copy(wide, x[None, first + i * plan.threads], held[None, i])
    for i in cutlass.range_constexpr(plan.each):
        chunk = first + i * plan.threads
        if CHUNK * (chunk + 1) <= total:
            cute.copy(wide, held[None, i], y[None, chunk])
        elif CHUNK * chunk < total:
            for j in cutlass.range(total - CHUNK * chunk, unroll=1):
                y[j, chunk] = x[j, chunk]


def build_flat(plan: Flat = STANDARD, early: bool = False) -> Kernel:
    """One row or one column a matrix, and neither tensor has gaps; both bases 16-byte aligned."""

    @cute.jit
    def host(x: cute.Tensor, y: cute.Tensor, stream):
        chunks = aligned(x, cutlass.Int64(0), CHUNK)
        blocks = (cute.size(chunks, mode=[1]) + plan.each * plan.threads - 1) // (plan.each * plan.threads)
        copy_chunks(chunks, aligned(y, cutlass.Int64(0), CHUNK), cute.size(x), plan, early).launch(
            grid=(blocks, 1, 1), block=(plan.threads, 1, 1), stream=stream, use_pdl=early
        )

    return Kernel(host, fake_args())
