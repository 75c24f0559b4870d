"""The transpose at any pitch and base, as a stream: the chunks of `shifted`, in a ring of shared memory.

A block walks down a strip of `x`, 64 rows a step. The rows of the steps to come are on their way into the
ring, by cp.async, while a step is gathered and stored; and the rows that a step shares with the one before,
since rows of `y` start within a line, are there already. So the memory never waits for the gather, and a
block reads only the 64 rows above its strip twice.
"""

from __future__ import annotations

from typing import NamedTuple

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import LoadCacheMode, cpasync

from kernels.transpose.common import SMEM_KIB, Kernel, fake_args
from kernels.transpose.registers import store_wide
from kernels.transpose.shifted import (
    CHUNK,
    LANES_M,
    LANES_N,
    ahead_by,
    aligned,
    column,
    in_smem,
    load_chunk,
    reach,
    rotated,
)

STEP = LANES_M * CHUNK
"""Rows of `x` that a step loads, and elements of a row of `y` that it stores: a line of the L2."""


class Stream(NamedTuple):
    """`tile`: columns of `x` of a block, a multiple of 4 * `warps`; `steps` that it walks.

    `align`: elements of `y` that no two blocks share a run of, 8 to 64, a divisor of 4 * `warps`; `stages` of
    the ring, at least 3, each of STEP rows; `store`: cache hint.
    """

    tile: int = 128
    warps: int = 16
    align: int = 64
    stages: int = 5
    steps: int = 16
    store: str = "plain"

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 32 * self.warps

    @property
    def pitch(self) -> int:
        """Elements from row to row in shared memory."""
        return self.tile + CHUNK

    @property
    def stage(self) -> int:
        """Elements of a stage: eight rows take one chunk more than their pitch."""
        return STEP * self.pitch + STEP // CHUNK * CHUNK

    @property
    def smem_bytes(self) -> int:
        """Shared memory of a block, the KiB included that every block takes more than it asks for."""
        return 2 * self.stages * self.stage + 1024

    @property
    def residents(self) -> int:
        """Blocks that a multiprocessor has shared memory and threads for."""
        return max(min(1024 * SMEM_KIB // self.smem_bytes, 2048 // self.threads), 1)


STANDARD = Stream()


@cute.kernel
def stream_chunks(
    x: cute.Tensor,
    y: cute.Tensor,
    shape: tuple[cutlass.Int32, cutlass.Int32],
    pitches: tuple[cutlass.Int64, cutlass.Int64],
    apart: tuple[cutlass.Int64, cutlass.Int64],
    starts: tuple[cutlass.Int64, cutlass.Int64],
    whole: tuple[cutlass.Int64, cutlass.Int64],
    plan: cutlass.Constexpr,
):
    """As `shifted.transpose_chunks`."""
    bm, bn, item = cute.arch.block_idx()
    m, n = shape
    starts = (starts[0] + item * apart[0], starts[1] + item * apart[1])
    layout = cute.make_layout(
        (CHUNK, plan.pitch // CHUNK, (CHUNK, plan.stages * STEP // CHUNK)),
        stride=(1, CHUNK, (plan.pitch, CHUNK * plan.pitch + CHUNK)),
    )
    smem = cutlass.memory.SmemAllocator().allocate_tensor(x.element_type, layout, byte_alignment=128)
    n0, m0 = bn * plan.tile, bm * plan.steps * STEP
    steps = min(cutlass.Int32(plan.steps), (m + plan.align - 1 - m0 + STEP - 1) // STEP)
    if m0 >= 2 * STEP and m0 + plan.steps * STEP < m and n0 + plan.pitch <= n:
        walk(x, y, smem, shape, pitches, starts, whole, n0, m0, steps, True, plan)
    else:
        walk(x, y, smem, shape, pitches, starts, whole, n0, m0, steps, False, plan)


@cute.jit
def walk(
    x: cute.Tensor,
    y: cute.Tensor,
    smem: cute.Tensor,
    shape: tuple[cutlass.Int32, cutlass.Int32],
    pitches: tuple[cutlass.Int64, cutlass.Int64],
    starts: tuple[cutlass.Int64, cutlass.Int64],
    whole: tuple[cutlass.Int64, cutlass.Int64],
    n0: cutlass.Int32,
    m0: cutlass.Int32,
    steps: cutlass.Int32,
    inner: cutlass.Constexpr,
    plan: cutlass.Constexpr,
):
    """`steps` steps down from row m0; `inner`: all of it lies inside of `x`, so that nothing needs a test."""
    m, n = shape
    tid, _, _ = cute.arch.thread_idx()
    lane_m, lane_n, warp = tid % LANES_M, tid // LANES_M % LANES_N, tid // 32
    ldx, ldy = cutlass.Int32(pitches[0] & 7), cutlass.Int32(pitches[1] & 7)
    n1 = column(warp, lane_n, ldx * ldy)
    ahead = ahead_by(lane_n, ldx * ldy)
    place = starts[1] + (n0 + n1) * pitches[1]
    late = cutlass.Int32(place & (plan.align - 1))
    chunk = ((place - late + m0) >> 3) + lane_m

    # Stage 0 holds the 64 rows above m0. Element k of this thread's chunks lies in row `row` of two stages.
    corner = cutlass.Int32((starts[0] + (m0 - STEP) * pitches[0] + n0) & 7)
    flat = cute.make_tensor(smem.iterator, cute.make_layout(plan.stages * plan.stage))
    places = []
    for k in cutlass.range_constexpr(CHUNK):
        row = STEP - late + ((k + 2 * ahead) & 7) + CHUNK * lane_m
        places.append(in_smem(row, corner + row * ldx, plan) + n1)

    for stage in cutlass.range_constexpr(plan.stages - 1):
        if stage <= steps:
            load_stage(
                x,
                smem,
                shape,
                pitches[0],
                starts[0],
                whole,
                n0,
                m0,
                cutlass.Int32(stage),
                cutlass.Int32(stage),
                inner,
                plan,
            )
        cute.arch.cp_async_commit_group()
    slot = cutlass.Int32(0)
    for step in cutlass.range(steps, unroll=1):
        cute.arch.cp_async_wait_group(plan.stages - 3)
        cute.arch.sync_threads()
        # The stage before this step's two, which every thread has left.
        ahead_slot = plan.stages - 1 if slot == 0 else slot - 1
        if step + plan.stages - 1 <= steps:
            load_stage(
                x,
                smem,
                shape,
                pitches[0],
                starts[0],
                whole,
                n0,
                m0,
                step + plan.stages - 1,
                ahead_slot,
                inner,
                plan,
            )
        cute.arch.cp_async_commit_group()
        for i in cutlass.range_constexpr(plan.tile // (LANES_N * plan.warps)):
            taken = cute.make_rmem_tensor((CHUNK,), y.element_type)
            for k in cutlass.range_constexpr(CHUNK):
                found = places[k] + slot * plan.stage
                found = found - plan.stages * plan.stage if found >= plan.stages * plan.stage else found
                taken[k] = flat[found + i * LANES_N * plan.warps]
            turned = rotated(taken, ahead)
            m1 = m0 - late + CHUNK * lane_m + step * STEP
            here = chunk + i * (LANES_N * plan.warps // CHUNK) * pitches[1] + step * LANES_M
            if cutlass.const_expr(inner):
                store_wide(turned, y[None, here], plan.store)
            elif n0 + n1 + i * LANES_N * plan.warps < n:
                if m1 >= 0 and m1 + CHUNK <= m:
                    store_wide(turned, y[None, here], plan.store)
                else:
                    for k in cutlass.range_constexpr(CHUNK):
                        if m1 + k >= 0 and m1 + k < m:
                            y[k, here] = turned[k]
        slot = 0 if slot == plan.stages - 1 else slot + 1


@cute.jit
def load_stage(
    x: cute.Tensor,
    smem: cute.Tensor,
    shape: tuple[cutlass.Int32, cutlass.Int32],
    ldx: cutlass.Int64,
    start: cutlass.Int64,
    whole: tuple[cutlass.Int64, cutlass.Int64],
    n0: cutlass.Int32,
    m0: cutlass.Int32,
    stage: cutlass.Int32,
    slot: cutlass.Int32,
    inner: cutlass.Constexpr,
    plan: cutlass.Constexpr,
):
    """The chunks that cover columns n0 to n0 + tile of the 64 rows from m0 + 64 * (stage - 1) on."""
    m, n = shape
    tid, _, _ = cute.arch.thread_idx()
    op = cpasync.CopyG2SOp(LoadCacheMode.GLOBAL)
    atom = cute.make_copy_atom(op, x.element_type, num_bits_per_copy=128)
    chunks = plan.pitch // CHUNK
    for i in cutlass.range_constexpr(-(-STEP * chunks // plan.threads)):
        number = tid + i * plan.threads
        row = number // chunks
        here = m0 + (stage - 1) * STEP + row
        place = start + here * ldx + n0
        target = smem[None, number - row * chunks, slot * STEP + row]
        source = (place >> 3) + number - row * chunks
        if number < STEP * chunks:
            if cutlass.const_expr(inner):
                cute.copy(atom, x[None, source], target)
            else:
                first = n0 + (number - row * chunks) * CHUNK - cutlass.Int32(place & 7)
                if here >= 0 and here < m and first < min(n, n0 + plan.tile):
                    load_chunk(atom, x, source, target, whole)


def build_stream(plan: Stream = STANDARD) -> Kernel:
    """Any M and N, bases and pitches; rows of `x` and `y` contiguous, 16-bit elements."""

    @cute.jit
    def host(x: cute.Tensor, y: cute.Tensor, stream):
        m, n = x.shape[0], x.shape[1]
        items, apart = 1, (cutlass.Int64(0), cutlass.Int64(0))
        if cutlass.const_expr(cute.rank(x) == 3):
            items, apart = x.shape[2], (x.stride[2], y.stride[2])
        bytes_each = x.element_type.width // 8
        start_x = x.iterator.toint() // bytes_each % CHUNK
        start_y = y.iterator.toint() // bytes_each % plan.align
        strip = plan.steps * STEP
        stream_chunks(
            aligned(x, start_x, CHUNK),
            aligned(y, start_y, plan.align),
            (m, n),
            (x.stride[0], y.stride[0]),
            apart,
            (start_x, start_y),
            (start_x, start_x + reach(x)),
            plan,
        ).launch(
            grid=((m + plan.align - 1 + strip - 1) // strip, (n + plan.tile - 1) // plan.tile, items),
            block=(plan.threads, 1, 1),
            min_blocks_per_mp=plan.residents,
            preferred_smem_carveout=100,
            stream=stream,
        )

    return Kernel(host, fake_args(align_bytes=2))
