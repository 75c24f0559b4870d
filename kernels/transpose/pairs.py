"""The transpose of a few microseconds' work at any pitch and base: aligned pairs of elements on both sides.

A row of `x` may start in the middle of a 4-byte word, so a block copies the words that cover its piece of
the row as they are. A row of `y` may, too, so a block owns whole words of it: where a row starts in one,
these hold elements of `x` that lie a row further up, and a block reads one row more than it stores. A thread
gathers the two elements of a word of `y` from two rows of the tile, each at its own shift. Tiles are small,
and as even as they can be: many blocks begin at once, and none is nearly empty.
"""

from __future__ import annotations

from typing import NamedTuple

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import CopyUniversalOp

from kernels.transpose.common import Kernel, enter, fake_args
from kernels.transpose.shifted import reach

LANES = 32
"""Threads of a warp."""

PAIR = 2
"""Elements of a word."""

ROWS = PAIR * LANES
"""Rows of `x` that a block reads, at most: words for the lanes of a warp."""


class Pairs(NamedTuple):
    """`words` of a row of `x` that a block reads, 16 or 32; `warps` of the block, 8 or 16."""

    words: int = LANES // 2
    warps: int = 8

    @property
    def tile(self) -> tuple[int, int]:
        """Elements of a block along (N, M), at most: one less, and a word, for where the rows may start."""
        return PAIR * self.words - 1, ROWS - PAIR

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return LANES * self.warps

    @property
    def step(self) -> int:
        """Rows that the threads read at a time, an even number."""
        return self.threads // self.words

    @property
    def pitch(self) -> int:
        """Words from row to row of one parity in shared memory: an odd number, against bank conflicts."""
        return self.words + 1

    @property
    def odd_rows(self) -> int:
        """Where row 1 starts: half of all banks further than row 0."""
        return LANES * self.pitch + LANES // 2


