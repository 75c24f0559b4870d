"""The transpose of up to 8 rows or 16 columns, in registers: a thread turns a vector of each of them.

The side without gaps is then as many vectors as there are rows or columns, one after the other, and the
other side one vector of each. Bases and the pitch are whole vectors: a vector of one element takes any.
"""

from __future__ import annotations

from typing import NamedTuple

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import CopyUniversalOp

from kernels.transpose.common import Kernel, enter, fake_args, transpose_view


class Slim(NamedTuple):
    """`few`: "rows" or "columns", which of `x` are `count`; `threads` of a block; elements of a `vector`."""

    few: str
    count: int
    threads: int = 128
    vector: int = 8


@cute.kernel
def turn_few(flat: cute.Tensor, pitched: cute.Tensor, plan: cutlass.Constexpr, early: cutlass.Constexpr):
    """`flat` (v,vectors):(1,v), `pitched` (long,count):(1,ld); rows go to `flat`, columns come from it."""
    enter(early)
    tid, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    mine = block * plan.threads + tid
    long = pitched.shape[0]
    wide = cute.make_copy_atom(
        CopyUniversalOp(), flat.element_type, num_bits_per_copy=flat.element_type.width * plan.vector
    )
    mixed = cute.make_rmem_tensor((plan.vector, plan.count), flat.element_type)
    sorted_ = cute.make_rmem_tensor((plan.vector, plan.count), flat.element_type)
    vectors = cute.local_tile(pitched, (plan.vector, plan.count), (mine, 0))
    if plan.vector * (mine + 1) <= long:
        if cutlass.const_expr(plan.few == "columns"):
            for j in cutlass.range_constexpr(plan.count):
                cute.copy(wide, flat[None, mine * plan.count + j], mixed[None, j])
            for i in cutlass.range_constexpr(plan.vector):
                for j in cutlass.range_constexpr(plan.count):
                    sorted_[i, j] = mixed[i * plan.count + j]
            cute.copy(wide, sorted_, vectors)
        else:
            cute.copy(wide, vectors, sorted_)
            for i in cutlass.range_constexpr(plan.vector):
                for j in cutlass.range_constexpr(plan.count):
                    mixed[i * plan.count + j] = sorted_[i, j]
            for j in cutlass.range_constexpr(plan.count):
                cute.copy(wide, mixed[None, j], flat[None, mine * plan.count + j])
    else:
        for i in cutlass.range(max(long - plan.vector * mine, 0), unroll=1):
            for j in cutlass.range_constexpr(plan.count):
                number = (plan.vector * mine + i) * plan.count + j
                if cutlass.const_expr(plan.few == "columns"):
                    vectors[i, j] = flat[number]
                else:
                    flat[number] = vectors[i, j]


def build_slim(plan: Slim, early: bool = False) -> Kernel:
    """`plan.count` rows and a `y` without gaps, or columns and an `x`; bases and pitch in whole vectors."""

    @cute.jit
    def host(x: cute.Tensor, y: cute.Tensor, stream):
        whole, other = (y, x) if cutlass.const_expr(plan.few == "rows") else (x, y)
        pitched = transpose_view(other, plan.vector)
        shape = (pitched.shape[0], plan.count)
        pitched = cute.make_tensor(pitched.iterator, cute.make_layout(shape, stride=pitched.stride))
        blocks = (shape[0] + plan.vector * plan.threads - 1) // (plan.vector * plan.threads)
        vectors = (cute.size(whole) + plan.vector - 1) // plan.vector
        flat = cute.make_tensor(
            whole.iterator, cute.make_layout((plan.vector, vectors), stride=(1, plan.vector))
        )
        turn_few(flat, pitched, plan, early).launch(
            grid=(blocks, 1, 1), block=(plan.threads, 1, 1), stream=stream, use_pdl=early
        )

    return Kernel(host, fake_args(align_bytes=2 * plan.vector))
