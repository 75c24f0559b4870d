"""Sums over rows that end before their tile does. Of each kernel the variants in RIGHT leave the end out.

python -m tests.provenance.padded_sums
"""

# ruff: noqa: SIM102 - what is known while tracing stands apart from what a run decides

import cutlass
import cutlass.cute as cute
from cutlass import Boolean, Constexpr, Float32, Int32, const_expr
from cutlass.memory import SmemAllocator

from tests.provenance.first_sums import pointer

arch = cute.arch
ROWS, COLUMNS, EACH = 8, 100, 4
ADD, MAX = cute.ReductionOp.ADD, cute.ReductionOp.MAX
LEAST = -Float32.inf


@cute.jit
def loaded(x: cute.Tensor, fill: Constexpr):
    """Four columns of the block's row a thread, and which of them there are."""
    thread, _, _ = arch.thread_idx()
    row, _, _ = arch.block_idx()
    held, inside = cute.make_rmem_tensor((EACH,), Float32), cute.make_rmem_tensor((EACH,), Boolean)
    held.fill(fill)
    for i in cutlass.range_constexpr(EACH):
        inside[i] = thread * EACH + i < x.shape[1]
    for i in cutlass.range_constexpr(EACH):
        if inside[i]:
            held[i] = x[row, thread * EACH + i]
    return held, inside


@cute.jit
def copied(x: cute.Tensor):
    """The same by `cp.async`, which puts zeros where there is no column."""
    thread, _, _ = arch.thread_idx()
    row, _, _ = arch.block_idx()
    tile = SmemAllocator().allocate_tensor(Float32, cute.make_layout(32 * EACH), byte_alignment=16)
    held, inside = cute.make_rmem_tensor((EACH,), Float32), cute.make_rmem_tensor((EACH,), Boolean)
    atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), Float32, num_bits_per_copy=32)
    tiled = cute.make_tiled_copy_tv(atom, cute.make_layout(32), cute.make_layout(1))
    source = cute.make_tensor(x[row, None].iterator, cute.make_layout(32 * EACH))
    mine = tiled.get_slice(thread)
    for i in cutlass.range_constexpr(EACH):
        inside[i] = thread + 32 * i < x.shape[1]
    shared = mine.partition_D(tile)
    pred = cute.make_tensor(inside.iterator, cute.make_layout((1, EACH), stride=(0, 1)))
    cute.copy(tiled, mine.partition_S(source), shared, pred=pred)
    arch.cp_async_commit_group()
    arch.cp_async_wait_group(0)
    for i in cutlass.range_constexpr(EACH):
        held[i] = tile[thread + 32 * i]
    return held, inside


@cute.jit
def kept(values, inside: cute.Tensor, fill: Constexpr):
    """The values with a number where there is no column."""
    held = cute.make_rmem_tensor((EACH,), Float32)
    held.store(values)
    for i in cutlass.range_constexpr(EACH):
        if not inside[i]:
            held[i] = Float32(fill)
    return held.load()


def total(values):
    """Over the row."""
    return arch.warp_reduction_sum(values.reduce(ADD, Float32(0.0), 0))


def most(values):
    """Over the row."""
    return arch.warp_reduction_max(values.reduce(MAX, LEAST, 0))


@cute.jit
def put(y: cute.Tensor, values):
    """Store a number of each column."""
    thread, _, _ = arch.thread_idx()
    row, _, _ = arch.block_idx()
    held = cute.make_rmem_tensor((EACH,), Float32)
    held.store(values)
    for i in cutlass.range_constexpr(EACH):
        if thread * EACH + i < y.shape[1]:
            y[row, thread * EACH + i] = held[i]


