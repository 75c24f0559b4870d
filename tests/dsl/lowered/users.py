"""Copies as users write them, each right (`how` 0) and with faults of bounds, predicates, slices and stages.

python -m tests.dsl.lowered.users [NAME ...]      # compile every variant
"""

from __future__ import annotations

import sys

import cutlass
import cutlass.cute as cute
from cutlass import BFloat16, Constexpr, Float32, Int32, Int64, const_expr
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import make_fake_tensor
from cutlass.memory import SmemAllocator

arch = cute.arch
ARCHS = {"tail": "sm_90a"}
N = 128  # threads
# kernel -> what its variants from 1 on are told; "" if nothing, "not checked" if more is named than of 0
TOLD = {
    "tail": ("LC204", "LC204", "LC204", "note LC203", "LC204", "LC204"),
    "residue": ("LC204 LC504", "note LC203", "LC204", "LC204 LC504"),
    "rest": ("LC204", "LC204", "LC204", "LC204 LC210"),
    "slices": ("LC610", "LC212 LC610", "LC204 LC212 LC610", "LC610", "LC610", "LC204 LC610", "right"),
    "stencil": ("LC204", "LC204", "LC204", "LC204", "right"),
    "batches": ("LC204", "LC204", "note LC203", "LC204"),
    "buffers": ("LC204", "LC204 LC501 LC610", "", "LC501", "LC204", "LC501", "right"),
    "rows": ("LC204", "LC101", "LC204"),
    "halves": ("LC204", "LC204", "LC204"),
    "gather": ("not checked", "not checked", "LC204"),
    "inplace": ("LC504", "LC504", "right"),
    "registers": ("LC610", "LC610", "LC610"),
    "large": ("LC204", "LC204"),
    "boxes": ("note LC614", "note LC614", "LC501", "note LC614", "note LC614", "LC507"),
    "seen": ("LC605", "LC605", "LC605", "right"),
    "slabs": ("note LC203", "note LC203", "note LC525"),
    "sums": ("note LC203", "note LC203", "right"),
}  # fmt: skip
NAMED = {"gather": "addresses or predicates known at run time"}  # what is not checked


def smem(shape, t=Float32, stride=None):
    return SmemAllocator().allocate_tensor(t, cute.make_layout(shape, stride=stride), 128)


def universal(t=Float32, bits=None):
    op = cute.nvgpu.CopyUniversalOp()
    return cute.make_copy_atom(op, t, **({"num_bits_per_copy": bits} if bits else {}))


def async_(t=Float32, bits=128):
    return cute.make_copy_atom(cpasync.CopyG2SOp(), t, num_bits_per_copy=bits)


def tv(atom, thr, val):
    return cute.make_tiled_copy_tv(atom, cute.make_layout(thr, stride=(thr[1], 1)), cute.make_layout(val))


