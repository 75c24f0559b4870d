"""The transpose of few columns, whose number is known when it is compiled: so places are numbers.

A block takes some rows, all of their columns. Its tile is one run of aligned 16-byte chunks of `x`, and
whole chunks of each row of `y`, as in shifted.py. A thread works out once where in shared memory the elements
of its first chunk of `y` lie. Those of its other chunks lie as many columns further as the threads store side
by side. So a chunk takes a read for each element, the permutes and a store.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import CopyUniversalOp

from kernels.transpose.chunks import (
    LANES_M,
    LANES_N,
    Chunks,
    ahead_by,
    aligned,
    cells_at,
    column,
    in_slots,
    launched,
    load_chunk,
    reach,
    room_for,
    suffices,
)
from kernels.transpose.common import (
    Kernel,
    divisible,
    enter,
    enter_fetching,
    start_in,
)
from kernels.transpose.few_rows import OTHERS, REGISTERS, in_order
from kernels.transpose.fitting import in_rows, span
from kernels.transpose.registers import load_wide, store_wide


class FewColumns(NamedTuple):
    """`count` columns of `x`; a block stores `rows` of each, a multiple of eight chunks that divides as much
    for each warp.

    `align`: elements of `y` that no two blocks share a run of, a divisor of `across`; 0 if the
    rows of `y` start on such runs. `slope`: the pitch of `y` modulo a chunk. `loose`: `x` may start anywhere.
    `fetch`: as for `FewRows`; `pad`: elements from the end of a row of `x` to the next.
    """

    count: int
    rows: int = 128
    warps: int = 8
    align: int = 0
    slope: int = 0
    loose: bool = False
    fetch: bool = False
    size: int = 2
    pad: int = 0

    chunk, bits, word, limits = Chunks.chunk, Chunks.bits, Chunks.word, Chunks.limits
    smem_bytes = Chunks.smem_bytes

    @property
    def pitch(self) -> int:
        """Elements from row to row of `x`, and chunks of a run of a chunk of rows."""
        return self.count + self.pad

    @property
    def product(self) -> int:
        """As for `FewRows`."""
        return self.pitch * self.slope % self.chunk

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 32 * self.warps

    @property
    def stacks(self) -> int:
        """Warps that store one column side by side."""
        return self.rows // (self.chunk * LANES_M)

    @property
    def across(self) -> int:
        """Columns that are stored side by side."""
        return LANES_N * self.warps // self.stacks

    @property
    def runs(self) -> int:
        """Runs of a chunk of rows of `x` that a block loads."""
        return (self.rows + self.align) // self.chunk

    @property
    def apart(self) -> int:
        """Chunks from run to run in shared memory: an odd number, against bank conflicts."""
        return self.pitch | 1

    @property
    def chunks(self) -> int:
        """Of `x`, that a block loads: one more where they may start in the middle of one."""
        return self.runs * self.pitch + self.loose

    @property
    def passes(self) -> int:
        """Chunks of `x` that a thread loads."""
        return -(-self.chunks // self.threads)

    @property
    def room(self) -> int:
        """Chunks in shared memory."""
        return self.runs * self.apart + self.loose

    @property
    def residents(self) -> int:
        """Blocks that shared memory, threads and registers of a multiprocessor suffice for."""
        # A place and an element for each of a chunk, when nothing is held any more.
        needed = max(4 * self.passes + OTHERS, 16 + 2 * self.chunk)
        return suffices(self, REGISTERS // (self.threads * needed))

    def fits(self, x: Any, y: Any) -> bool:
        """Whether the kernel takes these two."""
        own = x.dim() == 2 and x.stride(-2) == self.pitch and span(x) < 2**31
        return own and in_rows(x, y, self.size)


@cute.kernel
def transpose_few_columns(
    x: cute.Tensor,
    y: cute.Tensor,
    m: cutlass.Int32,
    ldy: cutlass.Int64,
    start: cutlass.Int32,
    whole: tuple[cutlass.Int64, cutlass.Int64],
    plan: cutlass.Constexpr,
    early: cutlass.Constexpr,
):
    """As `transpose_few_rows`; (n, m) of `y` is number start + n * ldy + m. `x` starts at whole[0]."""
    size = plan.chunk
    tid, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    smem = room_for(plan, x.element_type)
    m0 = block * plan.rows
    low, high = max(m0 - plan.align, 0), min(m0 + plan.rows, m)
    if cutlass.const_expr(plan.fetch):
        run = size * plan.pitch
        first = whole[0] + cutlass.Int64(low) * plan.pitch
        enter_fetching(
            early,
            plan.residents,
            x,
            first,
            cutlass.Int64(run),
            (high - low) >> plan.bits,
            cutlass.Int32(run - plan.pad),
        )
    else:
        enter(early)
    corner = whole[0] + cutlass.Int64(m0 - plan.align) * plan.pitch
    origin = corner >> plan.bits
    inner = high - low == plan.rows + plan.align
    if cutlass.const_expr(plan.loose or plan.pad > 0):
        inner = inner and size * origin >= whole[0] and size * (origin + plan.chunks) <= whole[1]
    load_runs(x, in_slots(smem), origin, whole, inner, plan)
    cute.arch.cp_async_commit_group()

    lane_m, lane_n, warp = tid % LANES_M, tid // LANES_M % LANES_N, tid // 32
    n1 = column(warp // plan.stacks, lane_n, plan.product, plan.word)
    further, ahead = warp % plan.stacks * LANES_M + lane_m, ahead_by(lane_n, plan.product, plan.word)
    place = start + n1 * ldy + m0
    late = 0 if plan.align == 0 else cutlass.Int32(place & (plan.align - 1))
    shift = cutlass.Int32(corner & (size - 1)) if plan.loose else 0
    row = plan.align - late + size * further
    cells = cells_of(smem, row, n1, shift, ahead, plan)
    here = y[None, ((place - late) >> plan.bits) + further]
    next_columns = divisible(ldy * plan.across, size)
    m1 = m0 - late + size * further
    times = -(-plan.count // plan.across)
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    if inner:
        for i in cutlass.range_constexpr(times):
            if (i + 1) * plan.across <= plan.count or n1 + i * plan.across < plan.count:
                read, beyond = cells, i * plan.across
                if cutlass.const_expr(i > 0 and ends_within(beyond + plan.across, plan)):
                    read, beyond = cells_of(smem, row, n1 + beyond, shift, ahead, plan), 0
                store_wide(in_order(read, beyond, ahead, plan), here, "plain")
            here = cute.make_tensor(here.iterator + next_columns, here.layout)
    else:
        for i in cutlass.range(times, unroll=1):
            if n1 + i * plan.across < plan.count:
                mine = cells_of(smem, row, n1 + i * plan.across, shift, ahead, plan)
                taken = in_order(mine, 0, ahead, plan)
                there = cute.make_tensor(here.iterator + i * next_columns, here.layout)
                if m1 >= 0 and m1 + size <= m:
                    store_wide(taken, there, "plain")
                else:
                    for k in cutlass.range_constexpr(size):
                        if m1 + k >= 0 and m1 + k < m:
                            there[k] = taken[k]


def cells_of(smem, row, column, shift, ahead, plan: FewColumns) -> list:
    """Where in shared memory a column's elements lie of a chunk of rows, as a thread reads them.

    A run of a chunk of rows ends within a chunk of `x`, `shift` elements further, if it starts within one.
    """
    cells = []
    for k in range(plan.chunk):
        mine = row + ((k + plan.word * ahead) & (plan.chunk - 1))
        cell = mine * plan.pitch + column + shift
        run = cell // (plan.chunk * plan.pitch) if plan.loose else mine >> plan.bits
        cells.append(cells_at(smem, cell + plan.chunk * (plan.apart - plan.pitch) * run))
    return cells


def ends_within(column: int, plan: FewColumns) -> bool:
    """Whether columns before this one may lie on both sides of what is left out after a run."""
    return plan.loose and plan.apart > plan.pitch and column > plan.pitch - plan.chunk + 1


@cute.jit
def load_runs(
    x: cute.Tensor,
    slots: cute.Tensor,
    origin: cutlass.Int64,
    whole: tuple[cutlass.Int64, cutlass.Int64],
    inner: cutlass.Boolean,
    plan: cutlass.Constexpr,
):
    """What a block loads, from chunk `origin` of `x` on; `inner`: `x` has all of it."""
    size = plan.chunk
    tid, _, _ = cute.arch.thread_idx()
    count = plan.chunks
    if inner:
        held = cute.make_rmem_tensor((size, plan.passes), x.element_type)
        write = cute.make_copy_atom(CopyUniversalOp(), x.element_type, num_bits_per_copy=128)
        for i in cutlass.range_constexpr(plan.passes):
            chunk = tid + i * plan.threads
            if (i + 1) * plan.threads <= count or chunk < count:
                load_wide(x[None, origin + chunk], held[None, i], "evict_last")
        for i in cutlass.range_constexpr(plan.passes):
            chunk = tid + i * plan.threads
            if (i + 1) * plan.threads <= count or chunk < count:
                cute.copy(write, held[None, i], slots[None, run_slot(chunk, plan)])
    else:
        for i in cutlass.range(plan.passes, unroll=1):
            chunk = tid + i * plan.threads
            here = origin + chunk
            if chunk < count and size * (here + 1) > whole[0] and size * here < whole[1]:
                load_chunk(x, here, slots[None, run_slot(chunk, plan)], whole)


def run_slot(chunk, plan: FewColumns):
    """Where a chunk of the run of `x` lies in shared memory."""
    return chunk if plan.apart == plan.pitch else chunk + chunk // plan.pitch


def build_few_columns(plan: FewColumns, early: int = 0) -> Kernel:
    """Less than 2**31 elements; `x` starts on 16 bytes, unless `plan.loose`."""
    return launched(transpose_few_columns, in_few_columns, plan, early)


def in_few_columns(x: cute.Tensor, y: cute.Tensor, plan: FewColumns) -> tuple[Any, ...]:
    """The grid, and what `transpose_few_columns` takes before its plan."""
    size, none, m = plan.chunk, cutlass.Int64(0), x.shape[0]
    start_x = start_in(x, size) if plan.loose else none
    start = start_in(y, plan.align) if plan.align else none
    views, whole = (aligned(x, start_x, size), aligned(y, start, size)), (start_x, start_x + reach(x))
    tiles = (m + max(plan.align - 1, 0) + plan.rows - 1) // plan.rows
    return (tiles, 1, 1), *views, m, y.stride[0], cutlass.Int32(start), whole
