"""The transpose of a few rows or columns in registers: a thread turns vectors of each of them.

The side without gaps is then as many vectors as there are rows or columns, one after the other, and the
other side one vector of each. Bases and the pitch are whole vectors: a vector of one element takes any.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import CopyUniversalOp

from kernels.transpose.common import TYPES, Kernel, enter, fake_args, transpose_view
from kernels.transpose.fitting import thin_sides


class Slim(NamedTuple):
    """`few`: "rows" or "columns", which of `x` are `count`; `threads` of a block; elements of a `vector`.

    `each`: vectors of a thread and row, a block's width apart; `size`: bytes of an element.
    """

    few: str
    count: int
    vector: int = 8
    each: int = 1
    size: int = 2
    threads: int = 128

    def fits(self, x: Any, y: Any) -> bool:
        """Whether the kernel takes these two."""
        sides = thin_sides(x, y, self)
        bases = all(t.data_ptr() % (self.size * self.vector) == 0 for t in (x, y))
        return bool(sides) and bases and sides[1].stride(0) % self.vector == 0


@cute.kernel
def turn_few(flat: cute.Tensor, pitched: cute.Tensor, plan: cutlass.Constexpr, early: cutlass.Constexpr):
    """`flat` (vector,vectors), `pitched` (long,count):(1,ld); rows go to `flat`, columns come from it."""
    enter(early)
    tid, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    first = block * plan.each * plan.threads + tid
    bits = flat.element_type.width * plan.vector
    wide = cute.make_copy_atom(CopyUniversalOp(), flat.element_type, num_bits_per_copy=bits)
    mixed = cute.make_rmem_tensor((plan.vector, plan.count, plan.each), flat.element_type)
    sorted_ = cute.make_rmem_tensor((plan.vector, plan.count, plan.each), flat.element_type)
    long = pitched.shape[0]
    for e in cutlass.range_constexpr(plan.each):
        mine = first + e * plan.threads
        vectors = cute.local_tile(pitched, (plan.vector, plan.count), (mine, 0))
        if plan.vector * (mine + 1) <= long:
            if cutlass.const_expr(plan.few == "columns"):
                for j in cutlass.range_constexpr(plan.count):
                    cute.copy(wide, flat[None, mine * plan.count + j], mixed[None, j, e])
            else:
                cute.copy(wide, vectors, sorted_[None, None, e])
    for e in cutlass.range_constexpr(plan.each):
        mine = first + e * plan.threads
        vectors = cute.local_tile(pitched, (plan.vector, plan.count), (mine, 0))
        turn(mixed[None, None, e], sorted_[None, None, e], plan)
        if plan.vector * (mine + 1) <= long:
            if cutlass.const_expr(plan.few == "columns"):
                cute.copy(wide, sorted_[None, None, e], vectors)
            else:
                for j in cutlass.range_constexpr(plan.count):
                    cute.copy(wide, mixed[None, j, e], flat[None, mine * plan.count + j])
        else:
            for i in cutlass.range(max(long - plan.vector * mine, 0), unroll=1):
                for j in cutlass.range_constexpr(plan.count):
                    number = (plan.vector * mine + i) * plan.count + j
                    if cutlass.const_expr(plan.few == "columns"):
                        vectors[i, j] = flat[number]
                    else:
                        flat[number] = vectors[i, j]


@cute.jit
def turn(mixed: cute.Tensor, sorted_: cute.Tensor, plan: cutlass.Constexpr):
    """A thread's run, in registers, to its vectors or the other way."""
    for i in cutlass.range_constexpr(plan.vector):
        for j in cutlass.range_constexpr(plan.count):
            if cutlass.const_expr(plan.few == "columns"):
                sorted_[i, j] = mixed[i * plan.count + j]
            else:
                mixed[i * plan.count + j] = sorted_[i, j]


def build_slim(plan: Slim, early: int = 0) -> Kernel:
    """`plan.count` rows and a `y` without gaps, or columns and an `x`; bases and pitch in whole vectors."""

    @cute.jit
    def host(x: cute.Tensor, y: cute.Tensor, stream):
        whole, other = (y, x) if cutlass.const_expr(plan.few == "rows") else (x, y)
        pitched = transpose_view(other, plan.vector)
        shape = (pitched.shape[0], plan.count)
        pitched = cute.make_tensor(pitched.iterator, cute.make_layout(shape, stride=pitched.stride))
        of_block = plan.vector * plan.threads * plan.each
        blocks = (shape[0] + of_block - 1) // of_block
        vectors = (cute.size(whole) + plan.vector - 1) // plan.vector
        base = cute.make_ptr(
            whole.element_type,
            whole.iterator.toint(),
            cute.AddressSpace.gmem,
            assumed_align=plan.vector * plan.size,
        )
        flat = cute.make_tensor(base, cute.make_layout((plan.vector, vectors), stride=(1, plan.vector)))
        turn_few(flat, pitched, plan, early).launch(
            grid=(blocks, 1, 1), block=(plan.threads, 1, 1), stream=stream, use_pdl=early > 0
        )

    return Kernel(host, fake_args(TYPES[plan.size], plan.size * plan.vector))
