"""The transpose of thin matrices: the side that is contiguous as a whole moves as one run of aligned chunks.

With few rows, `y` (N,M):(M,1) is one run of elements: a block owns some aligned 16-byte chunks of it, loads
the columns of `x` that they hold, and gathers. With few columns, `x` (M,N):(N,1) is one run: a block loads a
piece of it and gathers chunks of each of the few rows of `y`.
"""

from __future__ import annotations

from typing import NamedTuple

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import LoadCacheMode, cpasync

from kernels.transpose.common import Kernel, enter, fake_args, multiprocessors
from kernels.transpose.registers import store_wide
from kernels.transpose.shifted import CHUNK, aligned, load_chunk, load_run, reach

LINE = 64
"""Elements of a line of the L2, 128 bytes: no two blocks write to one."""


class Ribbon(NamedTuple):
    """`few`: "rows" or "columns", which of `x` are `most` at most; a block stores `chunks` of 8 at most.

    Few rows: no more than `threads`. `residents`: blocks on a multiprocessor, whose registers suffice.
    """

    few: str
    chunks: int = 512
    threads: int = 128
    most: int = 64
    store: str = "plain"
    residents: int = 10

    @property
    def rows(self) -> int:
        """Chunks in shared memory if rows are few: 3 a row too many at most, and one unused in 8 rows."""
        return self.chunks + 3 * self.most + self.most // 8 + 1

    @property
    def flat(self) -> int:
        """Chunks in shared memory if columns are few: 7 rows more, and one unused after every eighth."""
        return (self.chunks + self.most + 2) * 9 // 8 + 1