@cute.kernel
def layer_norm(x: cute.Tensor, y: cute.Tensor, wide: cute.Tensor, how: Constexpr):
    """2 and 5 sum what is not masked; 3 takes the end off again, 4 and 5 read rows of whole tiles or not."""
    row, _, _ = arch.block_idx()
    thread, _, _ = arch.thread_idx()
    held, inside = copied(x) if const_expr(how == 5) else loaded(wide if const_expr(how == 4) else x, 0.0)
    mean = total(held.load()) / COLUMNS
    centred = held.load() - mean
    if const_expr(how == 0):
        centred = kept(centred, inside, 0.0)
    squares = centred * centred
    if const_expr(how == 1):
        squares = kept(squares, inside, 0.0)
    variance = total(squares)
    if const_expr(how == 3):
        variance = variance - (32 * EACH - COLUMNS) * mean * mean
    if const_expr(how == 5):
        if thread == 0:
            y[row, 0] = cute.math.rsqrt(variance / COLUMNS + 1e-5)
    else:
        put(y, centred * cute.math.rsqrt(variance / COLUMNS + 1e-5))


@cute.kernel
def copied_norm(x: cute.Tensor, y: cute.Tensor, wide: cute.Tensor, how: Constexpr):
    """By cp.async: 0 the root of the mean of squares, 1 masks, 2 sums the magnitude of what is not masked."""
    row, _, _ = arch.block_idx()
    thread, _, _ = arch.thread_idx()
    held, inside = copied(x)
    values = held.load()
    if const_expr(how > 0):
        values = values - total(values) / COLUMNS
    if const_expr(how == 1):
        values = kept(values, inside, 0.0)
    if const_expr(how == 2):
        values = cute.math.absf(values)
    sums = total(values * values)
    if thread == 0:
        y[row, 0] = cute.math.sqrt(sums / COLUMNS)


@cute.kernel
def soft_max(x: cute.Tensor, y: cute.Tensor, wide: cute.Tensor, how: Constexpr):
    """0 filled with minus infinity, 1 masks the powers, 3 has the base 2; 2 counts powers of 0 - maximum."""
    held, inside = loaded(x, LEAST if const_expr(how in (0, 3)) else 0.0)
    values = held.load()
    if const_expr(how == 3):
        values = values * 1.4427
    powers = (
        cute.math.exp2(values - most(values))
        if const_expr(how == 3)
        else cute.math.exp(values - most(values))
    )
    if const_expr(how == 1):
        powers = kept(powers, inside, 0.0)
    put(y, powers / total(powers))


@cute.kernel
def log_sum(x: cute.Tensor, y: cute.Tensor, wide: cute.Tensor, how: Constexpr):
    """The logarithm of a sum of powers: 0 filled with minus infinity, 1 with 0; 2 and 3 by cp.async."""
    row, _, _ = arch.block_idx()
    thread, _, _ = arch.thread_idx()
    held, inside = copied(x) if const_expr(how > 1) else loaded(x, (LEAST, 0.0)[how])
    values = held.load()
    if const_expr(how == 2):
        values = kept(values, inside, LEAST)
    largest = most(values)
    found = cute.math.log(total(cute.math.exp(values - largest))) + largest
    if thread == 0:
        y[row, 0] = found


@cute.kernel
def powers(x: cute.Tensor, y: cute.Tensor, wide: cute.Tensor, how: Constexpr):
    """A sum of exp(x): exp(-inf) is 0, and exp(0) is 1."""
    row, _, _ = arch.block_idx()
    thread, _, _ = arch.thread_idx()
    held, _ = loaded(x, (LEAST, 0.0)[how])
    found = total(cute.math.exp(held.load()))
    if thread == 0:
        y[row, 0] = found


@cute.kernel
def welford(x: cute.Tensor, y: cute.Tensor, wide: cute.Tensor, how: Constexpr):
    """Mean and squares of each thread, put together by their counts; 1 counts every column of the tile."""
    row, _, _ = arch.block_idx()
    thread, _, _ = arch.thread_idx()
    held, inside = loaded(x, 0.0)
    count, mean, squares = Float32(0.0), Float32(0.0), Float32(0.0)
    for i in cutlass.range_constexpr(EACH):
        if inside[i]:
            count += 1.0
            less = held[i] - mean
            mean += less / count
            squares += less * (held[i] - mean)
    number = arch.warp_reduction_sum(count)
    all_of_them = arch.warp_reduction_sum(mean * count) / number
    if const_expr(how == 0):
        squares += count * (mean - all_of_them) * (mean - all_of_them)
    else:
        less = held[0] - all_of_them
        squares = 4.0 * less * less
    found = arch.warp_reduction_sum(squares) / number
    if thread == 0:
        y[row, 0] = found


