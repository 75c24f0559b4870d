"""Kernels with loops, tails, roles and conflicts whose lines `benchmarks.line_cost` counts; all is static.

Each takes a pointer that it reads and one that it writes, of f32, and no more than `FLOATS` of either.
"""

from __future__ import annotations

from typing import Any

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import CopyUniversalOp, cpasync

F32 = cutlass.Float32
FLOATS = 1 << 21


@cute.jit
def tensor(p: cute.Pointer, shape: cutlass.Constexpr):
    return cute.make_tensor(p, cute.make_layout(shape, stride=(shape[1], 1)))


@cute.jit
def shared(shape: cutlass.Constexpr, stride: cutlass.Constexpr):
    return cutlass.memory.SmemAllocator().allocate_tensor(F32, cute.make_layout(shape, stride=stride), 128)


@cute.kernel
def rows(p: cute.Pointer, q: cute.Pointer):
    """A warp sums a row of 1000; its last turn has 8 lanes."""
    x, y = tensor(p, (64, 1000)), tensor(q, (64, 32))
    lane, row = cute.arch.thread_idx()[0] % 32, cute.arch.block_idx()[0] * 4 + cute.arch.thread_idx()[0] // 32
    total = F32(0.0)
    for i in cutlass.range(lane, 1000, 32, unroll=1):
        total += x[row, i]
    y[row, lane] = total


@cute.kernel
def persistent(p: cute.Pointer, q: cute.Pointer):
    """Seven blocks share 50 tiles, so that some have eight and some seven; they read every second column."""
    x, y = tensor(p, (50, 128)), tensor(q, (50, 128))
    t, first = cute.arch.thread_idx()[0], cute.arch.block_idx()[0]
    for tile in cutlass.range(first, 50, 7, unroll=1):
        y[tile, t] = x[tile, t * 2 % 128] + 1.0


