"""The transpose of many small matrices: a block holds some, so that both of its sides are runs of chunks.

Nothing is read or written twice, whatever the extents, which are known when the kernel is compiled: 16-byte
chunks of `x` go to shared memory as they lie, and a thread gathers the elements of a chunk of `y` from there.
Only the first and the last chunk of a block, which its neighbours may share, are written by elements.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import CopyUniversalOp

from kernels.transpose.chunks import (
    Chunks,
    aligned,
    cells_at,
    gathered,
    in_slots,
    launched,
    load_chunk,
    reach,
    room_for,
    suffices,
)
from kernels.transpose.common import (
    Kernel,
    enter,
    enter_fetching,
    fetch_ends,
    matrices,
    start_in,
    worked_out,
)
from kernels.transpose.registers import load_wide, store_wide

SECTOR = 32
"""Bytes of the shortest rows of `y` whose ends are asked for: shorter ones are slower with it."""

LINES = 512
"""Bytes that one instruction brings to the L2: one of 40 KB never ended."""


class Whole(NamedTuple):
    """`shape`: rows and columns of a matrix; `items` and `threads` of a block; `size`: bytes of an element.

    `pads`: elements from the end of a row to the next row, in `x` and in `y`; `singly`: threads store
    elements and not chunks. The matrices of a block follow one another as rows do.
    """

    shape: tuple[int, int]
    items: int = 1
    threads: int = 512
    size: int = 2
    pads: tuple[int, int] = (0, 0)
    singly: bool = False

    chunk, smem_bytes, limits = Chunks.chunk, Chunks.smem_bytes, {"preferred_smem_carveout": 100}

    @property
    def pitches(self) -> tuple[int, int]:
        """Elements from row to row of `x` and of `y`."""
        return self.shape[1] + self.pads[0], self.shape[0] + self.pads[1]

    @property
    def apart(self) -> tuple[int, int]:
        """Elements from matrix to matrix of a block, of `x` and of `y`."""
        return self.shape[0] * self.pitches[0], self.shape[1] * self.pitches[1]

    @property
    def room(self) -> int:
        """Chunks in shared memory: two more than the elements have where they start within one."""
        return self.items * self.apart[0] // self.chunk + 2

    @property
    def held(self) -> int:
        """Chunks of `x` that a thread loads."""
        return -(-self.room // self.threads)

    @property
    def stored(self) -> int:
        """Elements of `y` that a thread stores at a time: a chunk, unless `singly`."""
        return 1 if self.singly else self.chunk

    @property
    def alike(self) -> int:
        """Chunks of `y` from one to the next that starts in the same row of `x`, or of its matrices."""
        run = self.pitches[1] if self.items == 1 else self.apart[1]
        return run // math.gcd(run, self.stored)

    @property
    def beside(self) -> int:
        """Chunks of `y` that are stored side by side."""
        return self.threads // self.alike * self.alike or self.threads

    @property
    def further(self) -> int:
        """Elements of `x` from a chunk's to those of the chunk `beside` on; 0 if that is not one number."""
        if self.beside % self.alike:
            return 0
        run = self.stored * self.beside
        return run // self.pitches[1] if self.items == 1 else run // self.apart[1] * self.apart[0]

    @property
    def passes(self) -> int:
        """Chunks of `y` that a thread stores."""
        chunks = self.items * self.apart[1] // self.stored + 2 * (not self.singly)
        return -(-chunks // self.beside)

    @property
    def residents(self) -> int:
        """Blocks that shared memory and threads of a multiprocessor suffice for."""
        return suffices(self)


STANDARD = Whole((77, 129))


@cute.kernel
def transpose_matrices(
    x: cute.Tensor,
    y: cute.Tensor,
    starts: tuple[cutlass.Int64, cutlass.Int64],
    apart: tuple[cutlass.Int64, cutlass.Int64],
    whole: tuple[cutlass.Int64, cutlass.Int64],
    items: cutlass.Int32,
    plan: cutlass.Constexpr,
    early: cutlass.Constexpr,
):
    """`x` and `y` (chunk,chunks), aligned; matrix i of `items` starts `apart` times i on from `starts`.

    `whole`: see `load_chunk`.
    """
    tid, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    size, here = plan.chunk, min(items - block * plan.items, plan.items)
    start_x = starts[0] + cutlass.Int64(block * plan.items) * apart[0]
    start_y = starts[1] + cutlass.Int64(block * plan.items) * apart[1]
    total = here * plan.apart[0] - plan.pads[0]
    if cutlass.const_expr(plan.items > 1):
        run = LINES // plan.size
        enter_fetching(
            early, plan.residents, x, start_x, cutlass.Int64(run), total // run, cutlass.Int32(run)
        )
    else:
        enter(early)
    first_x, first_y = start_x // size, start_y // size
    origin, late = cutlass.Int32(start_x & (size - 1)), cutlass.Int32(start_y & (size - 1))
    smem = room_for(plan, x.element_type)
    slots = in_slots(smem)
    count = (origin + total + size - 1) // size
    safe = size * first_x >= whole[0] and size * (first_x + count) <= whole[1]
    held = cute.make_rmem_tensor((size, plan.held), x.element_type)
    if safe:
        for i in cutlass.range_constexpr(plan.held):
            if tid + i * plan.threads < count:
                load_wide(x[None, first_x + tid + i * plan.threads], held[None, i], "evict_last")
    if cutlass.const_expr(plan.pads[1] > 0 and plan.size * plan.pitches[1] >= SECTOR):
        rows = cutlass.Int32(here * plan.shape[1])
        fetch_ends(y, start_y, cutlass.Int64(plan.pitches[1]), rows, cutlass.Int32(plan.shape[0]))
    # While the loads are on their way.
    begin, end = plan.stored * tid - (0 if plan.singly else late), here * plan.apart[1]
    rows, places = places_of(begin, origin, plan)
    if cutlass.const_expr(plan.items > 1):
        places = worked_out(places)
    if safe:
        write = cute.make_copy_atom(CopyUniversalOp(), x.element_type, num_bits_per_copy=128)
        for i in cutlass.range_constexpr(plan.held):
            if tid + i * plan.threads < count:
                cute.copy(write, held[None, i], slots[None, tid + i * plan.threads])
    else:
        for i in cutlass.range(tid, count, plan.threads, unroll=1):
            load_chunk(x, first_x + i, slots[None, i], whole)
    cute.arch.cp_async_commit_group()

    cells = [cells_at(smem, place) for place in places]
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    run = cute.make_tensor(y.iterator + start_y, cute.make_layout(1 << 30))
    if tid < plan.beside:
        for i in cutlass.range_constexpr(plan.passes):
            first, chunk = begin + plan.stored * i * plan.beside, first_y + tid + i * plan.beside
            further = i * plan.further
            if cutlass.const_expr(i > 0 and plan.further == 0):
                rows, places = places_of(first, origin, plan)
                cells = [cells_at(smem, place) for place in places]
            inside = first >= 0 and first + plan.stored <= end
            if cutlass.const_expr(plan.pads[1] > 0):
                inside = inside and rows[0] + plan.stored <= plan.shape[0]
            if cutlass.const_expr(plan.singly):
                if inside:
                    run[first] = cells[0][further]
            elif inside:
                store_wide(gathered(cells, further), y[None, chunk], "plain")
            else:
                target = y[None, chunk]
                for k in cutlass.range_constexpr(size):
                    inside = first + k >= 0 and first + k < end
                    if cutlass.const_expr(plan.pads[1] > 0):
                        inside = inside and rows[k] < plan.shape[0]
                    if inside:
                        target[k] = cells[k][further]


def places_of(begin, origin, plan):
    """The rows of `x`, pads of `y` among them, and the places in the block's elements of `x`, of a chunk.

    `begin`: the first element of the chunk, counted from the block's first of `y`.
    """
    (_, n), (ldx, ldy), (apart_x, apart_y) = plan.shape, plan.pitches, plan.apart
    item = 0
    if plan.items > 1:
        before = -(-plan.chunk // apart_y)  # the first chunk may start before the matrix
        item = (begin + before * apart_y) // apart_y - before
        begin -= item * apart_y
    n1 = (begin + plan.chunk * ldy) // ldy - plan.chunk
    m1 = begin - n1 * ldy
    place = origin + item * apart_x + m1 * ldx + n1
    if plan.stored <= ldy:  # the chunk ends in the row of `y` that it starts in, or in the next
        next_row = place + 1 - ldy * ldx
        if plan.items > 1:
            next_row += (apart_x - n) * cutlass.Int32(n1 == n - 1)
        inside = [m1 < ldy - k for k in range(plan.stored)]
        rows = [m1 + k - ldy * (1 - cutlass.Int32(inside[k])) for k in range(plan.stored)]
        places = [cutlass.select_(inside[k], place, next_row) + k * ldx for k in range(plan.stored)]
        return rows, places
    rows, places = [], []
    for _ in range(plan.stored):
        rows.append(m1)
        places.append(place)
        wraps = cutlass.Int32(m1 == ldy - 1)
        m1, n1 = m1 + 1 - ldy * wraps, n1 + wraps
        place += ldx + (1 - ldy * ldx) * wraps
        if plan.items > 1:
            ends = cutlass.Int32(n1 == n)
            n1, place = n1 - n * ends, place + (apart_x - n) * ends
    return rows, places


def build_whole(plan: Whole = STANDARD, early: bool = False) -> Kernel:
    """A matrix, or a batch of them, of the plan's shape and pads, rows contiguous.

    Where a block has more than one, the matrices of both tensors follow one another as rows do.
    """
    return launched(transpose_matrices, in_matrices, plan, early)


def in_matrices(x: cute.Tensor, y: cute.Tensor, plan: Whole) -> tuple[Any, ...]:
    """The grid, and what `transpose_matrices` takes before its plan."""
    starts = start_in(x, plan.chunk), start_in(y, plan.chunk)
    items, apart = matrices(x, y)
    views = aligned(x, starts[0], plan.chunk), aligned(y, starts[1], plan.chunk)
    whole = starts[0], starts[0] + reach(x)
    grid = ((items + plan.items - 1) // plan.items, 1, 1)
    return grid, *views, starts, apart, whole, cutlass.Int32(items)