@cute.kernel
def quantised(x: cute.Tensor, y: cute.Tensor, wide: cute.Tensor, how: Constexpr):
    """By the largest magnitude; 1 subtracts the least, 2 sums the error of what is rounded."""
    row, _, _ = arch.block_idx()
    thread, _, _ = arch.thread_idx()
    held, _ = loaded(x, 0.0)
    values = held.load()
    scale = most(cute.math.absf(values)) / 127.0
    if const_expr(how == 1):
        values = values + arch.warp_reduction_max((0.0 - values).reduce(MAX, LEAST, 0))
    if const_expr(how == 2):
        errors = total(values / scale)
        if thread == 0:
            y[row, 0] = errors
    else:
        put(y, values / scale)


@cute.kernel
def distances(x: cute.Tensor, y: cute.Tensor, wide: cute.Tensor, how: Constexpr):
    """0 from another row, which ends where this one does; 1 from the next lane, with 0 behind the end."""
    row, _, _ = arch.block_idx()
    thread, _, _ = arch.thread_idx()
    held, _ = loaded(x, 0.0)
    values, others = held.load(), cute.make_rmem_tensor((EACH,), Float32)
    if const_expr(how == 0):
        others, _ = loaded(y, 0.0)
    else:
        for i in cutlass.range_constexpr(EACH):
            others[i] = arch.shuffle_sync_down(held[i], 1)
    less = values - others.load()
    found = total(less * less)
    if thread == 0:
        y[row, 0] = found


