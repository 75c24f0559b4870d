"""How `shifted` gathers chunks of `y` from shared memory, and stores them; `lay` and `tile`: see `pass_on`.

A thread works out once where the elements of its first chunk lie. Those of its others lie a known number of
columns, or of stages, further.
"""

from __future__ import annotations

import cutlass
from cutlass import cute

from kernels.transpose.chunks import LANES_M, LANES_N, ahead_by, column, rotated
from kernels.transpose.registers import store_wide

BYTES = 0x01010101
"""A number times this has the number in each of four bytes."""


@cute.jit
def store_chunks(
    smem: cute.Tensor,
    y: cute.Tensor,
    m: cutlass.Int32,
    ldy: cutlass.Int64,
    columns: cutlass.Int32,
    where: tuple,
    every: cutlass.Constexpr,
    stage: cutlass.Constexpr,
    plan: cutlass.Constexpr,
):
    """The chunks of `y` that start in a part of the tile, of its `columns`, and lie in their rows as a whole.

    `every`: all of them do.
    """
    n1, ahead, chunk, m1, places = where
    at_once = LANES_N * plan.warps
    row = m1 + stage * plan.stage_rows
    for i in cutlass.range_constexpr(-(-plan.tile[0] // at_once)):
        taken = cute.make_rmem_tensor((plan.chunk,), y.element_type)
        further = i * at_once + plan.chunk * stage * plan.chunks_of(plan.stage_rows)
        for k in cutlass.range_constexpr(plan.chunk):
            taken[k] = smem[places[k] + (k * plan.pitch + further)]
        turned = rotated(taken, ahead * max(plan.size // 4, 1)) if plan.ahead else taken
        here = chunk + i * (at_once // plan.chunk) * ldy + stage * LANES_M
        inside = n1 + i * at_once < columns
        if cutlass.const_expr(not every):
            inside = inside and row >= 0 and row + plan.chunk <= m
        if inside:
            store_wide(turned, y[None, here], "plain")


@cute.jit
def store_ends(
    smem: cute.Tensor,
    y: cute.Tensor,
    lay: tuple,
    tile: tuple,
    plan: cutlass.Constexpr,
):
    """What a row of `y` has in chunks that it shares with its neighbours: an element a lane, side by side."""
    tid, _, _ = cute.arch.thread_idx()
    lane_m, lane_n, warp = tid % LANES_M, tid // LANES_M % LANES_N, tid // 32
    (m, _), (ldx, ldy), starts, _ = lay
    (n0, last, first, m0), at_once = tile, LANES_N * plan.warps
    n1 = LANES_N * warp + lane_n
    begin = starts[1] + (n0 + n1) * ldy
    # Elements before the first whole chunk of the row, and after the last.
    before = cutlass.Int32(-begin & (plan.chunk - 1))
    after = cutlass.Int32((begin + m) & (plan.chunk - 1))
    late = cutlass.Int32(begin & (plan.align - 1))
    passes = -(-plan.tile[0] // at_once)
    for part in cutlass.range_constexpr(-(-plan.chunk // LANES_M)):
        k = lane_m + part * LANES_M
        for end in cutlass.range_constexpr(2):
            row = m - after + k if end else k
            inside = k < before and k < m and m0 == 0
            if cutlass.const_expr(end):
                inside = k < after and m >= after and m - after >= m0 - late
                inside = inside and m - after < m0 - late + plan.tile[1]
            if inside:
                place = in_smem(
                    row - first, cutlass.Int32((starts[0] + row * ldx + n0) & (plan.chunk - 1)), plan
                )
                taken = cute.make_rmem_tensor((passes,), y.element_type)
                for i in cutlass.range_constexpr(passes):
                    if n1 + i * at_once < last - n0:
                        taken[i] = smem[place + n1 + i * at_once]
                # Rows of `y` so many apart start as far into a chunk.
                there, below = begin + row, at_once // plan.chunk * ldy
                for i in cutlass.range_constexpr(passes):
                    if n1 + i * at_once < last - n0:
                        y[cutlass.Int32(there & (plan.chunk - 1)), (there >> plan.bits) + i * below] = taken[
                            i
                        ]


def gathering(lay, tile, plan):
    """Where a thread gathers: its first column, `ahead_by`, its first chunk of `y`, and what the chunk holds.

    That is the row that it starts at, and the places in shared memory of its elements.
    """
    tid, _, _ = cute.arch.thread_idx()
    lane_m, lane_n, warp = tid % LANES_M, tid // LANES_M % LANES_N, tid // 32
    (_, pitches, starts, _), (n0, _, first, m0) = lay, tile
    ldx, ldy = (cutlass.Int32(pitch & (plan.chunk - 1)) for pitch in pitches)
    n1 = column(warp, lane_n, ldx * ldy, plan.word)
    ahead = ahead_by(lane_n, ldx * ldy, plan.word) if plan.ahead else 0
    place = starts[1] + (n0 + n1) * pitches[1]
    late = cutlass.Int32(place & (plan.align - 1))
    chunk = ((place - late + m0) >> plan.bits) + lane_m
    # Rows and shifts repeat every chunk of rows, and every pass along N.
    corner = cutlass.Int32((starts[0] + first * pitches[0] + n0) & (plan.chunk - 1))
    # Rows k + `turned` of a chunk of them, those past its end from its start on.
    last, turned = plan.chunk - 1, plan.word * ahead & (plan.chunk - 1)
    base = plan.align - 1 - late + plan.chunk * lane_m
    run = (base + turned) * plan.pitch + (base & ~last) + n1
    places = []
    for k in range(plan.chunk):
        if k % 4 == 0:  # four at a time, a byte each
            rows = (0x03020100 + k * BYTES + turned * BYTES) & (last * BYTES)
            shifts = (((corner + base * ldx) & last) * BYTES + ldx * rows) & (last * BYTES)
            beyond = ((base & last) * BYTES + rows) & (plan.chunk * BYTES)
        further = (shifts + beyond) >> 8 * (k % 4) & 255
        if plan.ahead:
            starts_anew = cutlass.Int32(k // plan.word * plan.word + turned >= plan.chunk)
            further -= plan.chunk * plan.pitch * starts_anew
        places.append(run + further)
    return n1, ahead, chunk, m0 - late + plan.chunk * lane_m, places


def in_smem(row, shift, plan):
    """The element of shared memory where the piece of a row starts that is `shift` into its first chunk."""
    return row * plan.pitch + (row & ~(plan.chunk - 1)) + (shift & (plan.chunk - 1))