@cute.kernel
def tail(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """A row-major tail in both modes by a predicate. 1 of the other mode; 2 <=; 3 of the unpartitioned
    identity; 4 the extents of the tile; 5 without the block's place; 6 predicate of values' first only"""
    t, (bx, by, _) = arch.thread_idx()[0], arch.block_idx()
    tile = (16, 32)
    ga, gb = cute.local_tile(a, tile, (bx, by)), cute.local_tile(b, tile, (bx, by))
    at = (0, 0) if const_expr(how == 5) else (bx, by)
    whole = cute.local_tile(cute.make_identity_tensor(a.shape), tile, at)
    copy = tv(universal(), (8, 16), (2, 2))
    mine = copy.get_slice(t)
    s, d, c = mine.partition_S(ga), mine.partition_D(gb), mine.partition_S(whole)
    held = cute.make_fragment_like(s)
    held.fill(0.0)
    pred = cute.make_rmem_tensor(s.shape, cutlass.Boolean)
    for i in cutlass.range_constexpr(cute.size(pred)):
        at = whole[i] if const_expr(how == 3) else c[0 if const_expr(how == 6) else i]
        if const_expr(how == 1):
            pred[i] = cute.elem_less(at, (a.shape[1], a.shape[0]))
        elif const_expr(how == 2):
            pred[i] = at[0] <= a.shape[0] and at[1] <= a.shape[1]
        elif const_expr(how == 4):
            pred[i] = cute.elem_less(at, tile)
        else:
            pred[i] = cute.elem_less(at, a.shape)
    cute.copy(universal(), s, held, pred=pred)
    for i in cutlass.range_constexpr(cute.size(held)):
        held[i] = held[i] + 1.0
    cute.copy(universal(), held, d, pred=pred)


@cute.kernel
def residue(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """K's residue comes first: the tensor is moved by it. 1 the predicate takes the last tile's; 2 moved
    by it twice; 3 the store's tile is not moved; 4 moved the other way, not negative"""
    t = arch.thread_idx()[0]
    K = 32
    r = a.shape[1] - K * ((a.shape[1] + K - 1) // K)  # 0 or negative
    move = r + r if const_expr(how == 2) else -r if const_expr(how == 4) else r
    x = cute.domain_offset((0, move), a)
    y = b if const_expr(how == 3) else cute.domain_offset((0, move), b)
    ids = cute.domain_offset((0, move), cute.make_identity_tensor(a.shape))
    gx, gy, gi = (cute.local_tile(one, (16, K), (0, None)) for one in (x, y, ids))
    copy = tv(universal(), (8, 16), (2, 2))
    mine = copy.get_slice(t)
    tx, ty, ti = mine.partition_S(gx), mine.partition_D(gy), mine.partition_S(gi)
    held = cute.make_fragment_like(tx[None, None, None, 0])
    last = cute.size(gx, mode=[2]) - 1
    for k in cutlass.range_constexpr(cute.size(gx, mode=[2])):
        held.fill(0.0)
        for i in cutlass.range_constexpr(cute.size(held)):
            at = ti[None, None, None, k][i]
            inside = at[1] >= 0
            if const_expr(how == 1):
                inside = k < last or at[1] < a.shape[1]
            if inside:
                held[i] = tx[None, None, None, k][i]
                ty[None, None, None, k][i] = held[i]


@cute.kernel
def rest(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """Predicates of the rest modes. 1 of the first rest of M for all; 2 of the first rest of K; 3 those
    of K are M's; 4 none for the store"""
    t, bx = arch.thread_idx()[0], arch.block_idx()[0]
    tile = (32, 64)
    ga, gb, gc = (cute.local_tile(one, tile, (bx, 0)) for one in (a, b, cute.make_identity_tensor(a.shape)))
    s = smem(tile, stride=(68, 1))
    copy = tv(async_(), (16, 8), (1, 4))
    mine = copy.get_slice(t)
    ta, tb, tc, ts = mine.partition_S(ga), mine.partition_D(gb), mine.partition_S(gc), mine.partition_D(s)
    m, k = cute.size(ta, mode=[1]), cute.size(ta, mode=[2])
    pred = cute.make_rmem_tensor(cute.make_layout((1, m, k), stride=(0, k, 1)), cutlass.Boolean)
    for i in cutlass.range_constexpr(m):
        for j in cutlass.range_constexpr(k):
            ii, jj = 0 if const_expr(how == 1) else i, 0 if const_expr(how == 2) else j
            if const_expr(how == 3):
                ii = min(j, m - 1)
            pred[0, i, j] = cute.elem_less(tc[0, ii, jj], a.shape)
    ts.fill(0.0)
    cute.copy(copy, ta, ts, pred=pred)
    arch.cp_async_commit_group()
    arch.cp_async_wait_group(0)
    arch.sync_threads()
    held = cute.make_fragment_like(ts)
    cute.autovec_copy(ts, held)
    if const_expr(how == 4):
        cute.copy(universal(bits=128), held, tb)
    else:
        cute.copy(universal(bits=128), held, tb, pred=pred)


@cute.kernel
def slices(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """A tile through shared memory. 1 the slice of the lane; 2 of a tiled copy of 256 threads; 3 the
    reader has 64 threads' copy; 4 by tid // 2; 5 y in place of x; 6 of tid + 1; 7 by tid ^ 1 (right)"""
    t, ty, _ = arch.thread_idx()
    bx = arch.block_idx()[0]
    s = smem((32, 32), stride=(36, 1))
    ga, gb = cute.local_tile(a, (32, 32), (bx, 0)), cute.local_tile(b, (32, 32), (bx, 0))
    write = tv(universal(), (16 if const_expr(how != 2) else 32, 8), (1, 4))
    read = tv(universal(), (8 if const_expr(how == 3) else 16, 8), (1, 4))
    who = t
    if const_expr(how == 1):
        who = t % 32
    elif const_expr(how == 4):
        who = t // 2
    elif const_expr(how == 5):
        who = ty
    elif const_expr(how == 6):
        who = t + 1
    elif const_expr(how == 7):
        who = t ^ 1
    w, r = write.get_slice(who), read.get_slice(t)
    held = cute.make_fragment_like(w.partition_S(ga))
    cute.copy(write, w.partition_S(ga), held)
    cute.copy(write, held, w.partition_D(s))
    arch.sync_threads()
    out = cute.make_fragment_like(r.partition_S(s))
    cute.copy(read, r.partition_S(s), out)
    cute.copy(read, out, r.partition_D(gb))


@cute.kernel
def stencil(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """b[i] = a[i-1] + a[i] + a[i+1] inside. 1 no lower bound; 2 no upper one; 3 the guard of the block; 4
    clamps with the extent, not extent - 1; 5 with that (right)"""
    i = arch.block_idx()[0] * N + arch.thread_idx()[0]
    n = a.shape[0]
    if i < n:
        left, right = Float32(0.0), Float32(0.0)
        if const_expr(how == 1):
            left = a[i - 1]
        elif const_expr(how == 3):
            if arch.block_idx()[0] >= 0:
                left = a[i - 1]
        elif i > 0:
            left = a[i - 1]
        if const_expr(how == 2):
            right = a[i + 1]
        elif const_expr(how in (4, 5)):
            right = a[cutlass.min(i + 1, n if const_expr(how == 4) else n - 1)]
        elif i + 1 < n:
            right = a[i + 1]
        b[i] = left + a[i] + right


@cute.kernel
def batches(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """A batch for each z. 1 the batch's stride is that of a row of tiles; 2 z and y exchanged; 3 the
    batch of the store is the grid's x; 4 the last batch is one more"""
    t, (bx, by, bz) = arch.thread_idx()[0], arch.block_idx()
    if const_expr(how == 2):
        by, bz = bz, by
    if const_expr(how == 4):
        bz = bz + 1
    x = a
    if const_expr(how == 1):
        x = cute.make_tensor(
            a.iterator, cute.make_layout(a.shape, stride=(a.stride[0], a.stride[1], 64 * a.stride[0] * 4))
        )
    ga = cute.local_tile(x, (32, 32, 1), (bx, by, bz))
    gb = cute.local_tile(b, (32, 32, 1), (bx, by, bx if const_expr(how == 3) else bz))
    copy = tv(universal(), (16, 8), (1, 4))
    mine = copy.get_slice(t)
    ta, tb = mine.partition_S(ga[None, None, 0]), mine.partition_D(gb[None, None, 0])
    held = cute.make_fragment_like(ta)
    cute.copy(copy, ta, held)
    cute.copy(copy, held, tb)


@cute.kernel
def buffers(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """A ring of three tiles by cp.async. 1 the stage is not modulo; 2 the reader's stage is modulo 4; 3
    the tile fetched is k, not k + 2; 4 the reader takes the next stage; 5 the last tiles are fetched too;
    6 the writer's stage is k"""
    t = arch.thread_idx()[0]
    S, n = 3, a.shape[1]
    s = smem((N * 4, S))
    copy = async_()
    src, dst = cute.zipped_divide(a, (4, 1)), cute.zipped_divide(s, (4, 1))
    for p in cutlass.range_constexpr(S - 1):
        if p < n:
            cute.copy(copy, src[None, (t, p)], dst[None, (t, p)])
        arch.cp_async_commit_group()
    for k in cutlass.range(n, unroll=1):
        arch.cp_async_wait_group(S - 2)
        arch.sync_threads()
        nxt = k + S - 1
        stage = nxt if const_expr(how == 1) else k % S if const_expr(how == 6) else nxt % S
        if const_expr(how == 5) or nxt < n:
            cute.copy(copy, src[None, (t, k if const_expr(how == 3) else nxt)], dst[None, (t, stage)])
        arch.cp_async_commit_group()
        take = k % 4 if const_expr(how == 2) else (k + 1) % S if const_expr(how == 4) else k % S
        got = dst[None, (t if const_expr(how != 7) else (t + 1) % N, take)]
        for i in cutlass.range_constexpr(4):
            b[4 * t + i, k] = got[i]


@cute.kernel
def rows(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """Vectors of four along rows of 68 elements. 1 a row has 17 vectors, 18 are taken; 2 vectors of
    eight; 3 the vectors of the flat tensor, by the padded pitch; 4 predicate by the vector's first
    element only"""
    t, row = arch.thread_idx()[0], arch.block_idx()[0]
    width = 8 if const_expr(how == 2) else 4
    many = {1: 18, 2: 9}.get(how, 17)
    x, y = (cute.make_tensor(one[row, None].iterator, cute.make_layout(72)) for one in (a, b))
    if const_expr(how == 3):
        x = cute.make_tensor(
            cute.make_tensor(a.iterator, cute.make_layout((8, 68), stride=(72, 1)))[row, None].iterator,
            x.layout,
        )
    if t < many:
        sx, sy = cute.zipped_divide(x, (width,)), cute.zipped_divide(y, (width,))
        held = cute.make_rmem_tensor(width, Float32)
        cute.copy(universal(bits=32 * width), sx[None, t], held)
        cute.copy(universal(bits=32 * width), held, sy[None, t])


@cute.kernel
def halves(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """bf16 seen as pairs in 32 bits. 1 as many words as elements; 2 the rows' pitch is the elements'; 3
    the result is stored as if it were elements"""
    t, row = arch.thread_idx()[0], arch.block_idx()[0]
    words = cute.recast_ptr(a.iterator, dtype=Int32)
    out = cute.recast_ptr(b.iterator, dtype=Int32)
    x = cute.make_tensor(
        words,
        cute.make_layout(
            (32, 64 if const_expr(how == 1) else 32), stride=(64 if const_expr(how == 2) else 32, 1)
        ),
    )
    y = cute.make_tensor(out, cute.make_layout((32, 32), stride=(64 if const_expr(how == 3) else 32, 1)))
    if t < (64 if const_expr(how == 1) else 32):
        v = x[row, t]
        if t < 32:
            y[row, t] = v


@cute.kernel
def gather(a: cute.Tensor, index: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """Rows by an index that the caller gives; padding is -1. 1 -1 is not looked for; 2 not clamped where
    it is not a row; 3 the index's own tail"""
    t, bx = arch.thread_idx()[0], arch.block_idx()[0]
    row = bx * 4 + t // 32
    if const_expr(how == 3) or row < index.shape[0]:
        at = index[row]
        v = Float32(0.0)
        if const_expr(how == 1):
            v = a[at, t % 32]
        elif const_expr(how == 2):
            if at >= 0:
                v = a[at, t % 32]
        elif at >= 0 and at < a.shape[0]:
            v = a[at, t % 32]
        b[row, t % 32] = v


@cute.kernel
def inplace(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """A transpose in a tile. 1 in place, without the tile; 2 in place, reads of the neighbour's rows; 3
    in place through the tile (right)"""
    t, bx = arch.thread_idx()[0], arch.block_idx()[0]
    s = smem((32, 32), stride=(33, 1))
    out = a if const_expr(how in (1, 2, 3)) else b
    if const_expr(how == 1):
        for i in cutlass.range_constexpr(8):
            r, c = t // 32 + 4 * i, t % 32
            out[bx * 32 + c, r] = a[bx * 32 + r, c]
    elif const_expr(how == 2):
        for i in cutlass.range_constexpr(8):
            r, c = t // 32 + 4 * i, t % 32
            out[bx * 32 + r, c] = a[bx * 32 + (r + 1) % 32, c]
    else:
        for i in cutlass.range_constexpr(8):
            s[t // 32 + 4 * i, t % 32] = a[bx * 32 + t // 32 + 4 * i, t % 32]
        arch.sync_threads()
        for i in cutlass.range_constexpr(8):
            out[bx * 32 + t // 32 + 4 * i, t % 32] = s[t % 32, t // 32 + 4 * i]


@cute.kernel
def registers(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """A row's tile in registers. 1 not filled where the predicate is false; 2 only half is loaded; 3 a
    sum begins with what nothing wrote"""
    t, bx = arch.thread_idx()[0], arch.block_idx()[0]
    ga, gb = cute.local_tile(a, (1, 512), (bx, 0)), cute.local_tile(b, (1, 512), (bx, 0))
    ta, tb = cute.zipped_divide(ga, (1, 4))[None, (0, t)], cute.zipped_divide(gb, (1, 4))[None, (0, t)]
    held = cute.make_rmem_tensor(4, Float32)
    if const_expr(how != 1):
        held.fill(0.0)
    if const_expr(how == 2):
        held = cute.make_rmem_tensor(8, Float32)
    if t * 4 < 480:
        for i in cutlass.range_constexpr(4):
            held[i] = ta[i]
    total = cute.make_rmem_tensor(1, Float32)
    if const_expr(how != 3):
        total.fill(0.0)
    for i in cutlass.range_constexpr(4):
        total[0] = total[0] + held[i]
    for i in cutlass.range_constexpr(4):
        tb[i] = held[i + 4 if const_expr(how == 2) else i] * total[0]


@cute.kernel
def large(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """A table of 3 GB. 1 its offset in 32 bits; 2 the row in 32 bits, made of a 32-bit product"""
    t, bx = arch.thread_idx()[0], arch.block_idx()[0]
    if const_expr(how == 1):
        v = cute.make_tensor(a.iterator + bx * 65536, cute.make_layout(65536))[t]
    elif const_expr(how == 2):
        flat = cute.make_tensor(a.iterator, cute.make_layout(65536 * 49152))
        v = flat[bx * 65536 + t]
    else:
        v = cute.make_tensor(a.iterator + Int64(bx) * 65536, cute.make_layout(65536))[t]
    b[bx, t] = v


@cute.kernel
def seen(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """A tile through the swizzle of a layout. It is read 1 without one, 2 through another, 3 by elements
    without one; 4 through the same of a pointer"""
    t, (bx, by, _) = arch.thread_idx()[0], arch.block_idx()
    plain = cute.make_layout((32, 32), stride=(32, 1))
    tile = cute.make_composed_layout(cute.make_swizzle(3, 2, 3), 0, plain)
    s = SmemAllocator().allocate_tensor(Float32, tile, byte_alignment=1024)
    read = tile if const_expr(how == 0) else plain
    if const_expr(how == 2):
        read = cute.make_composed_layout(cute.make_swizzle(2, 2, 3), 0, plain)
    first = s.iterator
    if const_expr(how == 4):
        first = cute.recast_ptr(first, cute.make_swizzle(3, 4, 3), dtype=Float32)
    mine = tv(universal(bits=128), (16, 8), (1, 4)).get_slice(t)
    copy = universal(bits=128)
    ga, gb = cute.local_tile(a, (32, 32), (bx, by)), cute.local_tile(b, (32, 32), (bx, by))
    held = cute.make_rmem_tensor_like(mine.partition_S(ga))
    cute.copy(copy, mine.partition_S(ga), held)
    cute.copy(copy, held, mine.partition_D(s))
    arch.sync_threads()
    view = mine.partition_S(cute.make_tensor(first, read))
    if const_expr(how == 3):
        for i in cutlass.range_constexpr(cute.size(held)):
            held[i] = view[i]
    else:
        cute.copy(copy, view, held)
    cute.copy(copy, held, mine.partition_D(gb))


@cute.kernel
def boxes(
    la: cute.CopyAtom, ta: cute.Tensor, lb: cute.CopyAtom, tb: cute.Tensor, c: cute.Tensor, how: Constexpr
):
    """c = a + b, tiles by TMA. 1 coordinates exchanged for a; 2 the descriptor of b for a; 3 stage of a
    for b; 4 a tile's column by the row; 5 b's tile of another block; 6 half the bytes"""
    t, (bx, by, _) = arch.thread_idx()[0], arch.block_idx()
    sa, sb = smem((64, 32), stride=(32, 1)), smem((64, 32), stride=(32, 1))
    bar = SmemAllocator().allocate_array(Int64, 1)
    if t == 0:
        arch.mbarrier_init(bar, 1)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    one = cute.make_layout(1)
    at = (by, bx) if const_expr(how == 1) else (bx, bx) if const_expr(how == 4) else (bx, by)
    other = (by, by) if const_expr(how == 5) else (bx, by)
    ga, gb = cute.local_tile(ta, (64, 32), at), cute.local_tile(tb, (64, 32), other)
    da, pa = cpasync.tma_partition(la, 0, one, cute.group_modes(sa, 0, 2), cute.group_modes(ga, 0, 2))
    db, pb = cpasync.tma_partition(lb, 0, one, cute.group_modes(sb, 0, 2), cute.group_modes(gb, 0, 2))
    if arch.warp_idx() == 0:
        with arch.elect_one():
            arch.mbarrier_arrive_and_expect_tx(bar, 8192 if const_expr(how == 6) else 16384)
        cute.copy(lb if const_expr(how == 2) else la, pa, da, tma_bar_ptr=bar)
        cute.copy(lb, pb, da if const_expr(how == 3) else db, tma_bar_ptr=bar)
    arch.mbarrier_wait(bar, 0)
    gc = cute.local_tile(c, (64, 32), (bx, by))
    for i in cutlass.range_constexpr(16):
        r, k = t // 32 + 4 * i, t % 32
        gc[r, k] = sa[r, k] + sb[r, k]


@cute.jit
def run_boxes(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, how: Constexpr):
    tile = cute.make_layout((64, 32), stride=(32, 1))
    op = cpasync.CopyBulkTensorTileG2SOp()
    la, ta = cpasync.make_tiled_tma_atom(op, a, tile, (64, 32))
    lb, tb = cpasync.make_tiled_tma_atom(op, b, tile, (64, 32))
    grid = (a.shape[0] // 64, a.shape[1] // 32, 1)
    boxes(la, ta, lb, tb, c, how).launch(grid=grid, block=(N, 1, 1))


@cute.kernel
def slabs(a: cute.Tensor, lb: cute.CopyAtom, tb: cute.Tensor, how: Constexpr):
    """b = 2 a, a row of tiles for each block, by TMA from two buffers. 1 the last tile is not stored; 2 each
    tile is stored where the one before is; 3 the other buffer is stored"""
    t, (bx, _, _) = arch.thread_idx()[0], arch.block_idx()
    made = smem((32, 32, 2), stride=(32, 1, 1024))
    ga, gb = (cute.local_tile(one, (32, 32), (bx, None)) for one in (a, tb))
    one, tiles = cute.make_layout(1), cute.size(ga, mode=[2])
    held, there = cpasync.tma_partition(lb, 0, one, cute.group_modes(made, 0, 2), cute.group_modes(gb, 0, 2))
    for k in cutlass.range(tiles, unroll=1):
        if arch.warp_idx() == 0:
            arch.cp_async_bulk_wait_group(0, read=True)
        arch.sync_threads()
        for i in cutlass.range_constexpr(8):
            made[t // 32 + 4 * i, t % 32, k % 2] = ga[t // 32 + 4 * i, t % 32, k] * 2.0
        arch.fence_proxy("async.shared", space="cta")
        arch.sync_threads()
        if arch.warp_idx() == 0:
            if const_expr(how != 1) or k < tiles - 1:
                to = cutlass.max(k - 1, 0) if const_expr(how == 2) else k
                cute.copy(lb, held[None, (k + (how == 3)) % 2], there[None, to])
            arch.cp_async_bulk_commit_group()
    if arch.warp_idx() == 0:
        arch.cp_async_bulk_wait_group(0)


@cute.jit
def run_slabs(a: cute.Tensor, b: cute.Tensor, _: cute.Tensor, how: Constexpr):
    tile = cute.make_layout((32, 32), stride=(32, 1))
    lb, tb = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), b, tile, (32, 32))
    slabs(a, lb, tb, how).launch(grid=(a.shape[0] // 32, 1, 1), block=(N, 1, 1))


@cute.kernel
def sums(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """Sums of rows, one for each warp. 1 without the last chunk; 2 without the first; 3 from the end on
    (right)"""
    t, (bx, _, _) = arch.thread_idx()[0], arch.block_idx()
    row, total = 4 * bx + t // 32, Float32(0)
    chunks = cute.local_tile(a, (1, N), (row, None))
    last = cute.size(chunks, mode=[2])
    part = cute.make_rmem_tensor((4,), Float32)
    for i in cutlass.range(int(how == 2), last - int(how == 1), unroll=1):
        at = last - 1 - i if const_expr(how == 3) else i
        cute.autovec_copy(cute.local_tile(chunks[0, None, at], (4,), (t % 32,)), part)
        for k in cutlass.range_constexpr(4):
            total += part[k]
    for lanes in (16, 8, 4, 2, 1):
        total += arch.shuffle_sync_bfly(total, lanes)
    if t % 32 == 0:
        b[row, 0] = total


@cute.jit
def run(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, name: Constexpr, how: Constexpr):
    args = (a, c, b) if const_expr(name == "gather") else (a, b)
    grid = GRIDS.get(name)
    if const_expr(grid is None):
        tile = TILES[name]
        grid = tuple(cute.ceil_div(extent, size) for extent, size in zip(a.shape, tile, strict=False))
        grid = (*grid, 1, 1)[:3]
    globals()[name](*args, how).launch(grid=grid, block=(N, 1, 1))


TILES = {
    "tail": (16, 32),
    "rest": (32,),
    "slices": (32,),
    "stencil": (N,),
    "batches": (32, 32, 1),
    "seen": (32, 32),
}
GRIDS = {"residue": (1, 1, 1), "buffers": (1, 1, 1), "rows": (8, 1, 1), "halves": (32, 1, 1),
         "gather": (4, 1, 1), "inplace": (2, 1, 1), "sums": (2, 1, 1), "registers": (4, 1, 1),
         "large": (49152, 1, 1)}  # fmt: skip
# shapes of a, b and c of each kernel: strides are those of the last mode first, if not given
SHAPES = {
    "tail": ((51, 91), (51, 91)), "residue": ((16, 90), (16, 90)), "rest": ((50, 60), (50, 60)),
    "slices": ((64, 32), (64, 32)), "stencil": ((1000,), (1000,)), "batches": ((64, 96, 4), (64, 96, 4)),
    "buffers": ((512, 9), (512, 9)), "rows": ((8, 68), (8, 68)), "halves": ((32, 64), (32, 64)),
    "gather": ((40, 32), (14, 32), (14,)), "inplace": ((64, 32), (64, 32)),
    "registers": ((4, 512), (4, 512)), "large": ((49152, 65536), (49152, 128)),
    "boxes": ((256, 64), (256, 64), (256, 64)), "seen": ((64, 64), (64, 64)),
    "slabs": ((64, 256), (64, 256)), "sums": ((8, 512), (8, 1)),
}  # fmt: skip
COLUMNS = ("buffers",)


def tensor(shape, kind, columns):
    strides, step = [], 1
    modes = shape if columns else shape[::-1]
    if len(shape) == 3:
        modes = (shape[1], shape[0], shape[2])
    for extent in modes:
        strides.append(step)
        step *= extent
    if len(shape) == 3:
        strides = [strides[1], strides[0], strides[2]]
    elif not columns:
        strides.reverse()
    return make_fake_tensor(kind, shape, tuple(strides), assumed_align=128)


def build(name, how):
    kind = BFloat16 if name == "halves" else Float32
    shapes = SHAPES[name]
    made = [
        tensor(one, Int32 if len(one) == 1 and name == "gather" else kind, name in COLUMNS) for one in shapes
    ]
    made += [made[-1]] * (3 - len(made))
    if name in ("boxes", "slabs"):
        cute.compile(run_boxes if name == "boxes" else run_slabs, *made, how)
    else:
        cute.compile(run, *made, name, how)


if __name__ == "__main__":
    name, *hows = sys.argv[1:]
    for how in map(int, hows):
        build(name, how)