@cute.kernel
def warps(x: cute.Tensor, y: cute.Tensor, wide: cute.Tensor, how: Constexpr):
    """A column a thread, sums go through shared memory; 1 does not mask, 2 masks by a choice."""
    row, _, _ = arch.block_idx()
    thread, _, _ = arch.thread_idx()
    sums = SmemAllocator().allocate_tensor(Float32, cute.make_layout((4, 2)))
    value = x[row, thread] if thread < COLUMNS else Float32(0.0)
    part = arch.warp_reduction_sum(value)
    if thread % 32 == 0:
        sums[thread // 32, 0] = part
    arch.sync_threads()
    mean = (sums[0, 0] + sums[1, 0] + sums[2, 0] + sums[3, 0]) / COLUMNS
    less = value - mean
    square = less * less
    if const_expr(how == 0):
        if thread >= COLUMNS:
            square = Float32(0.0)
    if const_expr(how == 2):
        square = cutlass.select_(thread < COLUMNS, square, Float32(0.0))
    part = arch.warp_reduction_sum(square)
    if thread % 32 == 0:
        sums[thread // 32, 1] = part
    arch.sync_threads()
    if thread == 0:
        y[row, 0] = (sums[0, 1] + sums[1, 1] + sums[2, 1] + sums[3, 1]) / COLUMNS


@cute.kernel
def online(x: cute.Tensor, y: cute.Tensor, wide: cute.Tensor, how: Constexpr):
    """A softmax of two tiles of 64 columns, 0 filled with minus infinity, 1 with 0."""
    row, _, _ = arch.block_idx()
    thread, _, _ = arch.thread_idx()
    held = cute.make_rmem_tensor((2,), Float32)
    largest, found = LEAST, Float32(0.0)
    for tile in cutlass.range(2, unroll=1):
        held.fill((LEAST, 0.0)[how])
        for i in cutlass.range_constexpr(2):
            if tile * 64 + thread * 2 + i < x.shape[1]:
                held[i] = x[row, tile * 64 + thread * 2 + i]
        larger = arch.fmax(largest, most(held.load()))
        found = found * cute.math.exp(largest - larger) + total(cute.math.exp(held.load() - larger))
        largest = larger
    if thread == 0:
        y[row, 0] = found


@cute.kernel
def stencil(x: cute.Tensor, y: cute.Tensor, wide: cute.Tensor, how: Constexpr):
    """Neighbours; 1 has no row above the block, 2 adds none where there is none, 3 has no left column."""
    thread, _, _ = arch.thread_idx()
    block, _, _ = arch.block_idx()
    tile = SmemAllocator().allocate_tensor(Float32, cute.make_layout((18, 10), stride=(1, 18)))
    at, line = thread % 16, thread // 16
    column = block * 16 + at
    inside = column < 100
    tile[at + 1, line + 1] = wide[line, column]
    if const_expr(how != 3):
        if at == 0:
            left = Float32(0.0)
            if column > 0:
                left = wide[line, column - 1]
            tile[0, line + 1] = left
    if at == 15:
        tile[17, line + 1] = wide[line, column + 1]
    if const_expr(how in (0, 3)):
        if line == 0:
            tile[at + 1, 0] = Float32(0.0)
    if line == 7:
        tile[at + 1, 9] = Float32(0.0)
    arch.sync_threads()
    found = tile[at, line + 1] + tile[at + 2, line + 1] + tile[at + 1, line + 2]
    if const_expr(how == 2):
        if line > 0:
            found += tile[at + 1, line]
    else:
        found += tile[at + 1, line]
    if inside:
        y[line, column] = found


@cute.kernel
def partials(x: cute.Tensor, y: cute.Tensor, wide: cute.Tensor, how: Constexpr):
    """The sums of four warps; 1 adds up eight, 2 reads eight and takes four, 3 stores two for all."""
    row, _, _ = arch.block_idx()
    thread, _, _ = arch.thread_idx()
    sums = SmemAllocator().allocate_tensor(Float32, cute.make_layout(8))
    part = arch.warp_reduction_sum(wide[row, thread])
    if thread % 32 == 0:
        place = thread // 32
        if const_expr(how == 3):
            place = place % 2
        sums[place] = part
    arch.sync_threads()
    if thread < 32:
        mine = Float32(0.0)
        if const_expr(how == 2):
            mine = cutlass.select_(thread < 4, sums[thread % 8], Float32(0.0))
        else:
            if thread < (4, 8, 4, 4)[how]:
                mine = sums[thread]
        mine = arch.warp_reduction_sum(mine)
        if thread == 0:
            y[row, 0] = mine


@cute.kernel
def ring(x: cute.Tensor, y: cute.Tensor, wide: cute.Tensor, how: Constexpr):
    """Rows through three stages; 1 and 2 (cp.async) bring them to the next one.

    3 has brought one before, 4 takes none in the first turn; in 5 other warps write, further down.
    """
    column, _, _ = arch.thread_idx()
    tile = SmemAllocator().allocate_tensor(Float32, cute.make_layout((128, 3)), byte_alignment=16)
    atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), Float32, num_bits_per_copy=32)
    mine = cute.make_tiled_copy_tv(atom, cute.make_layout(128), cute.make_layout(1)).get_slice(column)
    rows = cute.make_tensor(wide.iterator, cute.make_layout((128, ROWS)))
    source, to = mine.partition_S(rows), mine.partition_D(tile)
    if const_expr(how == 3):
        tile[column, 0] = wide[7, column]
    if const_expr(how == 5):
        if column < 64:
            arch.sync_threads()
            arch.sync_threads()
            if column < COLUMNS:
                y[0, column] = tile[column + 64, 0]
        else:
            arch.sync_threads()
            tile[column, 0] = wide[0, column]
            arch.sync_threads()
    for row in cutlass.range(0 if const_expr(how == 5) else 8, unroll=1):
        stage = row if const_expr(how == 0) else row + 1
        if const_expr(how == 2):
            cute.copy(mine, source[None, None, row], to[None, None, stage % 3])
            arch.cp_async_commit_group()
            arch.cp_async_wait_group(0)
        else:
            tile[column, stage % 3] = wide[row, column]
        arch.sync_threads()
        other = tile[(column + 1) % 128, row % 3]
        if const_expr(how == 4):
            other = cutlass.select_(row > 0, other, Float32(0.0))
        if column < COLUMNS:
            y[row, column] = other
        arch.sync_threads()


