"""The transpose of many small matrices: a block holds one, so that both of its sides are runs of chunks.

Nothing of a matrix is read or written twice, whatever its extents: 16-byte chunks of `x` go to shared memory
as they lie, and a thread gathers the 8 elements of a chunk of `y` from there. Only the first and the last
chunk of a matrix of `y`, which the neighbours share, are written by elements.
"""

from __future__ import annotations

from typing import NamedTuple

import cutlass
from cutlass import cute

from kernels.transpose.common import Kernel, enter, fake_args
from kernels.transpose.registers import store_wide
from kernels.transpose.shifted import CHUNK, aligned, load_run


class Whole(NamedTuple):
    """`chunks`: room for a matrix, in units of 8 elements, two more than it has; `threads` of a block."""

    chunks: int = 1280
    threads: int = 256

    @property
    def room(self) -> int:
        """Chunks in shared memory: one unused after every eighth, against bank conflicts."""
        return self.chunks * 9 // 8 + 1


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
    total = m * n
    tid, _, _ = cute.arch.thread_idx()
    item, _, _ = cute.arch.block_idx()
    start_x, start_y = starts[0] + item * cutlass.Int64(total), starts[1] + item * cutlass.Int64(total)
    first_x, first_y = start_x >> 3, start_y >> 3
    origin, late = cutlass.Int32(start_x & 7), cutlass.Int32(start_y & 7)
    layout = cute.make_layout((CHUNK, plan.room), stride=(1, CHUNK))
    smem = cutlass.memory.SmemAllocator().allocate_tensor(x.element_type, layout, byte_alignment=128)
    load_run(x, smem, first_x, (origin + total + CHUNK - 1) >> 3, whole, plan.threads)
    cute.arch.cp_async_commit_group()

    # As `ribbon.transpose_few_rows`: chunks of `y` that lie m chunks apart hold the same rows of `x`.
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
    chunks = (late + total + CHUNK - 1) >> 3
    passes = (chunks - tid + apart - 1) // apart if tid < apart else 0
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
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
