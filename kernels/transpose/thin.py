"""The transpose of thin matrices whose thin side is known when they are compiled: so places are numbers.

A block takes all of the thin side. On the side that is one run of memory, its tile is a run of aligned
16-byte chunks; on the other it is a piece of each row, and of each row of `y` whole chunks, as in shifted.py.
A thread works out once where in shared memory the elements of its first chunk of `y` lie. Those of its other
chunks lie a known distance further: with few rows, a chunk of columns on, as many chunks of `y` further as
there are rows; with few columns, as many columns on as the threads store side by side. So a chunk takes a
read for each element, the permutes and a store.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import CopyUniversalOp

from kernels.transpose.common import (
    SMEM_KIB,
    TYPES,
    Kernel,
    divisible,
    enter,
    enter_fetching,
    fake_args,
    matrices,
    start_in,
    worked_out,
)
from kernels.transpose.registers import load_wide, store_wide
from kernels.transpose.shifted import (
    LANES_M,
    LANES_N,
    Shifted,
    ahead_by,
    aligned,
    cells_at,
    column,
    copy_kept,
    gathered,
    in_slots,
    load_chunk,
    reach,
    rotated,
)

REGISTERS = 65536
"""Of a multiprocessor."""

OTHERS = 22
"""Registers of a thread beside those that hold what it loads."""


class FewRows(NamedTuple):
    """`count` rows of `x`; a block takes `columns`, a multiple of `unit` chunks.

    `unit`: runs of a chunk of columns whose chunks of `y` the threads store at a time; `slope`: the pitch of
    `x` modulo a chunk, None if its rows start on 16 bytes; `fetch`: a block that starts early has what it
    will load brought to the L2; `loose`: `y` may start anywhere, as the matrices of a batch do, and `slope`
    is known; `load`: a cache hint, or `async` for loads past the registers; `size`: bytes of an element;
    `eager`: a thread works out where it will read while its loads are under way, which takes registers.
    """

    count: int
    columns: int = 64
    unit: int = 1
    slope: int | None = None
    fetch: bool = False
    loose: bool = False
    load: str = "evict_last"
    size: int = 2
    eager: bool = False

    chunk, bits, word = Shifted.chunk, Shifted.bits, Shifted.word

    @property
    def chunks(self) -> int:
        """Of `y`, that the threads store at a time."""
        return self.unit * self.count

    @property
    def product(self) -> int:
        """What decides how the lanes stand: see `shifted.column`."""
        return self.count * (self.slope or 0) % self.chunk

    @property
    def parts(self) -> int:
        """Rows of lanes that share the chunks: four, 2 columns apart if `unit` is 1, or eight, one apart."""
        return LANES_N * (1 + self.product % 2)

    @property
    def part(self) -> int:
        """Chunks of a part."""
        return -(-self.chunks // self.parts)

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 32 * -(-self.part // LANES_M) * self.parts // LANES_N

    @property
    def each(self) -> int:
        """Chunks of a row of `x`: one more where it may start in the middle of one.

        A `loose` block reads the column before its own, too, and that takes no more.
        """
        return self.columns // self.chunk + (self.slope is not None)

    @property
    def step(self) -> int:
        """Rows that the threads load at a time."""
        return self.threads // self.each

    @property
    def passes(self) -> int:
        """Chunks of `x` that a thread loads."""
        return -(-self.count // self.step)

    @property
    def room(self) -> int:
        """Chunks in shared memory: one is unused after every chunk of rows, against bank conflicts."""
        return self.count * self.each + self.count // self.chunk + 1


class FewColumns(NamedTuple):
    """`count` columns of `x`; a block stores `rows` of each, a multiple of eight chunks that divides as much
    for each warp.

    `align`: elements of `y` that no two blocks share a run of, a divisor of `across`; 0 if the
    rows of `y` start on 16 bytes. `slope`: the pitch of `y` modulo a chunk. `loose`: `x` may start anywhere.
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

    chunk, bits, word = Shifted.chunk, Shifted.bits, Shifted.word

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
        """Chunks from run to run in shared memory: an odd number, against bank conflicts, if that can be."""
        return self.pitch if self.loose else self.pitch | 1

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


