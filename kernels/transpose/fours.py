"""The transpose of single bytes, a few microseconds' work, at any pitch and base: words on both sides.

A row of `x` may start within an aligned word, so a block copies the words that cover its piece of the row as
they are. A row of `y` may, too, so a block owns whole words of it: where a row starts in one, these hold
bytes of `x` that lie further up, and a block reads up to three rows more than it stores. A thread gathers the
bytes of a word of `y` from four rows of the tile, each at its own shift. Tiles are small, and as even as they
can be: many blocks begin at once, and none is nearly empty.
"""

from __future__ import annotations

from typing import NamedTuple

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import CopyUniversalOp

from kernels.transpose.chunks import aligned, launched, reach
from kernels.transpose.common import Kernel, enter, fetch_ends, matrices, start_in

LANES = 32
"""Threads of a warp."""

EACH = 4
"""Bytes of a word."""

ROWS = EACH * LANES
"""Rows of `x` that a block reads, at most."""


class Fours(NamedTuple):
    """`words` of a row of `x` that a block reads, 16 or 32; `warps` of the block."""

    words: int = LANES // 2
    warps: int = 8

    size, limits = 1, {}

    @property
    def tile(self) -> tuple[int, int]:
        """Elements of a block along (N, M), at most: for where the rows may start, up to a word less."""
        return EACH * (self.words - 1) + 1, ROWS - EACH

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return LANES * self.warps

    @property
    def step(self) -> int:
        """Rows that the threads read at a time, a multiple of a word."""
        return self.threads // self.words

    @property
    def pitch(self) -> int:
        """Words from row to row of those that start alike: an odd number, against bank conflicts."""
        return self.words + 1

    @property
    def apart(self) -> int:
        """Where row 1 starts: half of all banks further than row 0."""
        return LANES * self.pitch + LANES // 2


