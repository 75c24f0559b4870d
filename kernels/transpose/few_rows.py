"""The transpose of few rows, whose number is known when it is compiled: so places are numbers.

A block takes all rows of some columns. Its tile is a piece of each row of `x`, and one run of aligned 16-byte
chunks of `y`. Rows lie in shared memory as far into a chunk as in global memory, and a known distance apart.
A thread works out once where the elements of its first chunk of `y` lie there. Those of its other chunks lie
a known distance further: a chunk of columns on, as many chunks of `y` further as there are rows. So a chunk
takes a read for each element, the permutes and a store.
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
    copy_kept,
    gathered,
    in_slots,
    launched,
    load_chunk,
    reach,
    room_for,
    rotated,
    suffices,
)
from kernels.transpose.common import (
    Kernel,
    enter,
    enter_fetching,
    matrices,
    start_in,
    worked_out,
)
from kernels.transpose.fitting import in_rows
from kernels.transpose.registers import load_wide, store_wide

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

    chunk, bits, word, limits = Chunks.chunk, Chunks.bits, Chunks.word, Chunks.limits
    smem_bytes = Chunks.smem_bytes

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
    def apart(self) -> int:
        """Elements in shared memory from a row to the next, which starts `slope` further into a chunk."""
        return self.chunk * self.each + (self.slope or 0)

    @property
    def spread(self) -> int:
        """Elements more after every chunk of rows, so that eight of these lie in different banks.

        They do anyway if `apart` is odd.
        """
        return self.chunk * (1 - self.apart % 2)

    @property
    def room(self) -> int:
        """Chunks in shared memory, wherever in a chunk the first row starts."""
        last = (self.count - 1) * self.apart + (self.count - 1) // self.chunk * self.spread
        return (last + self.chunk - 1) // self.chunk + self.each

    @property
    def residents(self) -> int:
        """Blocks that shared memory, threads and registers of a multiprocessor suffice for."""
        held = 4 * self.passes * (self.load != "async")
        # A place and an element for each of a chunk, when nothing is held any more.
        needed = max(held + OTHERS, 16 + 2 * self.chunk)
        if self.eager:
            # The places while all is held, and fewer of the others then; registers come by eights.
            needed = -(-max(held + self.chunk + 18, needed) // 8) * 8
        return suffices(self, REGISTERS // (self.threads * needed))

    def fits(self, x: Any, y: Any) -> bool:
        """Whether the kernel takes these two."""
        return in_rows(x, y, self.size) and y.stride(-2) == self.count and x.numel() < 2**31


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
    smem = room_for(plan, x.element_type)
    n0 = block * plan.columns
    left = n - n0
    start, begin, late = starts[0] + item * apart[0], starts[1] + item * apart[1], 0
    if cutlass.const_expr(plan.loose):
        # The chunks of `y` begin up to a chunk before those of the block: in the column before.
        start, late = start - 1, cutlass.Int32(begin & (size - 1))
    corner, wide = start + n0, min(left, plan.columns) + int(plan.loose)
    if cutlass.const_expr(plan.fetch):
        enter_fetching(
            early, plan.residents, x, corner + int(plan.loose), ldx, cutlass.Int32(plan.count), wide
        )
    else:
        enter(early)
    low = 0 if plan.slope is None else cutlass.Int32(corner & (size - 1))
    safe, held = load_pieces(x, in_slots(smem), wide, corner, ldx, whole, low, plan)
    cute.arch.cp_async_commit_group()

    # A warp stores eight chunks of each of four parts, which lie a column or two apart: see shifted.py.
    lane_m, lane_n, warp = tid % LANES_M, tid // LANES_M % LANES_N, tid // 32
    among = plan.parts // LANES_N
    in_part = warp // among * LANES_M + lane_m
    mine = (warp % among * LANES_N + lane_n) * plan.part + in_part
    ahead = ahead_by(lane_n, plan.product, plan.word)
    places = places_of(size * mine - late + int(plan.loose) * plan.count, low, ahead, plan)
    if cutlass.const_expr(plan.eager):
        places = worked_out(places)
        if safe:
            keep_pieces(held, in_slots(smem), low, plan)
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
    low: cutlass.Int32 | int,
    plan: cutlass.Constexpr,
):
    """The `wide` columns of a block, from element `corner` on, which is element `low` of its chunk.

    Returns whether registers hold them, and which.
    """
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
                    slot = slots[None, slot_of(row + i * plan.step, chunk, low, plan)]
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
                keep_pieces(held, slots, low, plan)
    if not safe:
        for i in cutlass.range(plan.passes, unroll=1):
            line, here = row + i * plan.step, place + i * plan.step * ldx
            wanted = size * chunk - cutlass.Int32(here & (size - 1)) < wide
            if row < plan.step and line < plan.count and wanted:
                load_chunk(
                    x, (here >> plan.bits) + chunk, slots[None, slot_of(line, chunk, low, plan)], whole
                )
    return safe, held


@cute.jit
def keep_pieces(held, slots: cute.Tensor, low: cutlass.Int32 | int, plan: cutlass.Constexpr):
    """What `load_pieces` loaded to registers, to shared memory."""
    if cutlass.const_expr(held is not None):
        tid, _, _ = cute.arch.thread_idx()
        row, chunk = tid // plan.each, tid % plan.each
        write = cute.make_copy_atom(CopyUniversalOp(), slots.element_type, num_bits_per_copy=128)
        for i in cutlass.range_constexpr(plan.passes):
            if row < min(plan.step, plan.count - i * plan.step):
                cute.copy(write, held[None, i], slots[None, slot_of(row + i * plan.step, chunk, low, plan)])


def place_of(row, low, plan):
    """The element of shared memory where a row of `x` starts, of which the first starts at `low`."""
    return low + row * plan.apart + (row >> plan.bits) * plan.spread


def slot_of(row, chunk, low, plan):
    """Where a chunk of a row of `x` lies in shared memory."""
    return (place_of(row, low, plan) >> plan.bits) + chunk


def places_of(first, low, ahead, plan: FewRows) -> list:
    """Where in shared memory the elements of a chunk of `y` lie, which begins with its element `first`.

    As a thread reads them, from its pair number `ahead` on.
    """
    across = first // plan.count
    row = first - across * plan.count
    begin, into = place_of(row, low, plan) + across, row & (plan.chunk - 1)
    next_column = plan.count * plan.apart - 1 + (row - into if plan.spread else 0)
    places = []
    for k in range(plan.chunk):
        further = (k + plan.word * ahead) & (plan.chunk - 1)
        place = begin + further * plan.apart
        if plan.count < plan.chunk:
            place -= (row + further) // plan.count * next_column
        else:  # one column at most ends within a chunk of `y`
            more = cutlass.Int32(into + further >= plan.chunk) * plan.spread
            place += cutlass.select_(row + further >= plan.count, -next_column, more)
        places.append(place)
    return places


@cute.jit
def in_order(cells: list, further, ahead, plan: cutlass.Constexpr) -> cute.Tensor:
    """A chunk of `y`, whose elements a thread reads from its pair number `ahead` on."""
    taken = gathered(cells, further)
    if cutlass.const_expr(ahead_by(1, plan.product, plan.word) == 1):
        taken = rotated(taken, ahead * max(plan.size // 4, 1))
    return taken


def build_few_rows(plan: FewRows, early: int = 0) -> Kernel:
    """Less than 2**31 elements; `y` without gaps, and on 16 bytes unless `plan.loose`."""
    return launched(transpose_few_rows, in_few_rows, plan, early)


def in_few_rows(x: cute.Tensor, y: cute.Tensor, plan: FewRows) -> tuple[Any, ...]:
    """The grid, and what `transpose_few_rows` takes before its plan."""
    size, none, n = plan.chunk, cutlass.Int64(0), x.shape[1]
    start = none if plan.slope is None else start_in(x, size)
    begin = start_in(y, size) if plan.loose else none
    items, apart = matrices(x, y)
    tiles = n // plan.columns + 1 if plan.loose else (n + plan.columns - 1) // plan.columns
    views, whole = (aligned(x, start, size), aligned(y, begin, size)), (start, start + reach(x))
    return (tiles, items, 1), *views, n, x.stride[0], apart, (start, begin), whole
