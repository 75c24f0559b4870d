"""The transpose at any pitch and base: aligned 16-byte accesses on both sides, shifted in between.

A row of `x` may start on any element, so a block copies the aligned 16-byte chunks that cover its piece of
the row to shared memory as they are, one chunk more than the piece has. A row of `y` may start on any element
too, so a block owns whole chunks of it. Where a row of `y` starts `t` elements into a chunk, these hold rows
of `x` that lie `t` further up, so a block reads up to a chunk of rows of `x` more than it stores. A thread
gathers the elements of a chunk of `y` one by one from as many rows of the tile, each at its own shift, and
stores them at once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import CopyUniversalOp

from kernels.transpose.chunks import (
    LANES_M,
    Chunks,
    aligned,
    asynchronous,
    copy_kept,
    in_slots,
    launched,
    load_chunk,
    reach,
    room_for,
)
from kernels.transpose.common import (
    GRID_Y,
    SMEM_KIB,
    Kernel,
    enter,
    enter_fetching,
    fetch_ends,
    matrices,
    multiprocessors,
    start_in,
)
from kernels.transpose.fitting import in_rows
from kernels.transpose.registers import load_wide
from kernels.transpose.shifted_stores import gathering, store_chunks, store_ends


class Shifted(NamedTuple):
    """`tile`: elements of a thread block along (N, M), multiples of a chunk and of eight chunks.

    `align`: elements of `y` that no two blocks share a run of, a chunk or more, a divisor of 4 * `warps`;
    `most`: blocks on a multiprocessor, at most; `fetch`: a block that starts early has what it will load
    brought to the L2; `size`: bytes of an element; `edges`: the L2 policy of the loads, which keeps lines of
    `x`, holds for the chunk that a row needs beyond the tile, too; `ahead`: pitches may be such that lanes
    read one word further on than the lane before, see `chunks.ahead_by`; `once`: it is for matrices that one
    wave of blocks has as a whole, but not by tiles of half the width.

    A tile is gathered in stages along M, each as soon as its rows have come: stores of one go beside loads of
    the next. Tiles are narrower where the last wave of blocks would not be full otherwise: see `tiles_of`.
    """

    tile: tuple[int, int] = (64, 128)
    warps: int = 4
    align: int = 8
    most: int = 32
    fetch: bool = False
    size: int = 2
    edges: bool = False
    ahead: bool = True
    once: bool = False

    chunk, bits, word, limits = Chunks.chunk, Chunks.bits, Chunks.word, Chunks.limits
    smem_bytes = Chunks.smem_bytes

    @property
    def stage_rows(self) -> int:
        """Rows of `x` that the lanes along M gather at once."""
        return LANES_M * self.chunk

    @property
    def stages(self) -> int:
        """Parts of a tile along M."""
        return self.tile[1] // self.stage_rows

    def rows_of(self, stage: int) -> int:
        """Rows of `x` that the stages up to this one need."""
        return self.align - 1 + (stage + 1) * self.stage_rows

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 32 * self.warps

    @property
    def rows(self) -> int:
        """Rows of `x` that a block reads."""
        return self.tile[1] + self.align - 1

    @property
    def pitch(self) -> int:
        """Elements from row to row in shared memory."""
        return self.tile[0] + self.chunk

    @property
    def snug(self) -> bool:
        """Whether the threads divide into rows with the chunk that a row needs beyond those of the tile."""
        return self.threads % (self.pitch // self.chunk) == 0

    @property
    def each(self) -> int:
        """Chunks of a row that are read side by side."""
        return self.pitch // self.chunk if self.snug else self.tile[0] // self.chunk

    @property
    def step(self) -> int:
        """Rows that the threads read at a time, a multiple of a chunk."""
        return self.threads // self.each & ~(self.chunk - 1)

    def chunks_of(self, rows: int) -> int:
        """Chunks in shared memory from a row to the one so many further on, a multiple of a chunk."""
        return rows * self.pitch // self.chunk + rows // self.chunk

    @property
    def room(self) -> int:
        """Chunks in shared memory: rows lie `pitch` apart, and a chunk of them one chunk more."""
        return self.chunks_of(-(-self.rows // self.chunk) * self.chunk)

    @property
    def residents(self) -> int:
        """Blocks that a multiprocessor has shared memory and threads for; registers must suffice for them."""
        return min(1024 * SMEM_KIB // self.smem_bytes, 2048 // self.threads, self.most)

    def fits(self, x: Any, y: Any) -> bool:
        """Whether the kernel takes these two."""
        fit = in_rows(x, y, self.size) and x.shape[-1] <= GRID_Y * self.tile[0]
        return fit and (not self.once or self.fills(x))

    def fills(self, x: Any) -> bool:
        """Whether tiles of the full width are one wave of blocks, and those of half of it are more."""
        (wide, high), (m, n) = self.tile, x.shape[-2:]
        others = (m + self.align - 1 + high - 1) // high * (x.shape[0] if x.dim() == 3 else 1)
        most = self.residents * multiprocessors()
        return others * -(-n // wide) <= most < others * -(-2 * n // wide)


STANDARD = Shifted()


@cute.kernel
def transpose_chunks(
    x: cute.Tensor,
    y: cute.Tensor,
    shape: tuple[cutlass.Int32, cutlass.Int32],
    pitches: tuple[cutlass.Int64, cutlass.Int64],
    apart: tuple[cutlass.Int64, cutlass.Int64],
    starts: tuple[cutlass.Int64, cutlass.Int64],
    whole: tuple[cutlass.Int64, cutlass.Int64],
    columns: cutlass.Int32,
    plan: cutlass.Constexpr,
    early: cutlass.Constexpr,
):
    """`x` and `y` (chunk,chunks), aligned; element (m, n) of `x` is number starts[0] + m * pitches[0] + n.

    Matrix i of a batch starts `apart` times i further on; `whole`: see `load_chunk`; `columns` of a tile.
    """
    bm, bn, item = cute.arch.block_idx()
    starts = (starts[0] + item * apart[0], starts[1] + item * apart[1])
    chunk = plan.chunk
    smem = room_for(plan, x.element_type)
    n0, m0 = bn * columns, bm * plan.tile[1]
    first = m0 - (plan.align - 1)
    if cutlass.const_expr(plan.fetch):
        low, high = max(first, 0), min(first + plan.rows, shape[0])
        corner, wide = starts[0] + low * pitches[0] + n0, min(columns + chunk, shape[1] - n0)
        enter_fetching(early, plan.residents, x, corner, pitches[0], high - low, wide)
    else:
        enter(early)
    last = min(shape[1], n0 + columns)
    # Whether the chunks at both ends of every row lie in the tensor's memory as a whole.
    begins = n0 > 0 or first >= chunk or cutlass.Int32(starts[0] & (chunk - 1)) == 0
    ends = n0 + plan.pitch <= shape[1] or first + plan.rows + chunk <= shape[0]
    inner = first > 0 and first + plan.rows < shape[0]
    lay, tile = (shape, pitches, starts, whole), (n0, last, first, m0)
    if begins and ends:
        if inner:
            pass_on(x, smem, y, lay, tile, True, True, plan)
        else:
            pass_on(x, smem, y, lay, tile, False, True, plan)
    else:
        pass_on(x, smem, y, lay, tile, False, False, plan)


@cute.jit
def pass_on(
    x: cute.Tensor,
    smem: cute.Tensor,
    y: cute.Tensor,
    lay: tuple,
    tile: tuple,
    every: cutlass.Constexpr,
    safe: cutlass.Constexpr,
    plan: cutlass.Constexpr,
):
    """A tile: its columns from and up to which, the first row that is loaded, and the first of the tile.

    `lay`: shape, pitches, starts and reach, as the kernel takes them. `every`: see `load_rows` and
    `store_chunks`; `safe`: its chunks lie in memory as a whole.
    """
    (m, _), (_, ldy), starts, _ = lay
    n0, last, _, m0 = tile
    load_rows(x, smem, lay, tile, every, safe, plan)
    held = load_held(x, lay, tile, every, plan) if safe else None
    cute.arch.cp_async_commit_group()
    if cutlass.const_expr(not every):
        ended = cutlass.Int32(m0 + plan.tile[1] >= m and ldy != m)
        fetch_ends(y, starts[1] + n0 * ldy, ldy, ended * (last - n0), m)
    where = gathering(lay, tile, plan)  # while the loads are on their way
    for stage in cutlass.range_constexpr(plan.stages):
        if cutlass.const_expr(safe):
            keep_held(held, smem, stage, plan)
        if cutlass.const_expr(stage == 0):
            cute.arch.cp_async_wait_group(0)
        if cutlass.const_expr(stage == 0 or safe):
            cute.arch.sync_threads()
        store_chunks(smem, y, m, ldy, last - n0, where, every, stage, plan)
    if cutlass.const_expr(not every):
        store_ends(smem, y, lay, tile, plan)


def load_rows(x, smem, lay, tile, every: bool, safe: bool, plan: Shifted):
    """The chunks that cover the columns of a tile, as far as `x` has them.

    `every`: it has all rows, and one more on either side; `safe`: no chunk reaches out of
    memory, and only what `load_held` does not load is loaded here.
    """
    tid, _, _ = cute.arch.thread_idx()
    each, lanes = plan.each, []
    if not plan.snug:
        lanes.append((tid, each, plan.threads))  # the chunk past those, for rows that start within one
    if not safe:
        lanes.append((tid // each, tid % each, plan.step))
    for row, chunk, step in lanes:
        load_every(x, smem, lay, tile, row, chunk, step, every, safe, plan)


@cute.jit
def load_every(
    x: cute.Tensor,
    smem: cute.Tensor,
    lay: tuple,
    tile: tuple,
    row: cutlass.Int32,
    chunk: cutlass.Int32,
    step: cutlass.Constexpr,
    every: cutlass.Constexpr,
    safe: cutlass.Constexpr,
    plan: cutlass.Constexpr,
):
    """Chunk `chunk` of rows first + row, first + row + step, ...; `step` is a multiple of a chunk.

    So all of them start as far into a chunk as the first.
    """
    (m, _), (ldx, _), (start, _), whole = lay
    n0, last, first, _ = tile
    place = start + (first + row) * ldx + n0
    here, apart = (place >> plan.bits) + chunk, ldx * (step // plan.chunk)
    slot = row * (plan.pitch // plan.chunk) + (row >> plan.bits) + chunk
    slots = in_slots(smem)
    passes, below = -(-plan.rows // step), plan.chunks_of(step)
    wanted = n0 + plan.chunk * chunk - cutlass.Int32(place & (plan.chunk - 1)) < last
    if row < step and wanted:
        if cutlass.const_expr(safe):
            for i in cutlass.range_constexpr(passes):
                inside = row < plan.rows - i * step
                if cutlass.const_expr(not every):
                    inside = inside and first + row + i * step >= 0 and first + row + i * step < m
                if inside:
                    source, target = x[None, here + i * apart], slots[None, slot + i * below]
                    if cutlass.const_expr(plan.edges):
                        copy_kept(source, target)
                    else:
                        cute.copy(asynchronous(x), source, target)
        else:
            for i in cutlass.range(passes, unroll=1):
                if row < plan.rows - i * step and first + row + i * step >= 0 and first + row + i * step < m:
                    load_chunk(x, here + i * apart, slots[None, slot + i * below], whole)


@cute.jit
def load_held(
    x: cute.Tensor,
    lay: tuple,
    tile: tuple,
    every: cutlass.Constexpr,
    plan: cutlass.Constexpr,
):
    """As `load_every`, to registers."""
    (m, _), (ldx, _), (start, _), _ = lay
    n0, last, first, _ = tile
    tid, _, _ = cute.arch.thread_idx()
    each, step = plan.each, plan.step
    row = tid // each
    place = start + (first + row) * ldx + n0
    here, apart = (place >> plan.bits) + tid % each, ldx * (step // plan.chunk)
    passes = -(-plan.rows // step)
    held = cute.make_rmem_tensor((plan.chunk, passes), x.element_type)
    within = row < step and n0 + plan.chunk * (tid % each) - cutlass.Int32(place & (plan.chunk - 1)) < last
    for i in cutlass.range_constexpr(passes):
        inside = within and row < plan.rows - i * step
        if cutlass.const_expr(not every):
            inside = inside and first + row + i * step >= 0 and first + row + i * step < m
        if inside:
            load_wide(x[None, here + i * apart], held[None, i], "evict_last")
    return held


@cute.jit
def keep_held(held, smem: cute.Tensor, stage: cutlass.Constexpr, plan: cutlass.Constexpr):
    """What `load_held` loaded of the rows that this stage needs and none before, to shared memory."""
    tid, _, _ = cute.arch.thread_idx()
    each, step = plan.each, plan.step
    row, below = tid // each, plan.chunks_of(step)
    slot = row * (plan.pitch // plan.chunk) + (row >> plan.bits) + tid % each
    slots = in_slots(smem)
    write = cute.make_copy_atom(CopyUniversalOp(), smem.element_type, num_bits_per_copy=128)
    begin = -(-plan.rows_of(stage - 1) // step) if stage else 0
    for i in cutlass.range_constexpr(begin, -(-plan.rows_of(stage) // step)):
        if row < min(step, plan.rows - i * step):
            cute.copy(write, held[None, i], slots[None, slot + i * below])


def in_chunks(x: cute.Tensor, y: cute.Tensor, plan: Shifted) -> tuple[Any, ...]:
    """The grid, and what `transpose_chunks` takes before its plan."""
    columns, grid = tiles_of(x, plan)
    _, apart = matrices(x, y)
    start_x, start_y = start_in(x, plan.chunk), start_in(y, plan.align)
    starts, whole = (start_x, start_y), (start_x, start_x + reach(x))
    views = aligned(x, start_x, plan.chunk), aligned(y, start_y, plan.align)
    shape, pitches = (x.shape[0], x.shape[1]), (x.stride[0], y.stride[0])
    return grid, *views, shape, pitches, apart, starts, whole, columns


@cute.jit
def tiles_of(x: cute.Tensor, plan: cutlass.Constexpr):
    """Columns of a tile; tiles along M and along N, and matrices.

    As many waves of blocks as there must be, each of them full, if tiles of half the width suffice for that.
    """
    (tile_n, tile_m), n = plan.tile, x.shape[1]
    items = cutlass.Int32(matrices(x, x)[0])
    tiles_m = (x.shape[0] + plan.align - 1 + tile_m - 1) // tile_m
    at_once, others = plan.residents * multiprocessors(), tiles_m * items
    waves = ((n + tile_n - 1) // tile_n * others + at_once - 1) // at_once
    apart = min(waves * at_once // others, GRID_Y) * plan.chunk
    columns = cutlass.Int32((n + apart - 1) // apart * plan.chunk)
    columns = max(columns, -(-tile_n // (2 * plan.chunk)) * plan.chunk)
    tiles_n = (n + columns - 1) // columns
    columns = (n + tiles_n * plan.chunk - 1) // (tiles_n * plan.chunk) * plan.chunk  # as even as can be
    return columns, (tiles_m, tiles_n, items)


def build_shifted(plan: Shifted = STANDARD, early: int = 0) -> Kernel:
    """Any M and N, bases and pitches; rows of `x` and `y` contiguous, elements of `plan.size` bytes."""
    return launched(transpose_chunks, in_chunks, plan, early)
