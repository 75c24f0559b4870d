"""The transpose of few rows whose number is known, whatever the pitch of `y`: pads, odd bases and batches.

A block takes some columns of all rows. A row of `y` is then whole 32-byte sectors, and what it has of those
at its ends, which hold elements of its neighbours or pads as well. Whole sectors are stored by chunks; a
thread stores the same chunk of rows that lie a multiple of a sector apart, which start as far into one. What
is left goes by elements, one a lane, each sector by lanes side by side, the end of a row with the start of
the next: a store that writes a part of a sector costs the L2 more than a whole one
(benchmarks/transpose_pads.py), so each sector should be written once. It is read before: a block asks for it
as early as it can.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import cutlass
from cutlass import cute

from kernels.transpose.chunks import (
    Chunks,
    aligned,
    cells_at,
    gathered,
    in_slots,
    launched,
    reach,
    room_for,
    suffices,
)
from kernels.transpose.common import (
    Kernel,
    enter_fetching,
    fetch_ends,
    matrices,
    start_in,
    worked_out,
)
from kernels.transpose.few_rows import FewRows, keep_pieces, load_pieces, place_of
from kernels.transpose.fitting import in_rows
from kernels.transpose.registers import store_wide


class Padded(NamedTuple):
    """`count` rows of `x`, at least a sector; a block takes `columns`, and stores `across` side by side.

    `columns` is a multiple of `across`, and that of `sector`; `size`, `slope`: as for `FewRows`. A block that
    starts early has what it will load brought to the L2. `soon`: and, before that, the ends of its rows of
    `y`.
    """

    count: int
    columns: int = 48
    across: int = 48
    size: int = 2
    soon: bool = False
    slope: int = 0

    chunk, bits, word, smem_bytes = Chunks.chunk, Chunks.bits, Chunks.word, Chunks.smem_bytes
    step, passes, room = FewRows.step, FewRows.passes, FewRows.room
    apart, spread = FewRows.apart, FewRows.spread
    eager, load, limits = True, "evict_last", {"preferred_smem_carveout": 100}

    @property
    def sector(self) -> int:
        """Elements of a sector."""
        return 2 * self.chunk

    @property
    def stack(self) -> int:
        """Chunks in whole sectors of a row of `y`, at most."""
        return self.count // self.sector * 2

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return -(-self.stack * self.across // 32) * 32

    @property
    def each(self) -> int:
        """Chunks of a row of `x`: one more where it may start in the middle of one."""
        return self.columns // self.chunk + 1

    @property
    def residents(self) -> int:
        """Blocks that shared memory and threads of a multiprocessor suffice for."""
        return suffices(self)

    def fits(self, x: Any, y: Any) -> bool:
        """Whether the kernel takes these two."""
        return (
            in_rows(x, y, self.size)
            and y.stride(-2) * self.columns < 2**31
            and x.stride(-2) % self.chunk == self.slope
        )


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
    smem = room_for(plan, x.element_type)
    n0 = block * plan.columns
    wide = min(n - n0, plan.columns)
    corner = starts[0] + item * apart[0] + n0
    if cutlass.const_expr(plan.soon):
        begin = starts[1] + item * apart[1] + n0 * pitches[1]
        fetch_ends(y, begin, pitches[1], wide, cutlass.Int32(plan.count))
    enter_fetching(early, plan.residents, x, corner, pitches[0], cutlass.Int32(plan.count), wide)
    low = cutlass.Int32(corner & (plan.chunk - 1))
    safe, held = load_pieces(x, in_slots(smem), wide, corner, pitches[0], whole, low, plan)
    cute.arch.cp_async_commit_group()

    # Here and no sooner: each register less of what the loads need is one more block.
    begin = starts[1] + item * apart[1] + n0 * pitches[1]
    if cutlass.const_expr(not plan.soon):
        fetch_ends(y, begin, pitches[1], wide, cutlass.Int32(plan.count))
    # While the loads are on their way: the first chunk of `y` that the thread stores, and what it holds.
    size = plan.chunk
    column, chunk = tid // plan.stack, tid % plan.stack
    place = begin + column * pitches[1]
    before = cutlass.Int32(-place & (plan.sector - 1))
    row, sector_end = before + size * chunk, before + plan.sector * (chunk // 2 + 1)
    here = ((place + before) >> plan.bits) + chunk
    places = worked_out([place_of(row + k, low, plan) + column for k in range(size)])
    if safe:
        keep_pieces(held, in_slots(smem), low, plan)
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    cells = [cells_at(smem, place) for place in places]
    if column < plan.across and sector_end <= plan.count:
        for i in cutlass.range_constexpr(plan.columns // plan.across):
            if column + i * plan.across < wide:
                taken = gathered(cells, i * plan.across)
                store_wide(taken, y[None, here + i * (plan.across // size) * pitches[1]], "plain")
    store_rest(smem, y, begin, cutlass.Int32(pitches[1]), wide, low, plan)


@cute.jit
def store_rest(
    smem: cute.Tensor,
    y: cute.Tensor,
    begin: cutlass.Int64,
    ldy: cutlass.Int32,
    wide: cutlass.Int32,
    low: cutlass.Int32,
    plan: cutlass.Constexpr,
):
    """What rows of `y` have of sectors that are not all theirs, an element a lane.

    First the sectors in which a row ends, with what the next one has of them; then those in which a row
    starts, where pads set it apart from the one before.
    """
    tid, _, _ = cute.arch.thread_idx()
    size = plan.sector
    at_once, k, into = plan.threads // size, tid % size, cutlass.Int32(begin & (size - 1))
    rows = cute.make_tensor(y.iterator + begin, cute.make_layout(1 << 30))
    for apart in cutlass.range_constexpr(2):
        for i in cutlass.range_constexpr(-(-(plan.columns + 1) // at_once)):
            # Places in `rows`: where row `column` of the block starts, and where the one before it ends.
            column = i * at_once + tid // size
            start = column * ldy
            end = start - ldy + plan.count
            into_end, into_start = (into + end) & (size - 1), (into + start) & (size - 1)
            place = (start - into_start if apart else end - into_end) + k
            begins = place >= start and into_start > 0 and column < wide
            ends = k < into_end and column > 0 and column <= wide
            if cutlass.const_expr(apart):
                begins, ends = begins and start - into_start != end - into_end, False
            if begins or ends:
                row, across = (place - start, column) if begins else (place - start + ldy, column - 1)
                rows[place] = smem[place_of(row, low, plan) + across]


def build_padded(plan: Padded, early: int = 0) -> Kernel:
    """`plan.count` rows, `plan.slope`, any pitch of `y` and bases; rows of `x` and of `y` contiguous."""
    return launched(transpose_padded, in_padded, plan, early)


def in_padded(x: cute.Tensor, y: cute.Tensor, plan: Padded) -> tuple[Any, ...]:
    """The grid, and what `transpose_padded` takes before its plan."""
    items, apart = matrices(x, y)
    tiles = (x.shape[1] + plan.columns - 1) // plan.columns
    starts = start_in(x, plan.chunk), start_in(y, plan.sector)
    views = aligned(x, starts[0], plan.chunk), aligned(y, starts[1], plan.sector)
    whole = starts[0], starts[0] + reach(x)
    return (tiles, items, 1), *views, x.shape[1], (x.stride[0], y.stride[0]), apart, starts, whole
