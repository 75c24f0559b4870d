"""The transpose of up to 8 rows or 16 columns, in registers: a thread turns a vector of each of them.

The side without gaps is then as many vectors as there are rows or columns, one after the other, and the
other side one vector of each. Bases and the pitch are whole vectors: a vector of one element takes any. What
a thread has of the side without gaps is one run, which may move in fewer and wider accesses than its vectors.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import CopyUniversalOp

from kernels.transpose.common import Kernel, enter, fake_args, transpose_view

WIDEST = 8
"""Elements of a 16-byte access."""


class Slim(NamedTuple):
    """`few`: "rows" or "columns", which of `x` are `count`; `threads` of a block; elements of a `vector`.

    `wide`: the side without gaps moves in the widest accesses that divide what a thread has of it.
    """

    few: str
    count: int
    threads: int = 128
    vector: int = 8
    wide: bool = False

    @property
    def run(self) -> int:
        """Elements of an access to the side without gaps, whose base is a multiple of them."""
        return math.gcd(WIDEST, self.count * self.vector) if self.wide else self.vector


@cute.kernel
def turn_few(flat: cute.Tensor, pitched: cute.Tensor, plan: cutlass.Constexpr, early: cutlass.Constexpr):
    """`flat` (run,runs):(1,run), `pitched` (long,count):(1,ld); rows go to `flat`, columns come from it."""
    enter(early)
    tid, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    mine = block * plan.threads + tid
    long = pitched.shape[0]
    runs = plan.vector * plan.count // plan.run
    wide, widest = (
        cute.make_copy_atom(
            CopyUniversalOp(), flat.element_type, num_bits_per_copy=flat.element_type.width * elements
        )
        for elements in (plan.vector, plan.run)
    )
    mixed = cute.make_rmem_tensor((plan.run, runs), flat.element_type)
    sorted_ = cute.make_rmem_tensor((plan.vector, plan.count), flat.element_type)
    vectors = cute.local_tile(pitched, (plan.vector, plan.count), (mine, 0))
    if plan.vector * (mine + 1) <= long:
        if cutlass.const_expr(plan.few == "columns"):
            for j in cutlass.range_constexpr(runs):
                cute.copy(widest, flat[None, mine * runs + j], mixed[None, j])
            for i in cutlass.range_constexpr(plan.vector):
                for j in cutlass.range_constexpr(plan.count):
                    sorted_[i, j] = mixed[i * plan.count + j]
            cute.copy(wide, sorted_, vectors)
        else:
            cute.copy(wide, vectors, sorted_)
            for i in cutlass.range_constexpr(plan.vector):
                for j in cutlass.range_constexpr(plan.count):
                    mixed[i * plan.count + j] = sorted_[i, j]
            for j in cutlass.range_constexpr(runs):
                cute.copy(widest, mixed[None, j], flat[None, mine * runs + j])
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
        runs = (cute.size(whole) + plan.run - 1) // plan.run
        bytes_each = whole.element_type.width // 8
        base = cute.make_ptr(
            whole.element_type,
            whole.iterator.toint(),
            cute.AddressSpace.gmem,
            assumed_align=plan.run * bytes_each,
        )
        flat = cute.make_tensor(base, cute.make_layout((plan.run, runs), stride=(1, plan.run)))
        turn_few(flat, pitched, plan, early).launch(
            grid=(blocks, 1, 1), block=(plan.threads, 1, 1), stream=stream, use_pdl=early
        )

    return Kernel(host, fake_args(align_bytes=2 * plan.vector))
