"""The transpose of many small matrices: a block holds some, so that both of its sides are runs of chunks.

Nothing is read or written twice, whatever the extents, which are known when the kernel is compiled: 16-byte
chunks of `x` go to shared memory as they lie, and a thread gathers the elements of a chunk of `y` from there.
Only the first and the last chunk of a block, which its neighbours may share, are written by elements.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import CopyUniversalOp, LoadCacheMode, cpasync

from kernels.transpose.common import TYPES, Kernel, enter, fake_args
from kernels.transpose.registers import load_wide, store_wide
from kernels.transpose.shifted import Shifted, aligned, cells_at, gathered, load_chunk


class Whole(NamedTuple):
    """`shape`: rows and columns of a matrix; `items` and `threads` of a block; `size`: bytes of an element.

    A block of one matrix has at least as many threads as that has rows.
    Where a block holds more than one matrix, its elements are whole chunks, and the bases are aligned.
    """

    shape: tuple[int, int]
    items: int = 1
    threads: int = 512
    size: int = 2

    chunk = Shifted.chunk

    @property
    def elements(self) -> int:
        """Of a block."""
        return self.items * math.prod(self.shape)

    @property
    def room(self) -> int:
        """Chunks in shared memory: two more than the elements have where they start within one."""
        return self.elements // self.chunk + 2

    @property
    def held(self) -> int:
        """Chunks of `x` that a thread loads."""
        return -(-self.room // self.threads)

    @property
    def apart(self) -> int:
        """Chunks of `y` that are stored side by side: of one matrix, as many columns as the threads cover."""
        return self.threads if self.items > 1 else self.threads // self.shape[0] * self.shape[0]

    @property
    def passes(self) -> int:
        """Chunks of `y` that a thread stores."""
        return -(-self.room // self.apart)


STANDARD = Whole((77, 129))


@cute.kernel
def transpose_matrices(
    x: cute.Tensor,
    y: cute.Tensor,
    starts: tuple[cutlass.Int64, cutlass.Int64],
    whole: tuple[cutlass.Int64, cutlass.Int64],
    plan: cutlass.Constexpr,
    early: cutlass.Constexpr,
):
    """`x` and `y` (chunk,chunks), aligned; a block starts as many elements on as the ones before it have.

    `whole`: see `load_chunk`.
    """
    enter(early)
    tid, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    size, before = plan.chunk, block * cutlass.Int64(plan.elements)
    total = cutlass.Int32(min(cutlass.Int64(plan.elements), whole[1] - whole[0] - before))
    start_x, start_y = starts[0] + before, starts[1] + before
    first_x, first_y = start_x // size, start_y // size
    origin, late = cutlass.Int32(start_x & (size - 1)), cutlass.Int32(start_y & (size - 1))
    smem = cutlass.memory.SmemAllocator().allocate_tensor(
        x.element_type, cute.make_layout((size, plan.room), stride=(1, size)), byte_alignment=128
    )
    count = (origin + total + size - 1) // size
    if size * first_x >= whole[0] and size * (first_x + count) <= whole[1]:
        write = cute.make_copy_atom(CopyUniversalOp(), x.element_type, num_bits_per_copy=128)
        held = cute.make_rmem_tensor((size, plan.held), x.element_type)
        for i in cutlass.range_constexpr(plan.held):
            if tid + i * plan.threads < count:
                load_wide(x[None, first_x + tid + i * plan.threads], held[None, i], "evict_last")
        for i in cutlass.range_constexpr(plan.held):
            if tid + i * plan.threads < count:
                cute.copy(write, held[None, i], smem[None, tid + i * plan.threads])
    else:
        atom = cute.make_copy_atom(
            cpasync.CopyG2SOp(LoadCacheMode.GLOBAL), x.element_type, num_bits_per_copy=128
        )
        for i in cutlass.range(tid, count, plan.threads, unroll=1):
            load_chunk(atom, x, first_x + i, smem[None, i], whole)
    cute.arch.cp_async_commit_group()

    flat = cute.make_tensor(smem.iterator, cute.make_layout(size * plan.room))
    begin = size * tid - late
    cells = [cells_at(flat, origin + place) for place in places_of(begin, plan)]
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    if tid < plan.apart:
        for i in cutlass.range_constexpr(plan.passes):
            first, chunk, further = begin + size * i * plan.apart, first_y + tid + i * plan.apart, 0
            if cutlass.const_expr(plan.items == 1):
                # As in thin.py: chunks of `y` that lie M chunks apart hold the same rows of `x`.
                further = i * (plan.apart // plan.shape[0]) * size
            elif cutlass.const_expr(i > 0):
                cells = [cells_at(flat, place) for place in places_of(first, plan)]
            if first >= 0 and first + size <= total:
                store_wide(gathered(cells, further), y[None, chunk], "plain")
            else:
                for k in cutlass.range_constexpr(size):
                    if first + k >= 0 and first + k < total:
                        y[k, chunk] = cells[k][further]


def places_of(begin, plan):
    """Where the elements of `y` from number `begin` on lie in the block's elements of `x`."""
    m, n = plan.shape
    item = 0
    if plan.items > 1:
        item = begin // (m * n)
        begin -= item * (m * n)
    n1 = (begin + plan.chunk * m) // m - plan.chunk  # the first chunk may start before the matrix
    m1 = begin - n1 * m
    places = []
    for _ in range(plan.chunk):
        places.append(item * (m * n) + m1 * n + n1)
        wraps = cutlass.Int32(m1 == m - 1)
        m1 = (m1 + 1) * (1 - wraps)
        n1 += wraps
        if plan.items > 1:
            ends = cutlass.Int32(n1 == n)
            n1, item = n1 * (1 - ends), item + ends
    return places


def build_whole(plan: Whole = STANDARD, early: bool = False) -> Kernel:
    """A matrix, or a batch of them, of the plan's shape, without gaps."""

    @cute.jit
    def host(x: cute.Tensor, y: cute.Tensor, stream):
        start_x = x.iterator.toint() // plan.size % plan.chunk
        start_y = y.iterator.toint() // plan.size % plan.chunk
        blocks = (cute.size(x) + plan.elements - 1) // plan.elements
        transpose_matrices(
            aligned(x, start_x, plan.chunk),
            aligned(y, start_y, plan.chunk),
            (start_x, start_y),
            (start_x, start_x + cute.size(x)),
            plan,
            early,
        ).launch(
            grid=(blocks, 1, 1),
            block=(plan.threads, 1, 1),
            preferred_smem_carveout=100,
            stream=stream,
            use_pdl=early,
        )

    return Kernel(host, fake_args(TYPES[plan.size], plan.size))