@cute.kernel
def strides(p: cute.Pointer, q: cute.Pointer):
    """A turn's shared accesses have the stride of its number: from none to 32 ways."""
    x, y = tensor(p, (16, 128)), tensor(q, (16, 128))
    s = shared((4096,), (1,))
    t, b = cute.arch.thread_idx()[0], cute.arch.block_idx()[0]
    for k in cutlass.range(33, unroll=1):
        s[t % 32 * k + t // 32 * 1024] = x[(b + k) % 16, t] + k
        cute.arch.sync_threads()
        y[(b + k) % 16, t] = s[(t * 7 + k) % 128 * 4]
        cute.arch.sync_threads()


@cute.kernel
def roles(p: cute.Pointer, q: cute.Pointer):
    """The first warp loads, by every second block 16 lanes of it; the others read columns of padded rows."""
    x, y = tensor(p, (64, 32)), tensor(q, (64, 96))
    s = shared((32, 32), (33, 1))
    t, b = cute.arch.thread_idx()[0], cute.arch.block_idx()[0]
    if t < 32 and (b % 2 == 0 or t < 16):
        for row in cutlass.range(32, unroll=1):
            s[row, t] = x[b * 2 % 32 + row, t]
    cute.arch.sync_threads()
    if t >= 32:
        y[b, t - 32] = s[t % 32, t // 32]


@cute.kernel
def transposed(p: cute.Pointer, q: cute.Pointer):
    """A tile of 32 x 32 through shared memory without padding, in four turns; the last tiles are partial."""
    x, y = tensor(p, (200, 300)), tensor(q, (300, 200))
    s = shared((32, 32), (32, 1))
    t = cute.arch.thread_idx()[0]
    (bx, by, _), column, row = cute.arch.block_idx(), t % 32, t // 32
    for k in cutlass.range(4, unroll=1):
        if by * 32 + row + k * 8 < 200 and bx * 32 + column < 300:
            s[row + k * 8, column] = x[by * 32 + row + k * 8, bx * 32 + column]
    cute.arch.sync_threads()
    for k in cutlass.range(4, unroll=1):
        if bx * 32 + row + k * 8 < 300 and by * 32 + column < 200:
            y[bx * 32 + row + k * 8, by * 32 + column] = s[column, row + k * 8]


@cute.kernel
def product(p: cute.Pointer, q: cute.Pointer, tiled: cute.TiledCopy):
    """128 x 128 by 128 x 256: tiles of 32 x 32 by cp.async in a loop over K; four results a thread."""
    a, b, c = tensor(p, (128, 128)), tensor(p + 128 * 128, (256, 128)), tensor(q, (128, 256))
    sa, sb = shared((32, 32), (36, 1)), shared((32, 32), (36, 1))
    t = cute.arch.thread_idx()[0]
    bx, by, _ = cute.arch.block_idx()
    mine = tiled.get_slice(t)
    total = cute.make_rmem_tensor(4, F32)
    total.fill(0.0)
    for k in cutlass.range(4, unroll=1):
        cute.copy(tiled, mine.partition_S(cute.local_tile(a, (32, 32), (by, k))), mine.partition_D(sa))
        cute.copy(tiled, mine.partition_S(cute.local_tile(b, (32, 32), (bx, k))), mine.partition_D(sb))
        cute.arch.cp_async_commit_group()
        cute.arch.cp_async_wait_group(0)
        cute.arch.sync_threads()
        for i in cutlass.range(32, unroll=1):
            left = sa[t // 8, i]
            for j in cutlass.range_constexpr(4):
                total[j] += left * sb[t % 8 + j * 8, i]
        cute.arch.sync_threads()
    for j in cutlass.range_constexpr(4):
        c[by * 32 + t // 8, bx * 32 + t % 8 + j * 8] = total[j]


@cute.kernel
def vectors(p: cute.Pointer, q: cute.Pointer, tiled: cute.TiledCopy):
    """Rows of 16 bytes a thread, through shared memory of pitch 40, read back by columns of 16 bytes."""
    x, y = tensor(p, (256, 32)), tensor(q, (256, 32))
    s = shared((32, 32), (40, 1))
    t, b = cute.arch.thread_idx()[0], cute.arch.block_idx()[0]
    mine = tiled.get_slice(t)
    source = mine.partition_S(cute.local_tile(x, (32, 32), (b, 0)))
    held = cute.make_fragment_like(source)
    cute.copy(tiled, source, held)
    cute.copy(tiled, held, mine.partition_D(s))
    cute.arch.sync_threads()
    for k in cutlass.range(3, unroll=1):
        turned = cute.local_tile(s, (1, 4), ((t + k) % 32, t // 32))
        cute.autovec_copy(turned, cute.local_tile(y, (1, 4), (b * 32 + (t + k) % 32, t // 32)))


@cute.jit
def host(p: cute.Pointer, q: cute.Pointer, name: cutlass.Constexpr):
    bits = {"num_bits_per_copy": 128}
    op = cpasync.CopyG2SOp() if cutlass.const_expr(name == "product") else CopyUniversalOp()
    atom = cute.make_copy_atom(op, F32, **bits)
    thr, val = cute.make_layout((32, 8), stride=(8, 1)), cute.make_layout((1, 4))
    tiled = cute.make_tiled_copy_tv(atom, thr, val)
    if cutlass.const_expr(name == "product"):
        product(p, q, tiled).launch(grid=(8, 4, 1), block=(256, 1, 1))
    elif cutlass.const_expr(name == "vectors"):
        vectors(p, q, tiled).launch(grid=(8, 1, 1), block=(256, 1, 1))
    else:
        kernel, grid, block = PLAIN[name]
        kernel(p, q).launch(grid=grid, block=(block, 1, 1))


PLAIN: dict[str, Any] = {
    "rows": (rows, (16, 1, 1), 128),
    "persistent": (persistent, (7, 1, 1), 128),
    "strides": (strides, (16, 1, 1), 128),
    "roles": (roles, (16, 1, 1), 128),
    "transposed": (transposed, (10, 7, 1), 256),
}
NAMES = (*PLAIN, "product", "vectors")
