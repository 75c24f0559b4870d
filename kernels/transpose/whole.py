"""The transpose of many small matrices: a block holds some, so that both of its sides are runs of chunks.

Nothing is read or written twice, whatever the extents, which are known when the kernel is compiled: 16-byte
chunks of `x` go to shared memory as they lie, and a thread gathers the elements of a chunk of `y`, or of a
word, from there. Where they lie, it works out once for all that it stores a number of whole matrices further;
words repeat sooner than chunks. Only the first and the last of a block, which its neighbours may share, are
written by elements.
"""

from __future__ import annotations

import math
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import CopyR2GOp, CopyUniversalOp

from kernels.transpose.chunks import (
    Chunks,
    aligned,
    cells_at,
    in_slots,
    launched,
    load_chunk,
    reach,
    room_for,
    suffices,
)
from kernels.transpose.common import (
    SECTOR,
    Kernel,
    divisible,
    enter_fetching,
    fetch_ends,
    let_others_start,
    matrices,
    start_in,
    wait_at,
    worked_out,
)
from kernels.transpose.fitting import in_rows
from kernels.transpose.registers import load_wide

LINES = 512
"""Bytes that one instruction brings to the L2: one of 40 KB never ended."""

BANKS = 128
"""Bytes that lie in different banks."""

EARLY = 16
"""Elements, at most, whose places a thread works out while its loads are under way, but those of a store."""