@cute.kernel
def transpose_pairs(
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
    """`x` and `y` (2,words):(1,2), aligned; element (m, n) of `x` is number starts[0] + m * pitches[0] + n.

    Matrix i of a batch starts `apart` times i further on. `tile`: elements of a block, an even number along
    M. `whole`: the element up to which the memory of `x` reaches.
    """
    enter(early)
    tid, _, _ = cute.arch.thread_idx()
    bm, bn, item = cute.arch.block_idx()
    lane, warp = tid % LANES, tid // LANES
    (m, n), (ldx, ldy) = shape, pitches
    n0, m0 = tile[0] * bn, tile[1] * bm
    wide = min(tile[0], n - n0)
    layout = cute.make_layout((PAIR, 2 * plan.odd_rows), stride=(1, PAIR))
    smem = cutlass.memory.SmemAllocator().allocate_tensor(x.element_type, layout, byte_alignment=16)

    # Even rows lie apart from odd ones; row 0 is the one above those of the tile.
    row, word = tid // plan.words, tid % plan.words
    first = starts[0] + item * apart[0] + (m0 - 1) * ldx + n0
    place = first + row * ldx
    slot = (row & 1) * plan.odd_rows + (row >> 1) * plan.pitch + word
    low, high = cutlass.Int32(m0 == 0), min(tile[1] + 1, m + 1 - m0)
    # Only the first word of `x` and the last can reach out of its memory.
    corner, end = first + low * ldx, first + (high - 1) * ldx + wide
    safe = corner - (corner & 1) >= starts[0] and end + (end & 1) <= whole
    atom = cute.make_copy_atom(CopyUniversalOp(), x.element_type, num_bits_per_copy=32)
    held = cute.make_rmem_tensor((PAIR, ROWS // plan.step), x.element_type)
    if PAIR * word < wide + (place & 1):
        here, apart_words = (place >> 1) + word, plan.step // PAIR * ldx
        if safe:
            for i in cutlass.range_constexpr(ROWS // plan.step):
                if row + i * plan.step >= low and row + i * plan.step < high:
                    cute.copy(atom, x[None, here + i * apart_words], held[None, i])
        else:
            for i in cutlass.range_constexpr(ROWS // plan.step):
                for k in cutlass.range_constexpr(PAIR):
                    number = PAIR * (here + i * apart_words) + k
                    inside = row + i * plan.step >= low and row + i * plan.step < high
                    if inside and number >= starts[0] and number < whole:
                        held[k, i] = x[k, here + i * apart_words]
        for i in cutlass.range_constexpr(ROWS // plan.step):
            cute.copy(atom, held[None, i], smem[None, slot + i * (plan.step // PAIR) * plan.pitch])

    # A warp a row of `y`, a lane a word; all rows of a thread start alike.
    into = starts[1] + item * apart[1] + (n0 + warp) * ldy + m0
    late = into & 1
    m1 = m0 - late + PAIR * lane
    above, below = lane + 1 - late, lane
    even = PAIR * plan.pitch * above + (first & 1) + warp
    odd = PAIR * (plan.odd_rows + plan.pitch * below) + ((first + ldx) & 1) + warp
    flat = cute.make_tensor(smem.iterator, cute.make_layout(2 * PAIR * plan.odd_rows))
    places = (even if late == 1 else odd), (odd if late == 1 else even)
    there, passes = (into >> 1) + lane, -(-plan.tile[0] // plan.warps)
    cute.arch.sync_threads()
    taken = cute.make_rmem_tensor((PAIR, passes), x.element_type)
    for i in cutlass.range_constexpr(passes):
        for k in cutlass.range_constexpr(PAIR):
            taken[k, i] = flat[places[k] + i * plan.warps]
    if PAIR * lane < tile[1]:
        if m1 >= 0 and m1 + PAIR <= m:
            for i in cutlass.range_constexpr(passes):
                if warp + i * plan.warps < wide:
                    cute.copy(atom, taken[None, i], y[None, there + i * (plan.warps // PAIR) * ldy])
        else:
            for i in cutlass.range_constexpr(passes):
                for k in cutlass.range_constexpr(PAIR):
                    if warp + i * plan.warps < wide and m1 + k >= 0 and m1 + k < m:
                        y[k, there + i * (plan.warps // PAIR) * ldy] = taken[k, i]


@cute.jit
def in_words(t: cute.Tensor, start: cutlass.Int32) -> cute.Tensor:
    """The whole of `t` as (2,words):(1,2), from the word on in which it starts."""
    bytes_each = t.element_type.width // 8
    base = cute.make_ptr(
        t.element_type,
        t.iterator.toint() - start * bytes_each,
        cute.AddressSpace.gmem,
        assumed_align=PAIR * bytes_each,
    )
    words = (start + cutlass.Int32(reach(t)) + PAIR - 1) // PAIR
    return cute.make_tensor(base, cute.make_layout((PAIR, words), stride=(1, PAIR)))


def evenly(extent, most: int, step: int):
    """Tiles that cover `extent`, and what each takes of it, in multiples of `step`: as even as can be."""
    tiles = (extent + most - 1) // most
    each = (extent + tiles * step - 1) // (tiles * step) * step
    return tiles, each


def build_pairs(plan: Pairs, early: bool = False) -> Kernel:
    """Any M and N, pitches and bases; rows of `x` and `y` contiguous, less than 2**31 elements in all."""

    @cute.jit
    def host(x: cute.Tensor, y: cute.Tensor, stream):
        bytes_each = x.element_type.width // 8
        start_x = cutlass.Int32(x.iterator.toint() // bytes_each % PAIR)
        start_y = cutlass.Int32(y.iterator.toint() // bytes_each % PAIR)
        m, n = x.shape[0], x.shape[1]
        items, apart = 1, (cutlass.Int32(0), cutlass.Int32(0))
        if cutlass.const_expr(cute.rank(x) == 3):
            items, apart = x.shape[2], (cutlass.Int32(x.stride[2]), cutlass.Int32(y.stride[2]))
        # Where rows of `y` start within a word, they reach into one word more.
        more = (start_y | cutlass.Int32(y.stride[0]) | apart[1]) & 1
        tiles_m, tile_m = evenly(m + more, plan.tile[1], PAIR)
        tiles_n, tile_n = evenly(n, plan.tile[0], 1)
        transpose_pairs(
            in_words(x, start_x),
            in_words(y, start_y),
            (m, n),
            (tile_n, tile_m),
            (cutlass.Int32(x.stride[0]), cutlass.Int32(y.stride[0])),
            apart,
            (start_x, start_y),
            start_x + cutlass.Int32(reach(x)),
            plan,
            early,
        ).launch(grid=(tiles_m, tiles_n, items), block=(plan.threads, 1, 1), stream=stream, use_pdl=early)

    return Kernel(host, fake_args(align_bytes=2))