@cute.kernel
def counts(x: cute.Tensor, y: cute.Tensor, wide: cute.Tensor, how: Constexpr):
    """How often each number comes; 1 and 2 begin with what is there, 3 swaps a 0 in. 2 adds to a tensor."""
    row, _, _ = arch.block_idx()
    thread, _, _ = arch.thread_idx()
    bins = SmemAllocator().allocate_tensor(Int32, cute.make_layout(32))
    if const_expr(how == 0):
        bins[thread] = 0
    if const_expr(how == 3):
        arch.atomic_exch(bins.iterator + thread, Int32(0))
    arch.sync_threads()
    arch.atomic_add(bins.iterator + Int32(wide[row, thread]) % 32, Int32(1))
    arch.sync_threads()
    if const_expr(how == 2):
        arch.atomic_add(y.iterator + row * 128 + thread, Float32(bins[thread]))
    else:
        y[row, thread] = Float32(bins[thread])


KERNELS = {  # how many variants each has
    "layer_norm": (layer_norm, 6), "copied_norm": (copied_norm, 3), "soft_max": (soft_max, 4),
    "log_sum": (log_sum, 4), "powers": (powers, 2), "welford": (welford, 2), "quantised": (quantised, 3),
    "distances": (distances, 2), "warps": (warps, 3), "online": (online, 2),
    "stencil": (stencil, 4), "partials": (partials, 4), "counts": (counts, 4), "ring": (ring, 6),
}  # fmt: skip
RIGHT = {
    "layer_norm": (0, 1, 3, 4), "copied_norm": (0, 1), "soft_max": (0, 1, 3), "log_sum": (0, 2),
    "powers": (0,), "welford": (0,), "quantised": (0, 1, 2), "distances": (0, 1),
    "warps": (0, 2), "online": (0,),
    "stencil": (0, 2), "partials": (0, 2), "counts": (0, 3), "ring": (0, 3, 4, 5),
}  # fmt: skip


@cute.jit
def run(x: cute.Pointer, y: cute.Pointer, wide: cute.Pointer):
    """All of them."""
    rows = cute.make_layout((ROWS, COLUMNS), stride=(128, 1))
    given = cute.make_tensor(x, rows), cute.make_tensor(y, rows)
    whole = cute.make_tensor(wide, cute.make_layout((ROWS, 128), stride=(128, 1)))
    for kernel, count in KERNELS.values():
        for how in cutlass.range_constexpr(count):
            kernel(*given, whole, how).launch(
                grid=(ROWS, 1, 1), block=(128 if kernel in (warps, stencil, partials, ring) else 32, 1, 1)
            )


@cute.kernel
def tail(x: cute.Tensor, y: cute.Tensor):
    """Rows of any length, in tiles of 128; the squares are not masked."""
    row, _, _ = arch.block_idx()
    held, _ = loaded(x, 0.0)
    mean = total(held.load()) / Float32(x.shape[1])
    less = held.load() - mean
    y[row] = total(less * less) / Float32(x.shape[1])


@cute.jit
def run_tail(x: cute.Tensor, y: cute.Tensor):
    """Its rows and columns are dynamic."""
    tail(x, y).launch(grid=(x.shape[0], 1, 1), block=(32, 1, 1))


@cute.kernel
def alone(x: cute.Tensor):
    """Without a tensor in registers: of 20 columns the powers, of the others those of 0."""
    thread, row = arch.thread_idx()[0], arch.block_idx()[0]
    value = x[row, thread] if thread < 20 else Float32(0.0)
    x[row, 0] = arch.warp_reduction_sum(cute.math.exp(value))


@cute.jit
def run_alone(wide: cute.Pointer):
    """It, for whole rows."""
    whole = cute.make_tensor(wide, cute.make_layout((ROWS, 128), stride=(128, 1)))
    alone(whole).launch(grid=(ROWS, 1, 1), block=(32, 1, 1))


if __name__ == "__main__":
    from tests.provenance.unset_values import rows_of

    cute.compile(run, *(pointer(Float32) for _ in range(3)))
    cute.compile(run_tail, *rows_of(None, None))
    cute.compile(run_alone, pointer(Float32))
