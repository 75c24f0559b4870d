"""The transpose of few rows whose number is known, whatever the pitch of `y`: pads, odd bases and batches.

A block takes some columns of all rows. A row of `y` is then whole chunks, `stack` of them at most, and what
it has of the chunks at its ends, which hold elements of its neighbours or pads as well. A thread stores the
same chunk of rows that lie a multiple of a chunk apart, which start as far into a chunk. Then threads store
what is left, an element each: the end of a row, and the start of the next one, side by side. So a sector that
pads leave in part is asked for once or twice, and not once for each of its elements.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import cutlass
from cutlass import cute

from kernels.transpose.common import (
    SMEM_KIB,
    TYPES,
    Kernel,
    enter,
    enter_fetching,
    fake_args,
    matrices,
    start_in,
    worked_out,
)
from kernels.transpose.registers import store_wide
from kernels.transpose.shifted import Shifted, aligned, cells_at, gathered, in_slots, reach
from kernels.transpose.thin import keep_pieces, load_pieces, slot_of


class Padded(NamedTuple):
    """`count` rows of `x`, at least a chunk; a block takes `columns`, and stores `across` side by side.

    Both are multiples of a chunk, the second a divisor of the first; `fetch`, `load` and `size`: as for
    `FewRows`.
    """

    count: int
    columns: int = 48
    across: int = 48
    fetch: bool = True
    load: str = "evict_last"
    size: int = 2

    chunk, bits, word = Shifted.chunk, Shifted.bits, Shifted.word
    eager = True

    @property
    def stack(self) -> int:
        """Whole chunks of a row of `y`, at most."""
        return self.count // self.chunk

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return -(-self.stack * self.across // 32) * 32

    @property
    def each(self) -> int:
        """Chunks of a row of `x`: one more where it may start in the middle of one."""
        return self.columns // self.chunk + 1

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

    @property
    def residents(self) -> int:
        """Blocks that shared memory and threads of a multiprocessor suffice for."""
        return max(min(1024 * SMEM_KIB // (16 * self.room + 1024), 2048 // self.threads, 32), 1)


@cute.kernel
def transpose_padded(
    x: cute.Tensor,
    y: cute.Tensor,
    n: cutlass.Int32,
    pitches: tuple[cutlass.Int64, cutlass.Int64],
    apart: tuple[cutlass.Int64, cutlass.Int64],
    starts: tuple[cutlass.Int64, cutlass.Int64],
    whole: tuple[cutlass.Int64, cutlass.Int64],
    plan: cutlass.Constexpr,
    early: cutlass.Constexpr,
):
    """`x` and `y` (chunk,chunks), aligned; element (m, n) of `x` is number starts[0] + m * pitches[0] + n.

    Matrix i of a batch starts `apart` times i further on; `whole`: see `load_chunk`.
    """
    tid, _, _ = cute.arch.thread_idx()
    block, item, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator().allocate_tensor(
        x.element_type, cute.make_layout(plan.chunk * plan.room), byte_alignment=128
    )
    n0 = block * plan.columns
    wide = min(n - n0, plan.columns)
    corner = starts[0] + item * apart[0] + n0
    if cutlass.const_expr(plan.fetch):
        enter_fetching(early, plan.residents, x, corner, pitches[0], cutlass.Int32(plan.count), wide)
    else:
        enter(early)
    safe, held = load_pieces(x, in_slots(smem), wide, corner, pitches[0], whole, plan)
    cute.arch.cp_async_commit_group()

    # While the loads are on their way: the first chunk of `y` that the thread stores, and what it holds.
    size, begin = plan.chunk, starts[1] + item * apart[1] + n0 * pitches[1]
    column, chunk = tid // plan.stack, tid % plan.stack
    place = begin + column * pitches[1]
    row = cutlass.Int32(-place & (size - 1)) + size * chunk
    here = ((place + size - 1) >> plan.bits) + chunk
    shift, slope = cutlass.Int32(corner & (size - 1)), cutlass.Int32(pitches[0] & (size - 1))
    places = worked_out([in_piece(row + k, shift, slope, plan) + column for k in range(size)])
    if safe:
        keep_pieces(held, in_slots(smem), plan)
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    cells = [cells_at(smem, place) for place in places]
    if column < plan.across and row + size <= plan.count:
        for i in cutlass.range_constexpr(plan.columns // plan.across):
            if column + i * plan.across < wide:
                taken = gathered(cells, i * plan.across)
                store_wide(taken, y[None, here + i * (plan.across // size) * pitches[1]], "plain")
    store_rest(smem, y, begin, pitches[1], wide, shift, slope, plan)


@cute.jit
def store_rest(
    smem: cute.Tensor,
    y: cute.Tensor,
    begin: cutlass.Int64,
    ldy: cutlass.Int64,
    wide: cutlass.Int32,
    shift: cutlass.Int32,
    slope: cutlass.Int32,
    plan: cutlass.Constexpr,
):
    """What rows of `y` have in chunks not all theirs: the end of one beside the start of the next."""
    tid, _, _ = cute.arch.thread_idx()
    size = plan.chunk
    at_once = plan.threads // (2 * size)
    place = tid % (2 * size)
    k, starts = place % size, place >= size
    flat = cute.make_tensor(smem.iterator, cute.make_layout(cute.cosize(smem.layout)))
    for i in cutlass.range_constexpr(-(-(plan.columns + 1) // at_once)):
        column = i * at_once + tid // (2 * size) - (0 if starts else 1)
        first = begin + column * ldy
        before, after = cutlass.Int32(-first & (size - 1)), cutlass.Int32((first + plan.count) & (size - 1))
        row = k if starts else plan.count - after + k
        if column >= 0 and column < wide and k < (before if starts else after):
            run = cute.make_tensor(y.iterator + first, cute.make_layout(plan.count))
            run[row] = flat[in_piece(row, shift, slope, plan) + column]


def in_piece(row, shift, slope, plan: Padded):
    """The element of shared memory where the piece of a row of `x` starts; `shift`: that of the first row."""
    return plan.chunk * slot_of(row, 0, plan) + ((shift + row * slope) & (plan.chunk - 1))


def build_padded(plan: Padded, early: bool = False) -> Kernel:
    """`plan.count` rows, any pitches and bases; rows of `x` and of `y` contiguous."""

    @cute.jit
    def host(x: cute.Tensor, y: cute.Tensor, stream):
        transpose_padded(*in_padded(x, y, plan), plan, early).launch(
            grid=((x.shape[1] + plan.columns - 1) // plan.columns, matrices(x, y)[0], 1),
            block=(plan.threads, 1, 1),
            preferred_smem_carveout=100,
            stream=stream,
            use_pdl=early,
        )

    return Kernel(host, fake_args(TYPES[plan.size], plan.size))


def in_padded(x: cute.Tensor, y: cute.Tensor, plan: Padded) -> tuple[Any, ...]:
    """What `transpose_padded` takes before its plan."""
    starts = start_in(x, plan.chunk), start_in(y, plan.chunk)
    views = aligned(x, starts[0], plan.chunk), aligned(y, starts[1], plan.chunk)
    whole = starts[0], starts[0] + reach(x)
    return *views, x.shape[1], (x.stride[0], y.stride[0]), matrices(x, y)[1], starts, whole