def smem_bytes(plan: FewRows | FewColumns) -> int:
    """Shared memory of a block, the KiB included that every block takes more than it asks for."""
    return 16 * plan.room + 1024


def residents(plan: FewRows | FewColumns) -> int:
    """Blocks that shared memory, threads and registers of a multiprocessor suffice for."""
    held = 4 * plan.passes * (not isinstance(plan, FewRows) or plan.load != "async")
    # A place and an element for each of a chunk, when nothing is held any more.
    needed = max(held + OTHERS, 16 + 2 * plan.chunk)
    if isinstance(plan, FewRows) and plan.eager:
        # The places while all is held, and fewer of the others then; registers come by eights.
        needed = -(-max(held + plan.chunk + 18, needed) // 8) * 8
    by_registers = REGISTERS // (plan.threads * needed)
    return max(min(1024 * SMEM_KIB // smem_bytes(plan), 2048 // plan.threads, by_registers, 32), 1)


@cute.kernel
def transpose_few_rows(
    x: cute.Tensor,
    y: cute.Tensor,
    n: cutlass.Int32,
    ldx: cutlass.Int64,
    apart: tuple[cutlass.Int64, cutlass.Int64],
    starts: tuple[cutlass.Int64, cutlass.Int64],
    whole: tuple[cutlass.Int64, cutlass.Int64],
    plan: cutlass.Constexpr,
    early: cutlass.Constexpr,
):
    """`x` and `y` (chunk,chunks), aligned; element (m, n) of `x` is number starts[0] + m * ldx + n.

    Matrix i of a batch starts `apart` times i further on; `whole`: see `load_chunk`.
    """
    size = plan.chunk
    tid, _, _ = cute.arch.thread_idx()
    block, item, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator().allocate_tensor(
        x.element_type, cute.make_layout(plan.chunk * plan.room), byte_alignment=128
    )
    n0 = block * plan.columns
    left = n - n0
    start, begin, late = starts[0] + item * apart[0], starts[1] + item * apart[1], 0
    if cutlass.const_expr(plan.loose):
        # The chunks of `y` begin up to a chunk before those of the block: in the column before.
        start, late = start - 1, cutlass.Int32(begin & (size - 1))
    corner, wide = start + n0, min(left, plan.columns) + int(plan.loose)
    if cutlass.const_expr(plan.fetch):
        enter_fetching(
            early, residents(plan), x, corner + int(plan.loose), ldx, cutlass.Int32(plan.count), wide
        )
    else:
        enter(early)
    safe, held = load_pieces(x, in_slots(smem), wide, corner, ldx, whole, plan)
    cute.arch.cp_async_commit_group()

    # A warp stores eight chunks of each of four parts, which lie a column or two apart: see shifted.py.
    lane_m, lane_n, warp = tid % LANES_M, tid // LANES_M % LANES_N, tid // 32
    among = plan.parts // LANES_N
    in_part = warp // among * LANES_M + lane_m
    mine = (warp % among * LANES_N + lane_n) * plan.part + in_part
    ahead = ahead_by(lane_n, plan.product, plan.word)
    places = []
    for k in cutlass.range_constexpr(size):
        element = size * mine + ((k + plan.word * ahead) & (size - 1)) - late + int(plan.loose) * plan.count
        across = element // plan.count
        row = element - across * plan.count
        shift = 0 if plan.slope is None else cutlass.Int32((corner + row * plan.slope) & (size - 1))
        places.append(size * slot_of(row, 0, plan) + shift + across)
    if cutlass.const_expr(plan.eager):
        places = worked_out(places)
        if safe:
            keep_pieces(held, in_slots(smem), plan)
    cells = [cells_at(smem, place) for place in places]
    here = y[None, (begin >> plan.bits) + block * (plan.columns // size * plan.count) + mine]
    chunks = cute.make_layout((size, plan.columns * plan.count), stride=(1, size))
    run = cute.make_tensor(here.iterator, chunks)
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    if in_part < plan.part and mine < plan.chunks:
        times = plan.columns // (size * plan.unit)
        inner = left >= plan.columns
        if cutlass.const_expr(plan.loose):
            inner = inner and (n0 > 0 or late == 0)
        if inner:
            for i in cutlass.range_constexpr(times):
                store_wide(
                    in_order(cells, i * plan.unit * size, ahead, plan), run[None, i * plan.chunks], "plain"
                )
        else:
            for i in cutlass.range(times, unroll=1):
                taken = in_order(cells, i * plan.unit * size, ahead, plan)
                # Elements of `y` from the chunk on, and those of the matrix before it.
                place = size * (i * plan.chunks + mine) - late
                more, before = left * plan.count - place, n0 * plan.count + place
                if more >= size and before >= 0:
                    store_wide(taken, run[None, i * plan.chunks], "plain")
                else:
                    for k in cutlass.range_constexpr(size):
                        if k < more and before + k >= 0:
                            run[k, i * plan.chunks] = taken[k]


@cute.jit
def load_pieces(
    x: cute.Tensor,
    slots: cute.Tensor,
    wide: cutlass.Int32,
    corner: cutlass.Int64,
    ldx: cutlass.Int64,
    whole: tuple[cutlass.Int64, cutlass.Int64],
    plan: cutlass.Constexpr,
):
    """The `wide` columns of a block, from element `corner` on; whether registers hold them, and which."""
    size = plan.chunk
    tid, _, _ = cute.arch.thread_idx()
    row, chunk = tid // plan.each, tid % plan.each
    place = corner + row * ldx
    # Whether no chunk of theirs reaches out of the tensor's memory.
    last = (corner + (plan.count - 1) * ldx) >> plan.bits
    safe = size * (corner >> plan.bits) >= whole[0] and size * (last + plan.each) <= whole[1]
    held = None
    if cutlass.const_expr(plan.load == "async"):
        if safe:
            for i in cutlass.range_constexpr(plan.passes):
                here = place + i * plan.step * ldx
                wanted = row < min(plan.step, plan.count - i * plan.step)
                if wanted and size * chunk - cutlass.Int32(here & (size - 1)) < wide:
                    slot = slots[None, slot_of(row + i * plan.step, chunk, plan)]
                    copy_kept(x[None, (here >> plan.bits) + chunk], slot)
    else:
        held = cute.make_rmem_tensor((size, plan.passes), x.element_type)
        if safe:
            for i in cutlass.range_constexpr(plan.passes):
                here = place + i * plan.step * ldx
                wanted = row < min(plan.step, plan.count - i * plan.step)
                if wanted and size * chunk - cutlass.Int32(here & (size - 1)) < wide:
                    load_wide(x[None, (here >> plan.bits) + chunk], held[None, i], plan.load)
            if cutlass.const_expr(not plan.eager):
                keep_pieces(held, slots, plan)
    if not safe:
        for i in cutlass.range(plan.passes, unroll=1):
            line, here = row + i * plan.step, place + i * plan.step * ldx
            wanted = size * chunk - cutlass.Int32(here & (size - 1)) < wide
            if row < plan.step and line < plan.count and wanted:
                load_chunk(x, (here >> plan.bits) + chunk, slots[None, slot_of(line, chunk, plan)], whole)
    return safe, held


@cute.jit
def keep_pieces(held, slots: cute.Tensor, plan: cutlass.Constexpr):
    """What `load_pieces` loaded to registers, to shared memory."""
    if cutlass.const_expr(held is not None):
        tid, _, _ = cute.arch.thread_idx()
        row, chunk = tid // plan.each, tid % plan.each
        write = cute.make_copy_atom(CopyUniversalOp(), slots.element_type, num_bits_per_copy=128)
        for i in cutlass.range_constexpr(plan.passes):
            if row < min(plan.step, plan.count - i * plan.step):
                cute.copy(write, held[None, i], slots[None, slot_of(row + i * plan.step, chunk, plan)])


def slot_of(row, chunk, plan: FewRows):
    """Where a chunk of a row of `x` lies in shared memory."""
    return row * plan.each + (row >> plan.bits) + chunk


@cute.jit
def in_order(cells: list, further, ahead, plan: cutlass.Constexpr) -> cute.Tensor:
    """A chunk of `y`, whose elements a thread reads from its pair number `ahead` on."""
    taken = gathered(cells, further)
    if cutlass.const_expr(ahead_by(1, plan.product, plan.word) == 1):
        taken = rotated(taken, ahead * max(plan.size // 4, 1))
    return taken


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
    smem = cutlass.memory.SmemAllocator().allocate_tensor(
        x.element_type, cute.make_layout(plan.chunk * plan.room), byte_alignment=128
    )
    m0 = block * plan.rows
    low, high = max(m0 - plan.align, 0), min(m0 + plan.rows, m)
    if cutlass.const_expr(plan.fetch):
        run = size * plan.pitch
        first = whole[0] + cutlass.Int64(low) * plan.pitch
        enter_fetching(
            early,
            residents(plan),
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
    cells = []
    for k in cutlass.range_constexpr(size):
        row = plan.align - late + size * further + ((k + plan.word * ahead) & (size - 1))
        spaced = size * (plan.apart - plan.pitch) * (row >> plan.bits)
        shift = cutlass.Int32(corner & (size - 1)) if plan.loose else 0
        cells.append(cells_at(smem, row * plan.pitch + spaced + n1 + shift))
    here = y[None, ((place - late) >> plan.bits) + further]
    next_columns = divisible(ldy * plan.across, size)
    m1 = m0 - late + size * further
    times = -(-plan.count // plan.across)
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    if inner:
        for i in cutlass.range_constexpr(times):
            if (i + 1) * plan.across <= plan.count or n1 + i * plan.across < plan.count:
                store_wide(in_order(cells, i * plan.across, ahead, plan), here, "plain")
            here = cute.make_tensor(here.iterator + next_columns, here.layout)
    else:
        for i in cutlass.range(times, unroll=1):
            if n1 + i * plan.across < plan.count:
                taken = in_order(cells, i * plan.across, ahead, plan)
                there = cute.make_tensor(here.iterator + i * next_columns, here.layout)
                if m1 >= 0 and m1 + size <= m:
                    store_wide(taken, there, "plain")
                else:
                    for k in cutlass.range_constexpr(size):
                        if m1 + k >= 0 and m1 + k < m:
                            there[k] = taken[k]


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


def build_thin(plan: FewRows | FewColumns, early: bool = False) -> Kernel:
    """Less than 2**31 elements. The side that is one run starts on 16 bytes, unless `plan.loose`."""

    @cute.jit
    def host(x: cute.Tensor, y: cute.Tensor, stream):
        transpose, grid, *args = in_thin(x, y, plan)
        percent = -(-100 * residents(plan) * smem_bytes(plan) // (1024 * SMEM_KIB))
        transpose(*args, plan, early).launch(
            grid=grid,
            block=(plan.threads, 1, 1),
            min_blocks_per_mp=residents(plan),
            preferred_smem_carveout=min(percent, 100),
            stream=stream,
            use_pdl=early,
        )

    return Kernel(host, fake_args(TYPES[plan.size], plan.size))


def in_thin(x: cute.Tensor, y: cute.Tensor, plan: FewRows | FewColumns) -> tuple[Any, ...]:
    """The kernel, its grid, and what it takes before its plan."""
    size, none = plan.chunk, cutlass.Int64(0)
    m, n, pitch_x, pitch_y = x.shape[0], x.shape[1], x.stride[0], y.stride[0]
    if isinstance(plan, FewRows):
        start = none if plan.slope is None else start_in(x, size)
        begin = start_in(y, size) if plan.loose else none
        items, apart = matrices(x, y)
        grid = (
            n // plan.columns + 1 if plan.loose else (n + plan.columns - 1) // plan.columns,
            items,
            1,
        )
        views, whole = (aligned(x, start, size), aligned(y, begin, size)), (start, start + reach(x))
        return transpose_few_rows, grid, *views, n, pitch_x, apart, (start, begin), whole
    start_x = start_in(x, size) if plan.loose else none
    start = start_in(y, plan.align) if plan.align else none
    views, whole = (aligned(x, start_x, size), aligned(y, start, size)), (start_x, start_x + reach(x))
    tiles = (m + max(plan.align - 1, 0) + plan.rows - 1) // plan.rows
    return transpose_few_columns, (tiles, 1, 1), *views, m, pitch_y, cutlass.Int32(start), whole
