"""The transpose of a few rows or columns at any pitch and base: whole sectors, element by element.

On one side all of them are one run of memory: 16-byte chunks, which go to or come from shared memory as they
lie. On the other side, lanes side by side move elements side by side, from the start of a sector on, wherever
the row starts. So what a block has of a row may lie up to a sector further down than what it has of the next.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import CopyUniversalOp

from kernels.transpose.chunks import Chunks, aligned, carveout, in_slots, launched, room_for, suffices
from kernels.transpose.common import LINE, SECTOR, Kernel, let_others_start, start_in, wait_at
from kernels.transpose.few_columns import load_runs
from kernels.transpose.fitting import thin_sides
from kernels.transpose.registers import store_wide


class Runs(NamedTuple):
    """`few`: "rows" or "columns", which of `x` are `count`; `each`: elements of a thread and row.

    `size`: bytes of an element; `threads` of a block.
    """

    few: str
    count: int
    each: int = 2
    size: int = 4
    threads: int = 256

    chunk, bits, smem_bytes, limits = Chunks.chunk, Chunks.bits, Chunks.smem_bytes, property(carveout)

    @property
    def sector(self) -> int:
        """Elements of a sector."""
        return SECTOR // self.size

    @property
    def start(self) -> int:
        """Elements of what the run, or a block's part of it, may start within."""
        return LINE // self.size if self.few == "rows" else self.chunk

    @property
    def long(self) -> int:
        """Elements of a row from block to block; of rows of `x`, a block loads more, and whole sectors."""
        return self.threads * self.each - (self.start if self.few == "rows" else 0)

    @property
    def chunks(self) -> int:
        """Of the run, that a block moves."""
        if self.few == "rows":
            return self.long * self.count // self.chunk
        elements = (self.long + self.sector - 1) * self.count
        return (elements + 2 * (self.chunk - 1)) // self.chunk

    @property
    def passes(self) -> int:
        """Chunks that a thread moves."""
        return -(-self.chunks // self.threads)

    room = chunks

    @property
    def pitch(self) -> int:
        """As for `FewColumns`."""
        return self.count

    apart = pitch

    @property
    def residents(self) -> int:
        """Blocks that a multiprocessor has shared memory and threads for."""
        return suffices(self)

    def fits(self, x: Any, y: Any) -> bool:
        """Whether the kernel takes these two."""
        return bool(thin_sides(x, y, self))


@cute.kernel
def part_columns(
    run: cute.Tensor,
    rows: cute.Tensor,
    long: cutlass.Int32,
    pitch: cutlass.Int64,
    starts: tuple[cutlass.Int32, cutlass.Int32],
    plan: cutlass.Constexpr,
    early: cutlass.Constexpr,
):
    """`run` (chunk,chunks) is `x`, `rows` are those of `y`, `long` elements each, `pitch` apart.

    `starts`: elements of both before the first. `rows` has all that follows in memory.
    """
    let_others_start(early)
    tid, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    smem = room_for(plan, run.element_type)
    first = block * plan.long - (plan.sector - 1)
    corner = starts[0] + first * plan.count
    origin = corner >> plan.bits
    whole = cutlass.Int64(starts[0]), starts[0] + cutlass.Int64(long) * plan.count
    inner = plan.chunk * origin >= whole[0] and plan.chunk * (origin + plan.chunks) <= whole[1]
    wait_at(early, origin)
    load_runs(run, in_slots(smem), cutlass.Int64(origin), whole, inner, plan)
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    for j in cutlass.range_constexpr(plan.count):
        place = starts[1] + j * pitch + block * plan.long
        late = cutlass.Int32(place & (plan.sector - 1))
        mine = plan.sector - 1 - late + tid
        here = cute.make_tensor(rows.iterator + (place - late + tid), rows.layout)
        cell = (corner & (plan.chunk - 1)) + mine * plan.count + j
        held = cute.make_tensor(smem.iterator + cell, smem.layout)
        for e in cutlass.range_constexpr(plan.each):
            m = first + mine + e * plan.threads
            if inner or (m >= 0 and m < long):
                here[e * plan.threads] = held[e * plan.threads * plan.count]


@cute.kernel
def join_rows(
    run: cute.Tensor,
    rows: cute.Tensor,
    long: cutlass.Int32,
    pitch: cutlass.Int64,
    starts: tuple[cutlass.Int32, cutlass.Int32],
    plan: cutlass.Constexpr,
    early: cutlass.Constexpr,
):
    """As `part_columns`: `run` is `y`, and `rows` are those of `x`."""
    let_others_start(early)
    tid, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    smem = room_for(plan, run.element_type)
    low = block * plan.long - (starts[0] + plan.count - 1) // plan.count
    inner = low >= plan.sector - 1 and low + plan.threads * plan.each <= long
    places = [starts[1] + j * pitch + low for j in range(plan.count)]
    lates = [cutlass.Int32(place & (plan.sector - 1)) for place in places]
    held = cute.make_rmem_tensor((plan.each, plan.count), run.element_type)
    wait_at(early, low)
    for j in cutlass.range_constexpr(plan.count):
        here = cute.make_tensor(rows.iterator + (places[j] - lates[j] + tid), rows.layout)
        for e in cutlass.range_constexpr(plan.each):
            n = low - lates[j] + tid + e * plan.threads
            if inner or (n >= 0 and n < long):
                held[e, j] = here[e * plan.threads]
    begin = plan.chunks * plan.chunk * block
    for j in cutlass.range_constexpr(plan.count):
        cell = starts[0] + (low - lates[j] + tid) * plan.count + j - begin
        for e in cutlass.range_constexpr(plan.each):
            mine = cell + e * plan.threads * plan.count
            if mine >= 0 and mine < plan.chunks * plan.chunk:
                smem[mine] = held[e, j]
    cute.arch.sync_threads()
    slots, end = in_slots(smem), starts[0] + long * plan.count
    read = cute.make_copy_atom(CopyUniversalOp(), run.element_type, num_bits_per_copy=128)
    for i in cutlass.range_constexpr(plan.passes):
        slot = tid + i * plan.threads
        place, chunk = begin + plan.chunk * slot, plan.chunks * block + slot
        if (i + 1) * plan.threads <= plan.chunks or slot < plan.chunks:
            if place >= starts[0] and place + plan.chunk <= end:
                taken = cute.make_rmem_tensor((plan.chunk,), run.element_type)
                cute.copy(read, slots[None, slot], taken)
                store_wide(taken, run[None, chunk], "plain")
            else:
                for k in cutlass.range_constexpr(plan.chunk):
                    if place + k >= starts[0] and place + k < end:
                        run[k, chunk] = smem[plan.chunk * slot + k]


def build_runs(plan: Runs, early: int = 0) -> Kernel:
    """`plan.count` rows and a `y` without gaps, or columns and an `x`: less than 2**31 - 2**16 elements."""
    return launched(part_columns if plan.few == "columns" else join_rows, in_runs, plan, early)


def in_runs(x: cute.Tensor, y: cute.Tensor, plan: Runs) -> tuple[Any, ...]:
    """The grid, and what the kernels take before their plan."""
    flat, pitched = (x, y) if plan.few == "columns" else (y, x)
    starts = cutlass.Int32(start_in(flat, plan.start)), cutlass.Int32(start_in(pitched, plan.sector))
    long = cutlass.Int32(pitched.shape[1])
    rows = cute.make_tensor(pitched.iterator - starts[1], cute.make_layout(1 << 30))
    # Where a row, or the run, starts late, its end may be another block's.
    more = plan.sector - 1 if plan.few == "columns" else (starts[0] + plan.count - 1) // plan.count
    blocks = (long + more + plan.long - 1) // plan.long
    return (blocks, 1, 1), aligned(flat, starts[0], plan.chunk), rows, long, pitched.stride[0], starts