class Whole(NamedTuple):
    """`shape`: rows and columns of a matrix; `items` of a block, whose threads store `beside` side by side.

    `size`: bytes of an element; `pads`: elements from the end of a row to the next row, in `x` and in `y`;
    `store`: bytes that a thread stores at a time, of a chunk, a word or an element. The matrices of a block
    follow one another as rows do.
    """

    shape: tuple[int, int]
    items: int = 1
    beside: int = 512
    size: int = 2
    pads: tuple[int, int] = (0, 0)
    store: int = 16

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
    def threads(self) -> int:
        """Threads of a block."""
        return -(-self.beside // 32) * 32

    @property
    def spread(self) -> bool:
        """Whether a chunk is left out of shared memory after each `BANKS` bytes, since rows share banks."""
        return self.pitches[0] * self.size % 16 == 0

    @property
    def chunks(self) -> int:
        """Of `x`: two more than the elements have where they start within one."""
        return self.items * self.apart[0] // self.chunk + 2

    @property
    def room(self) -> int:
        """Chunks in shared memory; where `y` has pads, a thread reads rows of them, too."""
        rows = max(self.stored - 1, self.pads[1]) * (self.pads[1] > 0)
        chunks = self.chunks + -(-rows * self.pitches[0] // self.chunk)
        return chunks + self.spread * (chunks * 16 // BANKS)

    @property
    def held(self) -> int:
        """Chunks of `x` that a thread loads."""
        return -(-self.chunks // self.threads)

    @property
    def stored(self) -> int:
        """Elements of `y` that a thread stores at a time."""
        return self.store // self.size

    @property
    def passes(self) -> int:
        """How often a thread stores."""
        return -(-((self.items * self.apart[1] + 2 * self.stored - 2) // self.stored) // self.beside)

    @property
    def alike(self) -> int:
        """Stores from one to the next that has all its elements one number further in shared memory."""
        run, step = (self.pitches[1], 1) if self.items == 1 else (self.apart[1], self.apart[0])
        runs = BANKS // math.gcd(BANKS, step * self.size) if self.spread else 1
        return math.lcm(runs * run, self.stored) // self.stored

    @property
    def sets(self) -> int:
        """Passes from one to the next in which a thread stores alike."""
        return self.alike // math.gcd(self.alike, self.beside)

    @property
    def further(self) -> int:
        """That number, after so many passes."""
        run = self.stored * self.beside * self.sets
        apart = run // self.pitches[1] if self.items == 1 else run // self.apart[1] * self.apart[0]
        return apart + self.spread * (apart * self.size // BANKS * self.chunk)

    @property
    def known(self) -> int:
        """Passes whose places a thread works out while its loads are under way."""
        return self.sets if self.sets * self.stored <= EARLY else 1

    @property
    def residents(self) -> int:
        """Blocks that shared memory and threads of a multiprocessor suffice for."""
        return suffices(self)

    def fits(self, x: Any, y: Any) -> bool:
        """Whether the kernel takes these two."""
        alike = self.items == 1 or self.apart == (x.stride(0), y.stride(0))
        return alike and in_rows(x, y, self.size)


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
    origin, late = cutlass.Int32(start_x & (size - 1)), cutlass.Int32(start_y & (plan.stored - 1))
    first_x, count = (
        start_x >> (size.bit_length() - 1),
        (origin + total + size - 1) >> (size.bit_length() - 1),
    )
    safe = size * first_x >= whole[0] and size * (first_x + count) <= whole[1]
    begin, end = plan.stored * tid - late, here * plan.apart[1]
    if cutlass.const_expr(plan.items > 1):
        # All of it before the wait for the kernel ahead: see `wait_at`.
        known = known_places(begin, origin, plan)
        run = LINES // plan.size
        enter_fetching(
            early,
            plan.residents,
            x,
            start_x,
            cutlass.Int64(run),
            total // run,
            cutlass.Int32(run),
            reduce(or_, [place for _, places in known for place in places]),
        )
    else:
        let_others_start(early)
        wait_at(early, first_x)
    smem = room_for(plan, x.element_type)
    slots = in_slots(smem)
    held = cute.make_rmem_tensor((size, plan.held), x.element_type)
    if safe:
        for i in cutlass.range_constexpr(plan.held):
            if tid + i * plan.threads < count:
                load_wide(x[None, first_x + tid + i * plan.threads], held[None, i], "evict_last")
    # Rows shorter than a sector are slower with it.
    if cutlass.const_expr(plan.pads[1] > 0 and plan.size * plan.pitches[1] >= SECTOR):
        rows = cutlass.Int32(here * plan.shape[1])
        fetch_ends(y, start_y, cutlass.Int64(plan.pitches[1]), rows, cutlass.Int32(plan.shape[0]))
    if cutlass.const_expr(plan.items == 1):
        known = known_places(begin, origin, plan)  # while the loads are on their way
    if safe:
        write = cute.make_copy_atom(CopyUniversalOp(), x.element_type, num_bits_per_copy=128)
        for i in cutlass.range_constexpr(plan.held):
            if tid + i * plan.threads < count:
                cute.copy(write, held[None, i], slots[None, slot_of(tid + i * plan.threads, plan)])
    else:
        for i in cutlass.range(tid, count, plan.threads, unroll=1):
            load_chunk(x, first_x + i, slots[None, slot_of(i, plan)], whole)
    cute.arch.cp_async_commit_group()

    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    stores = cute.make_layout((plan.stored, 1 << 30), stride=(1, plan.stored))
    place = divisible(start_y - late + tid * plan.stored, plan.stored)
    mine = cute.make_tensor(y.iterator + place, stores)
    if tid < plan.beside:
        store_all(smem, mine, known, begin, end, origin, plan)
    if cutlass.const_expr(plan.stored > 1 and plan.pads[1] == 0):
        single = plan._replace(store=plan.size)
        store_ends(smem, cute.make_tensor(y.iterator + start_y, 1 << 30), late, end, origin, plan, single)


@cute.jit
def store_all(
    smem: cute.Tensor,
    y: cute.Tensor,
    known: list,
    begin: cutlass.Int32,
    end: cutlass.Int32,
    origin: cutlass.Int32,
    plan: cutlass.Constexpr,
):
    """What a thread stores of `y` (stored,stores), which starts at the block's element `begin` of `end`.

    `known`: what `places_of` says of its first passes.
    """
    write = cute.make_copy_atom(CopyR2GOp(), y.element_type, num_bits_per_copy=8 * plan.store)
    step = plan.stored * plan.beside
    held, of_rows = [], []
    for i in cutlass.range_constexpr(plan.passes):
        rows, places = known[i % plan.known]
        further = i // plan.known * plan.further
        if cutlass.const_expr(i >= plan.known and plan.sets > plan.known):
            rows, places = places_of(begin + i * step, origin, plan)
            further = 0
        if cutlass.const_expr(i == 0):
            places = [cutlass.max(place, 0) for place in places]  # a word may start before the block
        cells = [cells_at(smem, place) for place in places]
        taken = cute.make_rmem_tensor((plan.stored,), y.element_type)
        if cutlass.const_expr((i + 1) * step <= plan.items * plan.apart[1]):  # noqa: SIM114  when compiling
            fill(taken, cells, further)
        elif begin + i * step + (plan.stored if plan.pads[1] == 0 else 1) <= end:
            fill(taken, cells, further)
        held.append(taken)
        of_rows.append(rows)
    for i in cutlass.range_constexpr(plan.passes):
        first = begin + i * step
        inside = first >= 0 and first + plan.stored <= end
        if cutlass.const_expr(plan.pads[1] > 0):
            inside = inside and of_rows[i][0] + plan.stored <= plan.shape[0]
        if inside:
            cute.copy(write, held[i], y[None, i * plan.beside])
        elif cutlass.const_expr(plan.stored > 1 and plan.pads[1] > 0):
            for k in cutlass.range_constexpr(plan.stored):
                if first + k >= 0 and first + k < end and of_rows[i][k] < plan.shape[0]:
                    y[k, i * plan.beside] = held[i][k]


@cute.jit
def fill(taken: cute.Tensor, cells: list, further: cutlass.Constexpr):
    """Read a number of elements from each cell on."""
    for k in cutlass.range_constexpr(len(cells)):
        taken[k] = cells[k][further]


@cute.jit
def store_ends(
    smem: cute.Tensor,
    y: cute.Tensor,
    late: cutlass.Int32,
    end: cutlass.Int32,
    origin: cutlass.Int32,
    plan: cutlass.Constexpr,
    single: cutlass.Constexpr,
):
    """The elements before the first whole store of a block and after its last, by single stores."""
    tid, _, _ = cute.arch.thread_idx()
    before, after = -late & (plan.stored - 1), (late + end) & (plan.stored - 1)
    if tid < 2 * plan.stored:
        place = tid if tid < before else end - 1 - (tid - plan.stored)
        inside = tid < before and tid < end
        if tid >= plan.stored:
            inside = tid - plan.stored < after and place >= before
        if inside:
            _, places = places_of(place, origin, single)
            y[place] = cells_at(smem, places[0])[0]


def known_places(begin, origin, plan):
    """What `places_of` says of the first passes of a thread."""
    step = plan.stored * plan.beside
    known = [places_of(begin + i * step, origin, plan) for i in range(plan.known)]
    return [(rows, worked_out(places) if plan.items > 1 else places) for rows, places in known]


def slot_of(chunk, plan):
    """Where a chunk of `x` lies in shared memory."""
    return chunk + (chunk >> 3) if plan.spread else chunk


def places_of(begin, origin, plan):
    """The rows of `x`, pads of `y` among them, and the places in shared memory, of what a thread stores.

    `begin`: the first element of it, counted from the block's first of `y`.
    """
    rows, places = elements_of(begin, origin, plan)
    if plan.spread:
        bits = (BANKS // plan.size).bit_length() - 1
        places = [place + (place >> bits) * plan.chunk for place in places]
    return rows, places


def elements_of(begin, origin, plan):
    """As `places_of`, counted from the first element of `x` that the block has, `origin` in its chunk."""
    (_, n), (ldx, ldy), (apart_x, apart_y) = plan.shape, plan.pitches, plan.apart
    item = 0
    if plan.items > 1:
        before = -(-plan.stored // apart_y)  # the first may start before the matrix
        item = (begin + before * apart_y) // apart_y - before
        begin -= item * apart_y
    n1 = (begin + plan.stored * ldy) // ldy - plan.stored
    m1 = begin - n1 * ldy
    place = origin + item * apart_x + m1 * ldx + n1
    if plan.stored <= ldy:  # they end in the row of `y` that they start in, or in the next
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


def build_whole(plan: Whole = STANDARD, early: int = 0) -> Kernel:
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
