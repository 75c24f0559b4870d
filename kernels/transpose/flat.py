"""The transpose where `y` holds the elements of `x` in their order, as of one row or one column: a copy."""

from __future__ import annotations

from typing import Any, NamedTuple

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import CopyUniversalOp

from kernels.transpose.common import Kernel, enter, fake_args
from kernels.transpose.fitting import CHUNK_BYTES, same_order, without_gaps


class Flat(NamedTuple):
    """`each`: 16-byte chunks of a thread, a block's width apart; `threads` of a block."""

    each: int = 1
    threads: int = 256

    def fits(self, x: Any, y: Any) -> bool:
        """Whether the kernel takes these two."""
        bases = x.data_ptr() % CHUNK_BYTES == 0 == y.data_ptr() % CHUNK_BYTES
        return bases and x.numel() < 2**31 and without_gaps(y) and same_order(x)


STANDARD = Flat()


@cute.kernel
def copy_chunks(
    x: cute.Tensor,
    y: cute.Tensor,
    total: cutlass.Int32,
    plan: cutlass.Constexpr,
    early: cutlass.Constexpr,
):
    """`x` and `y` (chunk,chunks):(1,chunk), aligned, of `total` elements."""
    enter(early)
    size = cutlass.const_expr(cute.size(x, mode=[0]))
    tid, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    first = block * plan.each * plan.threads + tid
    wide = cute.make_copy_atom(CopyUniversalOp(), x.element_type, num_bits_per_copy=128)
    held = cute.make_rmem_tensor((size, plan.each), x.element_type)
    for i in cutlass.range_constexpr(plan.each):
        if size * (first + i * plan.threads + 1) <= total:
            cute.copy(wide, x[None, first + i * plan.threads], held[None, i])
    for i in cutlass.range_constexpr(plan.each):
        chunk = first + i * plan.threads
        if size * (chunk + 1) <= total:
            cute.copy(wide, held[None, i], y[None, chunk])
        elif size * chunk < total:
            for j in cutlass.range(total - size * chunk, unroll=1):
                y[j, chunk] = x[j, chunk]


@cute.jit
def in_order(t: cute.Tensor) -> cute.Tensor:
    """The elements of `t` as they lie in memory, in 16-byte chunks."""
    chunk = cutlass.const_expr(128 // t.element_type.width)
    chunks = (cute.size(t) + chunk - 1) // chunk
    base = cute.make_ptr(t.element_type, t.iterator.toint(), cute.AddressSpace.gmem, assumed_align=16)
    return cute.make_tensor(base, cute.make_layout((chunk, chunks), stride=(1, chunk)))


def build_flat(plan: Flat = STANDARD, early: int = 0) -> Kernel:
    """Neither tensor has gaps; both bases 16-byte aligned."""

    @cute.jit
    def host(x: cute.Tensor, y: cute.Tensor, stream):
        chunks = in_order(x)
        blocks = (cute.size(chunks, mode=[1]) + plan.each * plan.threads - 1) // (plan.each * plan.threads)
        copy_chunks(chunks, in_order(y), cute.size(x), plan, early).launch(
            grid=(blocks, 1, 1), block=(plan.threads, 1, 1), stream=stream, use_pdl=early > 0
        )

    return Kernel(host, fake_args())
