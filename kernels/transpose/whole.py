"""The transpose of many small matrices: a block holds one, so that both of its sides are runs of chunks.

Nothing of a matrix is read or written twice, whatever its extents: 16-byte chunks of `x` go to shared memory
as they lie, and a thread gathers the 8 elements of a chunk of `y` from there. Only the first and the last
chunk of a matrix of `y`, which the neighbours share, are written by elements.
"""

from __future__ import annotations

from typing import NamedTuple

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import CopyUniversalOp

from kernels.transpose.common import Kernel, enter, fake_args
from kernels.transpose.registers import load_wide, store_wide
from kernels.transpose.shifted import CHUNK, aligned, cells_at, gathered, load_run


class Whole(NamedTuple):
    """`chunks`: room for a matrix, in units of 8 elements, two more than it has; `threads` of a block.

    `size`: rows and columns, if they are known when the kernel is compiled.
    """

    chunks: int = 1280
    threads: int = 256
    size: tuple[int, int] | None = None

    @property
    def room(self) -> int:
        """Chunks in shared memory: one unused after every eighth, against bank conflicts."""
        return self.chunks if self.size else self.chunks * 9 // 8 + 1

    @property
    def held(self) -> int:
        """Chunks of `x` that a thread loads, if the size is known."""
        m, n = self.size or (1, 1)
        return -(-(m * n // CHUNK + 2) // self.threads)

    @property
    def passes(self) -> int:
        """Chunks of `y` that a thread stores, if the size is known."""
        m, n = self.size or (1, 1)
        return -(-(m * n // CHUNK + 2) // (self.threads // m * m))


STANDARD = Whole()


@cute.kernel
def transpose_matrix(
    x: cute.Tensor,
    y: cute.Tensor,
    shape: tuple[cutlass.Int32, cutlass.Int32],
    starts: tuple[cutlass.Int64, cutlass.Int64],
    whole: tuple[cutlass.Int64, cutlass.Int64],
    plan: cutlass.Constexpr,
    early: cutlass.Constexpr,
):
    """`x` and `y` (8,chunks):(1,8), aligned; matrix i starts at element starts + i * M * N of each."""
    enter(early)
    m, n = shape
    if cutlass.const_expr(plan.size is not None):
        m, n = plan.size
    total = m * n
    tid, _, _ = cute.arch.thread_idx()
    item, _, _ = cute.arch.block_idx()
    start_x, start_y = starts[0] + item * cutlass.Int64(total), starts[1] + item * cutlass.Int64(total)
    first_x, first_y = start_x >> 3, start_y >> 3
    origin, late = cutlass.Int32(start_x & 7), cutlass.Int32(start_y & 7)
    layout = cute.make_layout((CHUNK, plan.room), stride=(1, CHUNK))
    smem = cutlass.memory.SmemAllocator().allocate_tensor(x.element_type, layout, byte_alignment=128)
    count = (origin + total + CHUNK - 1) >> 3
    if cutlass.const_expr(plan.size is None):
        load_run(x, smem, first_x, count, whole, plan.threads)
    elif CHUNK * first_x >= whole[0] and CHUNK * (first_x + count) <= whole[1]:
        write = cute.make_copy_atom(CopyUniversalOp(), x.element_type, num_bits_per_copy=128)
        held = cute.make_rmem_tensor((CHUNK, plan.held), x.element_type)
        for i in cutlass.range_constexpr(plan.held):
            if tid + i * plan.threads < count:
                load_wide(x[None, first_x + tid + i * plan.threads], held[None, i], "evict_last")
        for i in cutlass.range_constexpr(plan.held):
            if tid + i * plan.threads < count:
                cute.copy(write, held[None, i], smem[None, tid + i * plan.threads])
    else:
        load_run(x, smem, first_x, count, whole, plan.threads, False)
    cute.arch.cp_async_commit_group()

    # As in thin.py: chunks of `y` that lie m chunks apart hold the same rows of `x`.
    flat = cute.make_tensor(smem.iterator, cute.make_layout(CHUNK * plan.room))
    periods = plan.threads // m
    apart = periods * m
    begin = CHUNK * tid - late
    n1 = (begin + CHUNK * m) // m
    m1 = begin + CHUNK * m - n1 * m
    n1 -= CHUNK
    sources = []
    for _ in cutlass.range_constexpr(CHUNK):
        sources.append(origin + m1 * n + n1)
        m1 += 1
        n1 = n1 + 1 if m1 == m else n1
        m1 = 0 if m1 == m else m1
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    if cutlass.const_expr(plan.size is not None):
        cells = [cells_at(flat, source) for source in sources]
        if tid < apart:
            for i in cutlass.range_constexpr(plan.passes):
                first, chunk = begin + CHUNK * i * apart, first_y + tid + i * apart
                if first >= 0 and first + CHUNK <= total:
                    store_wide(gathered(cells, i * periods * CHUNK), y[None, chunk], "plain")
                else:
                    for k in cutlass.range_constexpr(CHUNK):
                        if first + k >= 0 and first + k < total:
                            y[k, chunk] = cells[k][i * periods * CHUNK]
    else:
        chunks = (late + total + CHUNK - 1) >> 3
        passes = (chunks - tid + apart - 1) // apart if tid < apart else 0
        for i in cutlass.range(passes, unroll=1):
            first, chunk = begin + CHUNK * i * apart, first_y + tid + i * apart
            if first >= 0 and first + CHUNK <= total:
                taken = cute.make_rmem_tensor((CHUNK,), y.element_type)
                for k in cutlass.range_constexpr(CHUNK):
                    source = sources[k] + i * periods * CHUNK
                    taken[k] = flat[source + ((source >> 6) << 3)]
                store_wide(taken, y[None, chunk], "plain")
            else:
                for k in cutlass.range_constexpr(CHUNK):
                    if first + k >= 0 and first + k < total:
                        source = sources[k] + i * periods * CHUNK
                        y[k, chunk] = flat[source + ((source >> 6) << 3)]


def build_whole(plan: Whole = STANDARD, early: bool = False) -> Kernel:
    """At most `threads` rows and 8 * (chunks - 2) elements a matrix, a batch of them without gaps."""

    @cute.jit
    def host(x: cute.Tensor, y: cute.Tensor, stream):
        items = 1
        if cutlass.const_expr(cute.rank(x) == 3):
            items = x.shape[2]
        bytes_each = x.element_type.width // 8
        start_x = x.iterator.toint() // bytes_each % CHUNK
        start_y = y.iterator.toint() // bytes_each % CHUNK
        transpose_matrix(
            aligned(x, start_x, CHUNK),
            aligned(y, start_y, CHUNK),
            (x.shape[0], x.shape[1]),
            (start_x, start_y),
            (start_x, start_x + cute.size(x)),
            plan,
            early,
        ).launch(
            grid=(items, 1, 1),
            block=(plan.threads, 1, 1),
            preferred_smem_carveout=100,
            stream=stream,
            use_pdl=early,
        )

    return Kernel(host, fake_args(align_bytes=2))