@cute.kernel
def transpose_fours(
    x: cute.Tensor,
    y: cute.Tensor,
    shape: tuple[cutlass.Int32, cutlass.Int32],
    tile: tuple[cutlass.Int32, cutlass.Int32],
    pitches: tuple[cutlass.Int32, cutlass.Int32],
    apart: tuple[cutlass.Int32, cutlass.Int32],
    starts: tuple[cutlass.Int32, cutlass.Int32],
    whole: cutlass.Int32,
    plan: cutlass.Constexpr,
    early: cutlass.Constexpr,
):
    """`x` and `y` in words, aligned; element (m, n) of `x` is number starts[0] + m * pitches[0] + n.

    Matrix i of a batch starts `apart` times i further on. `tile`: elements of a block, an even number along
    M. `whole`: the element up to which the memory of `x` reaches.
    """
    enter(early)
    tid, _, _ = cute.arch.thread_idx()
    bm, bn, item = cute.arch.block_idx()
    (m, n), (ldx, ldy) = shape, pitches
    n0, m0 = tile[0] * bn, tile[1] * bm
    wide = min(tile[0], n - n0)
    layout = cute.make_layout((EACH, EACH * plan.apart), stride=(1, EACH))
    smem = cutlass.memory.SmemAllocator().allocate_tensor(x.element_type, layout, byte_alignment=16)

    # Rows that start alike in their words lie together; row 0 is the first above those of the tile.
    row, word = tid // plan.words, tid % plan.words
    first = starts[0] + item * apart[0] + (m0 - (EACH - 1)) * ldx + n0
    place = first + row * ldx
    slot = (row & (EACH - 1)) * plan.apart + (row >> 2) * plan.pitch + word
    low, high = max(EACH - 1 - m0, 0), min(tile[1] + EACH - 1, m + EACH - 1 - m0)
    # Only the first word of `x` and the last can reach out of its memory.
    corner, end = first + low * ldx, first + (high - 1) * ldx + wide
    safe = corner - (corner & (EACH - 1)) >= starts[0] and (end + EACH - 1 & ~(EACH - 1)) <= whole
    atom = cute.make_copy_atom(CopyUniversalOp(), x.element_type, num_bits_per_copy=32)
    held = cute.make_rmem_tensor((EACH, ROWS // plan.step), x.element_type)
    if EACH * word < wide + (place & (EACH - 1)):
        here, apart_words = (place >> 2) + word, plan.step // EACH * ldx
        if safe:
            for i in cutlass.range_constexpr(ROWS // plan.step):
                if row + i * plan.step >= low and row + i * plan.step < high:
                    cute.copy(atom, x[None, here + i * apart_words], held[None, i])
        else:
            for i in cutlass.range_constexpr(ROWS // plan.step):
                for k in cutlass.range_constexpr(EACH):
                    number = EACH * (here + i * apart_words) + k
                    inside = row + i * plan.step >= low and row + i * plan.step < high
                    if inside and number >= starts[0] and number < whole:
                        held[k, i] = x[k, here + i * apart_words]
        for i in cutlass.range_constexpr(ROWS // plan.step):
            cute.copy(atom, held[None, i], smem[None, slot + i * (plan.step // EACH) * plan.pitch])

    if m0 + tile[1] >= m and ldy != m:
        begin = starts[1] + item * apart[1] + n0 * ldy
        fetch_ends(y, cutlass.Int64(begin), cutlass.Int64(ldy), wide, m)
    # A warp a row of `y`, a lane a word; all rows of a thread start alike.
    lane, warp = tid % LANES, tid // LANES
    into = starts[1] + item * apart[1] + (n0 + warp) * ldy + m0
    late = into & (EACH - 1)
    m1 = m0 - late + EACH * lane
    flat = cute.make_tensor(smem.iterator, cute.make_layout(EACH * EACH * plan.apart))
    places = [place_of(k - late, lane, first, ldx, plan) + warp for k in range(EACH)]
    there, passes = (into >> 2) + lane, -(-plan.tile[0] // plan.warps)
    cute.arch.sync_threads()
    taken = cute.make_rmem_tensor((EACH, passes), x.element_type)
    for i in cutlass.range_constexpr(passes):
        for k in cutlass.range_constexpr(EACH):
            taken[k, i] = flat[places[k] + i * plan.warps]
    if EACH * lane < tile[1]:
        if m1 >= 0 and m1 + EACH <= m:
            for i in cutlass.range_constexpr(passes):
                if warp + i * plan.warps < wide:
                    cute.copy(atom, taken[None, i], y[None, there + i * (plan.warps // EACH) * ldy])
        else:
            for i in cutlass.range_constexpr(passes):
                for k in cutlass.range_constexpr(EACH):
                    if warp + i * plan.warps < wide and m1 + k >= 0 and m1 + k < m:
                        y[k, there + i * (plan.warps // EACH) * ldy] = taken[k, i]


def place_of(k, lane, first, ldx, plan):
    """Where the piece of the row starts that lies `k` below the row m0 + the lane's word."""
    row = EACH - 1 + k
    alike, further = row & (EACH - 1), row >> 2
    return EACH * (alike * plan.apart + plan.pitch * (lane + further)) + ((first + alike * ldx) & (EACH - 1))


def evenly(extent, most: int, step: int):
    """Tiles that cover `extent`, and what each takes of it, in multiples of `step`: as even as can be."""
    tiles = (extent + most - 1) // most
    each = (extent + tiles * step - 1) // (tiles * step) * step
    return tiles, each


def build_fours(plan: Fours, early: bool = False) -> Kernel:
    """Any M and N, pitches and bases; rows of `x` and `y` contiguous, less than 2**31 elements in all."""
    return launched(transpose_fours, in_fours, plan, early)


@cute.jit
def in_fours(x: cute.Tensor, y: cute.Tensor, plan: cutlass.Constexpr):
    """The grid, and what `transpose_fours` takes before its plan."""
    starts = tuple(cutlass.Int32(start_in(t, EACH)) for t in (x, y))
    pitches = tuple(cutlass.Int32(t.stride[0]) for t in (x, y))
    items, apart = matrices(x, y)
    apart = tuple(cutlass.Int32(step) for step in apart)
    # Where rows of `y` start within a word, they reach into one word more.
    off = (starts[1] | pitches[1] | apart[1]) & (EACH - 1)
    tiles_m, tile_m = evenly(x.shape[0] + min(off, 1) * (EACH - 1), plan.tile[1], EACH)
    tiles_n, tile_n = evenly(x.shape[1], plan.tile[0], 1)
    views = aligned(x, starts[0], EACH, EACH), aligned(y, starts[1], EACH, EACH)
    sizes = (x.shape[0], x.shape[1]), (tile_n, tile_m), pitches, apart, starts
    return (tiles_m, tiles_n, items), *views, *sizes, starts[0] + cutlass.Int32(reach(x))
