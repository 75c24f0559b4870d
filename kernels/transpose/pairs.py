"""The transpose of a few microseconds' work at any pitch and base: aligned words on both sides.

A word holds two elements of 16 bits, or four of 8. A row of `x` may start in the middle of one, so a block
copies the words that cover its piece of the row as they are. A row of `y` may, too, so a block owns whole
words of it: where a row starts in one, these hold elements of `x` that lie further up, and a block reads up
to a row less than a word has elements more than it stores. A thread gathers the elements of a word of `y`
from as many rows of the tile, each at its own shift. Tiles are small, and as even as they can be: many blocks
begin at once, and none is nearly empty.
"""

from __future__ import annotations

from typing import NamedTuple

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import CopyUniversalOp

from kernels.transpose.chunks import reach
from kernels.transpose.common import TYPES, Kernel, enter, fake_args, matrices, start_in

LANES = 32
"""Threads of a warp."""

WORD_BYTES = 4


class Pairs(NamedTuple):
    """`words` of a row of `x` that a block reads, 16 or 32; `warps` of the block; `size`: of an element."""

    words: int = LANES // 2
    warps: int = 8
    size: int = 2

    @property
    def each(self) -> int:
        """Elements of a word: a pair of those of 16 bits."""
        return WORD_BYTES // self.size

    @property
    def bits(self) -> int:
        """Of a place in a word."""
        return self.each.bit_length() - 1

    @property
    def rows(self) -> int:
        """Rows of `x` that a block reads, at most."""
        return self.each * LANES

    @property
    def tile(self) -> tuple[int, int]:
        """Elements of a block along (N, M), at most: for where the rows may start, up to a word less."""
        return self.each * (self.words - 1) + 1, self.rows - self.each

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
    size = plan.each
    layout = cute.make_layout((size, size * plan.apart), stride=(1, size))
    smem = cutlass.memory.SmemAllocator().allocate_tensor(x.element_type, layout, byte_alignment=16)

    # Rows that start alike in their words lie together; row 0 is the first above those of the tile.
    row, word = tid // plan.words, tid % plan.words
    first = starts[0] + item * apart[0] + (m0 - (size - 1)) * ldx + n0
    place = first + row * ldx
    slot = (row & (size - 1)) * plan.apart + (row >> plan.bits) * plan.pitch + word
    low, high = max(size - 1 - m0, 0), min(tile[1] + size - 1, m + size - 1 - m0)
    # Only the first word of `x` and the last can reach out of its memory.
    corner, end = first + low * ldx, first + (high - 1) * ldx + wide
    safe = corner - (corner & (size - 1)) >= starts[0] and (end + size - 1 & ~(size - 1)) <= whole
    atom = cute.make_copy_atom(CopyUniversalOp(), x.element_type, num_bits_per_copy=32)
    held = cute.make_rmem_tensor((size, plan.rows // plan.step), x.element_type)
    if size * word < wide + (place & (size - 1)):
        here, apart_words = (place >> plan.bits) + word, plan.step // size * ldx
        if safe:
            for i in cutlass.range_constexpr(plan.rows // plan.step):
                if row + i * plan.step >= low and row + i * plan.step < high:
                    cute.copy(atom, x[None, here + i * apart_words], held[None, i])
        else:
            for i in cutlass.range_constexpr(plan.rows // plan.step):
                for k in cutlass.range_constexpr(size):
                    number = size * (here + i * apart_words) + k
                    inside = row + i * plan.step >= low and row + i * plan.step < high
                    if inside and number >= starts[0] and number < whole:
                        held[k, i] = x[k, here + i * apart_words]
        for i in cutlass.range_constexpr(plan.rows // plan.step):
            cute.copy(atom, held[None, i], smem[None, slot + i * (plan.step // size) * plan.pitch])

    # A warp a row of `y`, a lane a word; all rows of a thread start alike.
    lane, warp = tid % LANES, tid // LANES
    into = starts[1] + item * apart[1] + (n0 + warp) * ldy + m0
    late = into & (size - 1)
    m1 = m0 - late + size * lane
    flat = cute.make_tensor(smem.iterator, cute.make_layout(size * size * plan.apart))
    places = [place_of(k - late, lane, first, ldx, plan) + warp for k in range(size)]
    there, passes = (into >> plan.bits) + lane, -(-plan.tile[0] // plan.warps)
    cute.arch.sync_threads()
    taken = cute.make_rmem_tensor((size, passes), x.element_type)
    for i in cutlass.range_constexpr(passes):
        for k in cutlass.range_constexpr(size):
            taken[k, i] = flat[places[k] + i * plan.warps]
    if size * lane < tile[1]:
        if m1 >= 0 and m1 + size <= m:
            for i in cutlass.range_constexpr(passes):
                if warp + i * plan.warps < wide:
                    cute.copy(atom, taken[None, i], y[None, there + i * (plan.warps // size) * ldy])
        else:
            for i in cutlass.range_constexpr(passes):
                for k in cutlass.range_constexpr(size):
                    if warp + i * plan.warps < wide and m1 + k >= 0 and m1 + k < m:
                        y[k, there + i * (plan.warps // size) * ldy] = taken[k, i]


def place_of(k, lane, first, ldx, plan):
    """Where the piece of the row starts that lies `k` below the row m0 + the lane's word."""
    row = plan.each - 1 + k
    alike, further = row & (plan.each - 1), row >> plan.bits
    return plan.each * (alike * plan.apart + plan.pitch * (lane + further)) + (
        (first + alike * ldx) & (plan.each - 1)
    )


@cute.jit
def in_words(t: cute.Tensor, start: cutlass.Int32) -> cute.Tensor:
    """The whole of `t` in words, from the one on in which it starts."""
    bytes_each = t.element_type.width // 8
    base = cute.make_ptr(
        t.element_type,
        t.iterator.toint() - start * bytes_each,
        cute.AddressSpace.gmem,
        assumed_align=WORD_BYTES,
    )
    each = WORD_BYTES // bytes_each
    words = (start + cutlass.Int32(reach(t)) + each - 1) // each
    return cute.make_tensor(base, cute.make_layout((each, words), stride=(1, each)))


def evenly(extent, most: int, step: int):
    """Tiles that cover `extent`, and what each takes of it, in multiples of `step`: as even as can be."""
    tiles = (extent + most - 1) // most
    each = (extent + tiles * step - 1) // (tiles * step) * step
    return tiles, each


def build_pairs(plan: Pairs, early: bool = False) -> Kernel:
    """Any M and N, pitches and bases; rows of `x` and `y` contiguous, less than 2**31 elements in all."""

    @cute.jit
    def host(x: cute.Tensor, y: cute.Tensor, stream):
        start_x, start_y = cutlass.Int32(start_in(x, plan.each)), cutlass.Int32(start_in(y, plan.each))
        m, n = x.shape[0], x.shape[1]
        items, (apart_x, apart_y) = matrices(x, y)
        apart = cutlass.Int32(apart_x), cutlass.Int32(apart_y)
        # Where rows of `y` start within a word, they reach into one word more.
        off = (start_y | cutlass.Int32(y.stride[0]) | apart[1]) & (plan.each - 1)
        more = min(off, 1) * (plan.each - 1)
        tiles_m, tile_m = evenly(m + more, plan.tile[1], plan.each)
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

    return Kernel(host, fake_args(TYPES[plan.size], plan.size))