@cute.kernel
def transpose_few_rows(
    x: cute.Tensor,
    y: cute.Tensor,
    shape: tuple[cutlass.Int32, cutlass.Int32],
    ldx: cutlass.Int64,
    starts: tuple[cutlass.Int64, cutlass.Int64],
    whole: tuple[cutlass.Int64, cutlass.Int64],
    chunks: cutlass.Int32,
    plan: cutlass.Constexpr,
    early: cutlass.Constexpr,
):
    """`x` and `y` (8,chunks):(1,8), aligned; element (m, n) of `x` is number starts[0] + m * ldx + n.

    A block stores `chunks` of `y`; `whole`: see `load_chunk`.
    """
    enter(early)
    m, n = shape
    tid, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    total = m * n
    begin = CHUNK * chunks * block - cutlass.Int32(starts[1])
    n0 = max(begin, 0) // m
    columns = (min(begin + CHUNK * chunks, total) - 1) // m - n0 + 1
    width = ((CHUNK * chunks // m + 2 * CHUNK) >> 3) | 1
    layout = cute.make_layout((CHUNK, plan.rows), stride=(1, CHUNK))
    smem = cutlass.memory.SmemAllocator().allocate_tensor(x.element_type, layout, byte_alignment=128)
    op = cpasync.CopyG2SOp(LoadCacheMode.GLOBAL)
    atom = cute.make_copy_atom(op, x.element_type, num_bits_per_copy=128)
    # Each thread loads one chunk of every so many rows or, if that is all the threads, several of every row.
    row, each = tid // width, max(plan.threads // width, 1)
    inner = n0 >= CHUNK and n0 + columns + CHUNK <= n
    if row < each:
        place, apart = starts[0] + row * ldx + n0, each * ldx
        for slot in cutlass.range(tid - row * width, width, plan.threads, unroll=1):
            if inner:
                for i in cutlass.range((m - row + each - 1) // each, unroll=4):
                    here, line = place + i * apart, row + i * each
                    if CHUNK * slot - cutlass.Int32(here & 7) < columns:
                        there = smem[None, line * width + slot + (line >> 3)]
                        cute.copy(atom, x[None, (here >> 3) + slot], there)
            else:
                for i in cutlass.range((m - row + each - 1) // each, unroll=1):
                    here, line = place + i * apart, row + i * each
                    if CHUNK * slot - cutlass.Int32(here & 7) < columns:
                        there = smem[None, line * width + slot + (line >> 3)]
                        load_chunk(atom, x, (here >> 3) + slot, there, whole)
    cute.arch.cp_async_commit_group()

    # Chunks of `y` that lie m chunks apart hold the same rows, of columns that lie 8 apart. So a thread works
    # out once where the elements of its chunks lie. Its first chunk may begin up to LINE elements early.
    flat = cute.make_tensor(smem.iterator, cute.make_layout(CHUNK * plan.rows))
    corner, step = cutlass.Int32((starts[0] + n0) & 7), cutlass.Int32(ldx & 7)
    periods = plan.threads // m
    begin += CHUNK * tid
    n1 = (begin + LINE * m) // m
    m1 = begin + LINE * m - n1 * m
    n1 -= LINE + n0
    places = []
    for _ in cutlass.range_constexpr(CHUNK):
        places.append(m1 * (CHUNK * width) + (m1 & ~7) + ((corner + m1 * step) & 7) + n1)
        m1 += 1
        n1 = n1 + 1 if m1 == m else n1
        m1 = 0 if m1 == m else m1
    apart = periods * m
    passes = (chunks - tid + apart - 1) // apart if tid < apart else 0
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    for i in cutlass.range(passes, unroll=1):
        chunk, further = tid + i * apart, i * periods * CHUNK
        first = begin + CHUNK * i * apart
        if first >= 0 and first + CHUNK <= total:
            taken = cute.make_rmem_tensor((CHUNK,), y.element_type)
            for k in cutlass.range_constexpr(CHUNK):
                taken[k] = flat[places[k] + further]
            store_wide(taken, y[None, chunks * block + chunk], plan.store)
        else:
            for k in cutlass.range_constexpr(CHUNK):
                if first + k >= 0 and first + k < total:
                    y[k, chunks * block + chunk] = flat[places[k] + further]


@cute.kernel
def transpose_few_columns(
    x: cute.Tensor,
    y: cute.Tensor,
    shape: tuple[cutlass.Int32, cutlass.Int32],
    ldy: cutlass.Int64,
    starts: tuple[cutlass.Int64, cutlass.Int64],
    whole: tuple[cutlass.Int64, cutlass.Int64],
    per_row: cutlass.Int32,
    plan: cutlass.Constexpr,
    early: cutlass.Constexpr,
):
    """As `transpose_few_rows`; a block stores `per_row` chunks of each row of `y`."""
    enter(early)
    m, n = shape
    tid, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    m0 = block * CHUNK * per_row
    begin = starts[0] + max(m0 - (CHUNK - 1), 0) * cutlass.Int64(n)
    end = starts[0] + min(m0 + CHUNK * per_row, m) * cutlass.Int64(n)
    chunk0 = begin >> 3
    layout = cute.make_layout((CHUNK, plan.flat), stride=(1, CHUNK))
    smem = cutlass.memory.SmemAllocator().allocate_tensor(x.element_type, layout, byte_alignment=128)
    load_run(x, smem, chunk0, cutlass.Int32(((end + 7) >> 3) - chunk0), whole, plan.threads)
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()

    flat = cute.make_tensor(smem.iterator, cute.make_layout(CHUNK * plan.flat))
    # The place in shared memory, but for the unused chunks, of row m0 of the first column.
    origin = cutlass.Int32(starts[0] + m0 * cutlass.Int64(n) - CHUNK * chunk0)
    n1, at = tid // per_row, tid % per_row
    for _ in cutlass.range_constexpr(plan.chunks // plan.threads):
        if n1 < n:
            place = starts[1] + n1 * ldy
            later = CHUNK * at - cutlass.Int32(place & 7)
            chunk = (place + m0 + later) >> 3
            source = origin + later * n + n1
            if m0 + later >= 0 and m0 + later + CHUNK <= m:
                taken = cute.make_rmem_tensor((CHUNK,), y.element_type)
                for k in cutlass.range_constexpr(CHUNK):
                    taken[k] = flat[source + ((source >> 6) << 3)]
                    source += n
                store_wide(taken, y[None, chunk], plan.store)
            else:
                for k in cutlass.range_constexpr(CHUNK):
                    if m0 + later + k >= 0 and m0 + later + k < m:
                        y[k, chunk] = flat[source + ((source >> 6) << 3)]
                    source += n
        n1 += plan.threads // per_row
        at += plan.threads % per_row
        n1 = n1 + 1 if at >= per_row else n1
        at = at - per_row if at >= per_row else at


@cute.jit
def shared_out(count, most, least, unit, residents):
    """How much of `count` a block takes: `most`, or less if that makes one or two rounds of blocks.

    Then as little as makes no more rounds, so that the last is as full as the first. No less than `least`; a
    multiple of `unit`, as `most` is. In many rounds the idle places of the last weigh little, and small
    pieces weigh more.
    """
    slots = multiprocessors() * residents
    rounds = (count + slots * most - 1) // (slots * most)
    each = (count + rounds * slots - 1) // (rounds * slots)
    each = (max(each, least) + unit - 1) // unit * unit
    return min(each + most * cutlass.Int32(rounds > 2), most)


def build_ribbon(plan: Ribbon, early: bool = False) -> Kernel:
    """At most `most` rows and a `y` without gaps, or columns and an `x`; the other at any pitch."""

    @cute.jit
    def host(x: cute.Tensor, y: cute.Tensor, stream):
        m, n = x.shape
        start_x = x.iterator.toint() // (x.element_type.width // 8) % CHUNK
        start_y = y.iterator.toint() // (y.element_type.width // 8) % LINE
        chunks_x, chunks_y = aligned(x, start_x, CHUNK), aligned(y, start_y, LINE)
        starts, whole = (start_x, start_y), (start_x, start_x + reach(x))
        if cutlass.const_expr(plan.few == "rows"):
            count = cute.size(chunks_y, mode=[1])
            chunks = shared_out(
                count, cutlass.Int32(plan.chunks), plan.threads, LINE // CHUNK, plan.residents
            )
            blocks = (count + chunks - 1) // chunks
            kernel = transpose_few_rows(
                chunks_x, chunks_y, (m, n), x.stride[0], starts, whole, chunks, plan, early
            )
        else:
            most = cutlass.Int32(plan.chunks // n)
            # In 64 bytes, as DRAM is written.
            most, unit = (most & ~3, cutlass.Int32(4)) if most > 4 else (most, cutlass.Int32(1))
            count = (m + 2 * CHUNK - 2) // CHUNK
            per_row = shared_out(count, most, max(plan.threads // n, 1), unit, plan.residents)
            blocks = (count + per_row - 1) // per_row
            kernel = transpose_few_columns(
                chunks_x, chunks_y, (m, n), y.stride[0], starts, whole, per_row, plan, early
            )
        kernel.launch(
            grid=(blocks, 1, 1),
            block=(plan.threads, 1, 1),
            min_blocks_per_mp=plan.residents,
            preferred_smem_carveout=100,
            stream=stream,
            use_pdl=early,
        )

    return Kernel(host, fake_args(align_bytes=2))
