"""The transpose of a few rows at any pitch: a thread loads a column of `x`, a block stores a run of `y`.

The columns meet in shared memory in the order of `y`, so the stores are 16-byte chunks of one run, and all
loads of a thread are on their way at once. Rows of `y` that each thread stored by itself would lie `count`
elements apart, and every sector would be written `count` times.
"""

from __future__ import annotations

from typing import NamedTuple

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import CopyUniversalOp

from kernels.transpose.common import Kernel, fake_args, short_view
from kernels.transpose.registers import store_wide
from kernels.transpose.shifted import CHUNK, aligned


class Packed(NamedTuple):
    """`count` rows of `x`; elements of a `vector`, which divides its columns; `threads` of a block."""

    count: int
    vector: int = 1
    threads: int = 128

    @property
    def elements(self) -> int:
        """Of `y`, that a block stores: whole chunks."""
        return self.count * self.vector * self.threads

    @property
    def room(self) -> int:
        """Elements in shared memory: a chunk is unused after every eighth, against bank conflicts."""
        return in_room(self.elements) + CHUNK


def in_room(element):
    """Where an element of the run lies."""
    return element + (element >> 6 << 3)


@cute.kernel
def pack_rows(xt: cute.Tensor, y: cute.Tensor, plan: cutlass.Constexpr, early: cutlass.Constexpr):
    """`xt` (N,count):(1,ldx); `y` (8,chunks):(1,8)."""
    if cutlass.const_expr(early):
        cute.arch.griddepcontrol_launch_dependents()
    tid, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    n = xt.shape[0]
    dtype = xt.element_type
    smem = cutlass.memory.SmemAllocator().allocate_tensor(
        dtype, cute.make_layout(plan.room), byte_alignment=16
    )
    read = cute.make_copy_atom(CopyUniversalOp(), dtype, num_bits_per_copy=dtype.width * plan.vector)
    column = cute.make_rmem_tensor((plan.vector, plan.count), dtype)
    # Past the end, a thread loads the last columns again.
    mine = min(block * plan.threads + tid, n // plan.vector - 1)
    source = cute.local_tile(xt, (plan.vector, plan.count), (mine, 0))
    if cutlass.const_expr(early):
        cute.arch.griddepcontrol_wait()
    cute.copy(read, source, column)
    for i in cutlass.range_constexpr(plan.vector):
        for j in cutlass.range_constexpr(plan.count):
            smem[in_room(tid * (plan.vector * plan.count) + i * plan.count + j)] = column[i, j]
    cute.arch.sync_threads()

    chunks = cute.make_tensor(smem.iterator, cute.make_layout((CHUNK, plan.room // CHUNK), stride=(1, CHUNK)))
    wide = cute.make_copy_atom(CopyUniversalOp(), dtype, num_bits_per_copy=128)
    first, end = block * plan.elements, n * plan.count
    for i in cutlass.range_constexpr(-(-plan.elements // (CHUNK * plan.threads))):
        chunk = tid + i * plan.threads
        if chunk < plan.elements // CHUNK:
            if first + CHUNK * (chunk + 1) <= end:
                taken = cute.make_rmem_tensor((CHUNK,), dtype)
                cute.copy(wide, chunks[None, chunk + (chunk >> 3)], taken)
                store_wide(taken, y[None, first // CHUNK + chunk], "plain")
            else:
                for k in cutlass.range_constexpr(CHUNK):
                    if first + CHUNK * chunk + k < end:
                        y[k, first // CHUNK + chunk] = smem[in_room(CHUNK * chunk) + k]


def build_packed(plan: Packed, early: bool = False) -> Kernel:
    """`plan.count` rows, less than 2**31 elements; `y` without gaps, its base a multiple of 16 bytes."""

    @cute.jit
    def host(x: cute.Tensor, y: cute.Tensor, stream):
        xt = short_view(x, plan.vector)
        xt = cute.make_tensor(xt.iterator, cute.make_layout((xt.shape[0], plan.count), stride=xt.stride))
        columns = plan.vector * plan.threads
        blocks = (xt.shape[0] + columns - 1) // columns
        pack_rows(xt, aligned(y, cutlass.Int64(0), CHUNK), plan, early).launch(
            grid=(blocks, 1, 1), block=(plan.threads, 1, 1), stream=stream, use_pdl=early
        )

    return Kernel(host, fake_args(align_bytes=2 * plan.vector))
