"""Rows that may start on any element, as aligned 16-byte chunks: how they are seen, loaded and gathered.

A row of `x` is loaded with the chunk more that it takes if it starts within one. A chunk of `y` holds
elements of as many rows of `x`, each of which a thread reads from shared memory by itself.

Banks: the chunks that the eight lanes along M read lie a chunk of rows apart, each 16 bytes further on
modulo 128. The four lanes along N must then read different words of their chunks. Which they read depends on
both pitches: from one column to the next, the place in the chunk moves by 1 - ldx * ldy elements. Where 1, 2
or 4 columns move it by an odd number of words, lanes stand that far apart (`column`). Where all of these move
it by an even number, they stand side by side, and each reads one word further on than the lane before
(`ahead_by`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import CopyUniversalOp, LoadCacheMode, cpasync

from kernels.transpose.common import EVICT_LAST, SMEM_KIB, TYPES, Kernel, fake_args

LANES_M, LANES_N = 8, 4
"""The lanes of a warp when they store."""


class Chunks:
    """What plans whose elements have `size` bytes have in common."""

    size: int
    threads: int
    residents: int
    room: int

    @property
    def chunk(self) -> int:
        """Elements of a 16-byte access."""
        return 16 // self.size

    @property
    def bits(self) -> int:
        """Of a place in a chunk."""
        return self.chunk.bit_length() - 1

    @property
    def word(self) -> int:
        """Elements that a bank holds, at least one."""
        return max(4 // self.size, 1)

    @property
    def smem_bytes(self) -> int:
        """Shared memory of a block, the KiB included that every block takes more than it asks for."""
        return 16 * self.room + 1024

    @property
    def limits(self) -> dict[str, int]:
        """What a launch asks for to have `residents` blocks on a multiprocessor: registers, shared memory."""
        return {"min_blocks_per_mp": self.residents, **carveout(self)}


def carveout(plan: Any) -> dict[str, int]:
    """What a launch asks for so that shared memory suffices for the `residents` of a plan."""
    share = -(-100 * plan.residents * plan.smem_bytes // (1024 * SMEM_KIB))
    return {"preferred_smem_carveout": min(share, 100)}


def suffices(plan: Any, by_registers: int = 32) -> int:
    """Blocks, one or more, that a multiprocessor has shared memory, threads and registers for."""
    return max(min(1024 * SMEM_KIB // plan.smem_bytes, 2048 // plan.threads, by_registers, 32), 1)


def launched(kernel: Any, arguments: Callable[..., Any], plan: Any, early: bool) -> Kernel:
    """`kernel` by `plan`, for rows of `x` and `y` that are contiguous.

    `arguments(x, y, plan)`: the grid, and what it takes before its plan.
    """

    @cute.jit
    def host(x: cute.Tensor, y: cute.Tensor, stream):
        grid, *taken = arguments(x, y, plan)
        kernel(*taken, plan, early).launch(
            grid=grid, block=(plan.threads, 1, 1), stream=stream, use_pdl=early > 0, **plan.limits
        )

    return Kernel(host, fake_args(TYPES[plan.size], plan.size))


@cute.jit
def aligned(t: cute.Tensor, start: cutlass.Int64, to: cutlass.Constexpr) -> cute.Tensor:
    """The whole of `t` in chunks.

    They begin at the boundary, of `to` elements, that is `start` elements before its first.
    """
    bytes_each = t.element_type.width // 8
    base = cute.make_ptr(
        t.element_type,
        t.iterator.toint() - start * bytes_each,
        cute.AddressSpace.gmem,
        assumed_align=to * bytes_each,
    )
    chunk = cutlass.const_expr(128 // t.element_type.width)
    chunks = (start + reach(t) + chunk - 1) // chunk
    return cute.make_tensor(base, cute.make_layout((chunk, chunks), stride=(1, chunk)))


@cute.jit
def reach(t: cute.Tensor) -> cutlass.Int64:
    """Elements from the first of `t` to the last, gaps included."""
    last = (t.shape[0] - 1) * t.stride[0] + t.shape[1]
    if cutlass.const_expr(cute.rank(t) == 3):
        last += (t.shape[2] - 1) * t.stride[2]
    return cutlass.Int64(last)


def room_for(plan: Any, dtype: Any) -> cute.Tensor:
    """The shared memory of a block: `plan.room` chunks of elements."""
    layout = cute.make_layout(plan.chunk * plan.room)
    return cutlass.memory.SmemAllocator().allocate_tensor(dtype, layout, byte_alignment=128)


def in_slots(smem):
    """Shared memory in chunks."""
    chunk = 128 // smem.element_type.width
    layout = cute.make_layout((chunk, cute.cosize(smem.layout) // chunk), stride=(1, chunk))
    return cute.make_tensor(smem.iterator, layout)


def asynchronous(x: cute.Tensor) -> cute.CopyAtom:
    """Copies a chunk to shared memory, past the registers."""
    op = cpasync.CopyG2SOp(LoadCacheMode.GLOBAL)
    return cute.make_copy_atom(op, x.element_type, num_bits_per_copy=128)


@cute.jit
def copy_kept(source: cute.Tensor, target: cute.Tensor):
    """A chunk to shared memory, asynchronously, with the L2 policy that keeps its line: no atom takes one."""
    cute.arch.inline_ptx(
        "cp.async.cg.shared.global.L2::cache_hint [{$r0}], [{$r1}], 16, {$r2};",
        read_only_args=[target.iterator.toint(), source.iterator.toint(), cutlass.Int64(EVICT_LAST)],
    )


@cute.jit
def load_chunk(
    x: cute.Tensor,
    chunk: cutlass.Int64,
    slot: cute.Tensor,
    whole: tuple[cutlass.Int64, cutlass.Int64],
):
    """A chunk of `x` to its slot; where the tensor begins or ends in it, only its elements, all in flight.

    `whole`: the elements, counted from chunk 0, from and up to which the tensor's memory reaches.
    """
    size = cutlass.const_expr(cute.size(x, mode=[0]))
    begin, end = whole[0] - size * chunk, whole[1] - size * chunk
    if begin > 0 or end < size:
        held = cute.make_rmem_tensor((size,), x.element_type)
        for j in cutlass.range_constexpr(size):
            if j >= begin and j < end:
                held[j] = x[j, chunk]
        write = cute.make_copy_atom(CopyUniversalOp(), x.element_type, num_bits_per_copy=128)
        cute.copy(write, held, slot)
    else:
        cute.copy(asynchronous(x), x[None, chunk], slot)


def column(warp, lane_n, pitches, word=2):
    """Where a lane stands along N; `pitches`: ldx * ldy.

    Lanes are so many columns apart, 1, 2 or 4, that the place in the chunk moves by an odd number of words
    of `word` elements; where none of these does, they are side by side.
    """
    apart = 1
    if word == 2:
        apart = 2 - (pitches & 1)
    elif word == 4:
        odd, more = pitches & 1, pitches >> 1 & 1
        apart = 4 - odd * (2 + (1 - more))
    own = warp & (apart - 1)
    return LANES_N * (warp - own) + own + apart * lane_n


def ahead_by(lane_n, pitches, word=2):
    """Words of elements that a lane is ahead: its number if 1 - ldx * ldy is an even number of words."""
    found = pitches & 1
    for bit in range(1, word.bit_length()):
        found = found * (1 - (pitches >> bit & 1))
    return lane_n * found


@cute.jit
def cells_at(smem: cute.Tensor, place: cutlass.Int32) -> cute.Tensor:
    """Shared memory from an element on."""
    return cute.make_tensor(smem.iterator + place, cute.make_layout(cute.size(smem)))


@cute.jit
def gathered(cells: list, further) -> cute.Tensor:
    """A chunk of `y`."""
    taken = cute.make_rmem_tensor((len(cells),), cells[0].element_type)
    for k in cutlass.range_constexpr(len(cells)):
        taken[k] = cells[k][further]
    return taken


@cute.jit
def rotated(taken: cute.Tensor, by: cutlass.Int32) -> cute.Tensor:
    """`taken`, pair i moved to pair (i + by) % 4."""
    words = cute.recast_tensor(taken, cutlass.Int32)
    once = cute.make_rmem_tensor(words.shape, cutlass.Int32)
    twice = cute.make_rmem_tensor(words.shape, cutlass.Int32)
    for i in cutlass.range_constexpr(4):
        once[i] = words[(i + 3) % 4] if by & 1 == 1 else words[i]
    for i in cutlass.range_constexpr(4):
        twice[i] = once[(i + 2) % 4] if by & 2 == 2 else once[i]
    return cute.recast_tensor(twice, taken.element_type)
