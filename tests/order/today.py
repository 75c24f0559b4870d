"""Kernels of today's kinds, each right (`how` 0) and with faults of order, phase, count, fence or stage.

`TOLD` says what each fault is told as: "" where it is only named as not checked, or not told at all.

    python -m tests.order.today [NAME ...]         # compile every variant; those of SM100 need --arch sm_100a
"""

# ruff: noqa: SIM102, SIM114 - what is known while tracing stands apart from what a run decides

from __future__ import annotations

import sys

import cutlass
import cutlass.cute as cute
from cutlass import BFloat16, Constexpr, Float32, Int32, Int64, const_expr, pipeline
from cutlass.cute.nvgpu import cpasync, tcgen05, warpgroup
from cutlass.cute.runtime import make_fake_tensor
from cutlass.memory import SmemAllocator
from cutlass.utils import LayoutEnum, blackwell_helpers, distributed, hopper_helpers

from tests.order.reported import get

arch = cute.arch
N = 128  # threads
TILES = 5
# kernel -> what its variants from 1 on are told
TOLD = {
    "softmax": ("LC504", "LC509", "LC509", "LC504"),
    "dsmem_reduce": ("LC507", "LC506", "LC501", "LC501"),
    "store_ring": ("LC502", "LC505", "LC504", "LC502"),
    "cp_tail": ("LC501", "LC501", "LC501", "LC501"),
    "subset": ("LC504", "LC509", "LC509"),
    "fixup": ("LC514", "LC514", "LC514", "LC514"),
    "last_block": ("LC514", "LC514", "LC514"),
    "compact": ("", "LC524", "LC524"),
    "reduce_loop": ("LC504", "LC504", "LC504"),
    "gather": ("LC508", "LC503", "LC501", "LC510"),
    "pages": ("LC504", "LC504", "LC501"),
    "reduce_store": ("LC502", "LC522", "LC504"),
    "pingpong": ("LC504", "LC510", "LC504"),
    "scan": ("LC514", "LC504", "LC514"),
    "gemm2": ("LC507", "LC502", "LC510", "LC501"),
    "gemm4": ("LC507", "LC502", "LC528", "LC501"),
    "ring": ("LC501", "LC507", "LC503", "LC501"),
    "norm": ("LC513", "LC513", "LC504"),
    "mixed": ("LC501", "LC508", "LC501"),
    "stm": ("LC505", "LC504", "LC502"),
    "hist": ("LC514", "LC514", "LC514", "LC514"),
    "umma2": ("LC536", "LC523", "LC501", "LC503"),
    "clc": ("LC503", "LC501", "LC507"),
    "mm": ("", "", ""),
}
SM100 = ("umma2", "clc", "mm")


def smem(n, t=Int32):
    return SmemAllocator().allocate_tensor(t, cute.make_layout(n), 128)


def bars(n):
    return SmemAllocator().allocate_array(Int64, n)


def grp(n=1):
    return pipeline.CooperativeGroup(pipeline.Agent.Thread, n)


def st(user, n):
    return pipeline.make_pipeline_state(getattr(pipeline.PipelineUserType, user), n)


def g2s():
    return cute.make_copy_atom(cpasync.CopyBulkG2SOp(), Int32)


def s2g():
    return cute.make_copy_atom(cpasync.CopyBulkS2GOp(), Int32)


@cute.kernel
def softmax(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """1 one buffer, no second barrier; 2 count 64 too few; 3 ids of the two pairs are one; 4 wrong
    partner's slot is read before"""
    t, _, _ = arch.thread_idx()
    w = arch.make_warp_uniform(arch.warp_idx())
    mx = smem((4, 32, 2))
    lane = t % 32
    pair = w % 2
    run = Int32(-1000)
    for tile in cutlass.range(6, unroll=1):
        v = a[t, tile]
        s = 0 if const_expr(how == 1) else tile % 2
        mx[w, lane, s] = v  # own
        if const_expr(how == 2):
            arch.barrier(barrier_id=1 + pair, number_of_threads=32)
        elif const_expr(how == 3):
            arch.barrier(barrier_id=1, number_of_threads=64)
        elif const_expr(how == 4):
            arch.sync_warp()
        else:
            arch.barrier(barrier_id=1 + pair, number_of_threads=64)
        other = mx[(w + 2) % 4, lane, s]  # other
        run = cutlass.max(run, cutlass.max(v, other))
        b[t, tile] = run


@cute.kernel
def dsmem_reduce(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """1 bytes for one warp too few; 2 no cluster barrier after the init; 3 second round waits for phase
    0; 4 one slot for both rounds"""
    t, _, _ = arch.thread_idx()
    w = arch.make_warp_uniform(arch.warp_idx())
    rank = arch.block_idx_in_cluster()
    got, bar = smem((8, 2)), bars(2)
    if t == 0:
        arch.mbarrier_init(bar, 1)
        arch.mbarrier_init(bar + 1, 1)
    arch.mbarrier_init_fence()
    if const_expr(how == 2):
        arch.sync_threads()
    else:
        arch.cluster_arrive_relaxed()
        arch.cluster_wait()
    for turn in cutlass.range(4, unroll=1):
        slot = 0 if const_expr(how == 4) else turn % 2
        if turn == 2:
            arch.cluster_arrive()
            arch.cluster_wait()
        if t == 0:
            arch.mbarrier_arrive_and_expect_tx(bar + turn % 2, 4 * (7 if const_expr(how == 1) else 8))
        v = arch.warp_redux_sync(a[t, turn], "add")
        if t % 32 < 2:
            arch.store_async_dsmem(got.iterator + (rank * 4 + w) + 8 * slot, v, bar + turn % 2, t % 32)
        arch.mbarrier_wait(bar + turn % 2, 0 if const_expr(how == 3) else turn // 2)
        s = Int32(0)
        for i in cutlass.range_constexpr(8):
            s += got[i, slot]  # sum
        b[t, turn] = s
    arch.cluster_arrive()
    arch.cluster_wait()


@cute.kernel
def store_ring(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """1 waits for one group more; 2 no fence; 3 barrier only before the store (no second); 4 wait
    without the barrier behind"""
    t, _, _ = arch.thread_idx()
    w = arch.make_warp_uniform(arch.warp_idx())
    s = smem((N, 2))
    for tile in cutlass.range(8, unroll=1):
        if w == 0:
            arch.cp_async_bulk_wait_group(2 if const_expr(how == 1) else 1, read=True)
        if const_expr(how != 4):
            arch.sync_threads()
        s[t, tile % 2] = a[t, tile] + 1  # filled
        if const_expr(how != 2):
            arch.fence_view_async_shared()
        if const_expr(how != 3):
            arch.sync_threads()
        if w == 0:
            with arch.elect_one():
                cute.copy(s2g(), s[None, tile % 2], b[None, tile])  # stored
            arch.cp_async_bulk_commit_group()
    if w == 0:
        arch.cp_async_bulk_wait_group(0, read=True)


@cute.kernel
def cp_tail(a: cute.Tensor, b: cute.Tensor, n: Int32, how: Constexpr):
    """1 no empty groups in the tail; 2 stage of the next read is filled; 3 barrier before the wait; 4
    waits in the prologue one short"""
    t, _, _ = arch.thread_idx()
    S = 3
    s = smem((4 * N, S))
    cp = cute.make_copy_atom(cpasync.CopyG2SOp(), Int32, num_bits_per_copy=128)
    src = cute.zipped_divide(a, (4, 1))
    dst = cute.zipped_divide(s, (4, 1))
    for p in cutlass.range_constexpr(S - 1):
        if p < n:
            cute.copy(cp, src[None, (t, p)], dst[None, (t, p)])
        arch.cp_async_commit_group()
    for k in cutlass.range(n, unroll=1):
        if const_expr(how == 3):
            arch.sync_threads()
            arch.cp_async_wait_group(S - 2)
        else:
            arch.cp_async_wait_group(S - 1 if const_expr(how == 4) else S - 2)
            arch.sync_threads()
        nxt = k + S - 1
        at = (k + 1 if const_expr(how == 2) else nxt) % S
        if nxt < n:
            cute.copy(cp, src[None, (t, nxt)], dst[None, (t, at)])
            if const_expr(how == 1):
                arch.cp_async_commit_group()
        if const_expr(how != 1):
            arch.cp_async_commit_group()
        b[t, k] = s[(4 * t + 132) % (4 * N), k % S]  # used


@cute.kernel
def subset(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """1 consumer does not arrive at empty before (arrives early); 2 one id for both stages' full; 3
    producer waits 64 only"""
    t, _, _ = arch.thread_idx()
    w = arch.make_warp_uniform(arch.warp_idx())
    s = smem((64, 2))
    if w < 2:
        for k in cutlass.range(8, unroll=1):
            if k >= 2:
                arch.barrier(barrier_id=3 + k % 2, number_of_threads=64 if const_expr(how == 3) else 128)
            s[t, k % 2] = a[t, k]  # made
            arch.barrier_arrive(barrier_id=1 if const_expr(how == 2) else 1 + k % 2, number_of_threads=128)
    else:
        for k in cutlass.range(8, unroll=1):
            arch.barrier(barrier_id=1 if const_expr(how == 2) else 1 + k % 2, number_of_threads=128)
            if const_expr(how == 1):
                if k < 6:
                    arch.barrier_arrive(barrier_id=3 + k % 2, number_of_threads=128)
            b[t, k] = s[127 - t, k % 2]  # used
            if const_expr(how != 1):
                if k < 6:
                    arch.barrier_arrive(barrier_id=3 + k % 2, number_of_threads=128)


@cute.kernel
def fixup(part: cute.Tensor, flags: cute.Tensor, out: cute.Tensor, how: Constexpr):
    """1 no barrier before the release; 2 relaxed poll; 3 no barrier after the acquire; 4 the flag
    before the partials"""
    t, blk = arch.thread_idx()[0], arch.block_idx()[0]
    v = t * blk
    if blk > 0:
        if const_expr(how == 4):
            if t == 0:
                arch.store(flags.iterator + blk, Int32(1), sem="release", scope="gpu")
        part[t, blk] = v  # partial
        if const_expr(how != 1):
            arch.sync_threads()
        if const_expr(how != 4):
            if t == 0:
                arch.store(flags.iterator + blk, Int32(1), sem="release", scope="gpu")
    else:
        for peer in cutlass.range(1, 4, unroll=1):
            if t == 0:
                seen = Int32(0)
                while seen == 0:
                    if const_expr(how == 2):
                        seen = arch.load(flags.iterator + peer, Int32, sem="relaxed", scope="gpu")
                    else:
                        seen = arch.load(flags.iterator + peer, Int32, sem="acquire", scope="gpu")
            if const_expr(how != 3):
                arch.sync_threads()
            v += part[t, peer]  # fixed up
        out[t] = v


@cute.kernel
def last_block(part: cute.Tensor, count: cute.Tensor, out: cute.Tensor, how: Constexpr):
    """1 no fence; 2 no barrier between partials and the count; 3 flag in smem without barrier"""
    t, blk = arch.thread_idx()[0], arch.block_idx()[0]
    am = smem(4)
    part[t, blk] = t + blk  # partial
    if const_expr(how != 1):
        arch.fence_acq_rel_gpu()
    if const_expr(how != 2):
        arch.sync_threads()
    if t == 0:
        old = arch.atomic_add(count.iterator, Int32(1), sem="relaxed", scope="gpu")
        am[0] = Int32(1) if old == 3 else Int32(0)  # last
    if const_expr(how != 3):
        arch.sync_threads()
    if am[0] == 1:  # asked
        if const_expr(how != 1):
            arch.fence_acq_rel_gpu()
        s = Int32(0)
        for i in cutlass.range_constexpr(4):
            s += part[t, i]  # all
        out[t] = s


@cute.kernel
def compact(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """1 a vote between a load and another lane's store, which is made of it: harmless; 2 nothing
    between them; 3 a vote behind the stores"""
    t, _, _ = arch.thread_idx()
    w, lane = t // 32, t % 32
    s = smem((32, 4))
    s[lane, w] = a[t, 0]  # first
    arch.sync_warp()
    for k in cutlass.range(4, unroll=1):
        v = s[(lane + 1) % 32, w]  # look
        if const_expr(how == 1):
            if arch.vote_any_sync(v > 3):
                v += 1
        elif const_expr(how != 2):
            arch.sync_warp()
        s[lane, w] = v + a[t, k]  # put
        if const_expr(how == 3):
            if arch.vote_any_sync(v > 3):
                v += 1
        else:
            arch.sync_warp()
        b[t, k] = v


@cute.kernel
def reduce_loop(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """1 no second barrier, one buffer; 2 barrier only of warp 0; 3 reads before the barrier"""
    t, _, _ = arch.thread_idx()
    w, lane = t // 32, t % 32
    s = smem(8)
    for k in cutlass.range(4, unroll=1):
        v = arch.warp_redux_sync(a[t, k], "add")
        if lane == 0:
            s[w] = v  # part
        if const_expr(how == 3):
            tot = s[0] + s[1] + s[2] + s[3]
            arch.sync_threads()
            b[t, k] = tot
        else:
            if const_expr(how == 2):
                if w == 0:
                    arch.barrier(barrier_id=1, number_of_threads=32)
            else:
                arch.sync_threads()
            b[t, k] = s[0] + s[1] + s[2] + s[3]  # total
        if const_expr(how != 1):
            arch.sync_threads()


@cute.kernel
def gather(a: cute.Tensor, idx: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """1 each lane announces but init count 1; 2 stage is freed by one warp only; 3 waits on the other
    stage's bar; 4 empty wait with flipped parity"""
    t, _, _ = arch.thread_idx()
    w = arch.make_warp_uniform(arch.warp_idx())
    s, full, empty = smem((128, 32, 2)), bars(2), bars(2)
    if t == 0:
        for i in cutlass.range_constexpr(2):
            arch.mbarrier_init(full + i, 1)
            arch.mbarrier_init(empty + i, 1 if const_expr(how == 2) else 3)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    if w == 3:
        for k in cutlass.range(6, unroll=1):
            stage = k % 2
            arch.mbarrier_wait(empty + stage, (k // 2) % 2 if const_expr(how == 4) else (k // 2) % 2 ^ 1)
            if const_expr(how == 1):
                arch.mbarrier_arrive_and_expect_tx(full + stage, 512)
            elif t % 32 == 0:
                arch.mbarrier_arrive_and_expect_tx(full + stage, 512 * 32)
            arch.sync_warp()
            cute.copy(g2s(), a[None, t % 32 + 32 * k], s[None, t % 32, stage], mbar_ptr=full + stage)  # row
    else:
        for k in cutlass.range(6, unroll=1):
            stage = k % 2
            arch.mbarrier_wait(full + ((k + 1) % 2 if const_expr(how == 3) else stage), (k // 2) % 2)
            b[t, k] = s[t, 5, stage]  # used
            arch.sync_warp()
            if const_expr(how == 2):
                if t == 0:
                    arch.mbarrier_arrive(empty + stage)
            else:
                if t % 32 == 0:
                    arch.mbarrier_arrive(empty + stage)


@cute.kernel
def pages(a: cute.Tensor, idx: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """1 table not awaited; 2 table overwritten with no barrier; 3 rows not awaited"""
    t, _, _ = arch.thread_idx()
    w = arch.make_warp_uniform(arch.warp_idx())
    table, rows, full = smem(32), smem((128, 4)), bars(1)
    if t == 0:
        arch.mbarrier_init(full, 1)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    for k in cutlass.range(4, unroll=1):
        if w == 1:
            table[t % 32] = idx[t % 32 + 32 * k]  # table
        if const_expr(how != 1):
            arch.sync_threads()
        if w == 0:
            with arch.elect_one():
                arch.mbarrier_arrive_and_expect_tx(full, 4 * 512)
                for i in cutlass.range_constexpr(4):
                    cute.copy(g2s(), a[None, table[i]], rows[None, i], mbar_ptr=full)  # page
        if const_expr(how != 3):
            arch.mbarrier_wait(full, k % 2)
        b[t, k] = rows[t, 1] + rows[t, 2]  # used
        if const_expr(how != 2):
            arch.sync_threads()


@cute.kernel
def reduce_store(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """1 source reused without wait; 2 proxy fence by the storing thread only; 3 no barrier"""
    t, _, _ = arch.thread_idx()
    s = smem(N)
    red = cute.make_copy_atom(cpasync.CopyBulkS2GOp(), Int32)
    for k in cutlass.range(4, unroll=1):
        s[t] = a[t, k]  # filled
        if const_expr(how != 2):
            arch.fence_view_async_shared()
        if const_expr(how != 3):
            arch.sync_threads()
        if t == 0:
            if const_expr(how == 2):
                arch.fence_view_async_shared()
            cute.copy(red, s, b[None, k])  # stored
            arch.cp_async_bulk_commit_group()
            if const_expr(how != 1):
                arch.cp_async_bulk_wait_group(0, read=True)
        arch.sync_threads()
    if t == 0:
        arch.cp_async_bulk_wait_group(0, read=True)


@cute.kernel
def pingpong(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """1 second group begins first, too; 2 arrives at its own barrier; 3 arrives before its part"""
    t, _, _ = arch.thread_idx()
    g = arch.make_warp_uniform(arch.warp_idx()) // 2
    s, order = smem(4), bars(2)
    if t == 0:
        s[0] = Int32(0)
        arch.mbarrier_init(order, 64)
        arch.mbarrier_init(order + 1, 64)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    for k in cutlass.range(4, unroll=1):
        if const_expr(how == 1):
            arch.mbarrier_wait(order + g, k % 2 ^ 1)
        else:
            arch.mbarrier_wait(order + g, k % 2 ^ (1 if g == 0 else 0))
        if const_expr(how == 3):
            arch.mbarrier_arrive(order + (1 - g))
        if t % 64 == 0:
            s[0] = s[0] + a[t, k]  # turn
        if const_expr(how == 2):
            arch.mbarrier_arrive(order + g)
        elif const_expr(how != 3):
            arch.mbarrier_arrive(order + (1 - g))


@cute.kernel
def scan(vals: cute.Tensor, flags: cute.Tensor, out: cute.Tensor, how: Constexpr):
    """1 flag before value; 2 value read by all before the barrier; 3 no release"""
    t, blk = arch.thread_idx()[0], arch.block_idx()[0]
    pre = smem(4)
    if t == 0:
        s = Int32(0)
        if blk > 0:
            seen = Int32(0)
            while seen == 0:
                seen = arch.load(flags.iterator + (blk - 1), Int32, sem="acquire", scope="gpu")
            s = vals[blk - 1]  # before
        pre[0] = s  # prefix
        if const_expr(how == 1):
            arch.store(flags.iterator + blk, Int32(1), sem="release", scope="gpu")
        vals[blk] = s + blk  # own
        if const_expr(how == 3):
            arch.store(flags.iterator + blk, Int32(1), sem="relaxed", scope="gpu")
        elif const_expr(how != 1):
            arch.store(flags.iterator + blk, Int32(1), sem="release", scope="gpu")
    if const_expr(how != 2):
        arch.sync_threads()
    out[t, blk] = pre[0] + t  # seen


@cute.kernel
def gemm(
    aa: cute.CopyAtom,
    ta: cute.Tensor,
    ab: cute.CopyAtom,
    tb: cute.Tensor,
    out: cute.Tensor,
    mma: cute.TiledMma,
    la: cute.ComposedLayout,
    lb: cute.ComposedLayout,
    C: Constexpr,
    S: Constexpr,
    how: Constexpr,
):
    """1 tx of A alone; 2 released before wait_group; 3 empties counted for one warpgroup only; 4 reads
    the next stage"""
    t, _, _ = arch.thread_idx()
    w = arch.make_warp_uniform(arch.warp_idx())
    al = SmemAllocator()
    a = al.allocate_tensor(BFloat16, la.outer, byte_alignment=1024, swizzle=la.inner)
    b = al.allocate_tensor(BFloat16, lb.outer, byte_alignment=1024, swizzle=lb.inner)
    M = const_expr(64 * C)
    tx = const_expr((M * 64 + (0 if how == 1 else 64 * 64)) * 2)
    pipe = pipeline.PipelineTmaAsync.create(
        num_stages=S,
        producer_group=grp(),
        consumer_group=grp(4 * (1 if const_expr(how == 3) else C)),
        tx_count=tx,
        barrier_storage=bars(2 * S),
        cta_layout_vmnk=cute.make_layout((1, 1, 1, 1)),
    )
    one = cute.make_layout(1)
    sa, ga = cpasync.tma_partition(
        aa, 0, one, cute.group_modes(a, 0, 2), cute.group_modes(cute.local_tile(ta, (M, 64), (0, None)), 0, 2)
    )
    sb, gb = cpasync.tma_partition(
        ab,
        0,
        one,
        cute.group_modes(b, 0, 2),
        cute.group_modes(cute.local_tile(tb, (64, 64), (0, None)), 0, 2),
    )
    if w == 4 * C:
        p = st("Producer", S)
        for k in cutlass.range(TILES, unroll=1):
            pipe.producer_acquire(p)
            cute.copy(aa, ga[None, k], sa[None, p.index], tma_bar_ptr=pipe.producer_get_barrier(p))  # of A
            cute.copy(ab, gb[None, k], sb[None, p.index], tma_bar_ptr=pipe.producer_get_barrier(p))
            pipe.producer_commit(p)
            p.advance()
        pipe.producer_tail(p)
    else:
        thr = mma.get_slice(t // 128 * 128)
        ra, rb = mma.make_fragment_A(thr.partition_A(a)), mma.make_fragment_B(thr.partition_B(b))
        mine = mma.get_slice(t).partition_C(out)
        acc = cute.make_rmem_tensor(mine.shape, Float32)
        acc.fill(0.0)
        mma.set(warpgroup.Field.ACCUMULATE, True)
        c, r = st("Consumer", S), st("Consumer", S)
        for k in cutlass.range(TILES, unroll=1):
            pipe.consumer_wait(c)
            warpgroup.fence()
            for kb in cutlass.range_constexpr(cute.size(ra, mode=[2])):
                s = (c.index + 1) % S if const_expr(how == 4) else c.index
                cute.gemm(mma, acc, ra[None, None, kb, s], rb[None, None, kb, s], acc)  # product
            warpgroup.commit_group()
            if const_expr(how == 2):
                pipe.consumer_release(c)
                warpgroup.wait_group(0)
            else:
                warpgroup.wait_group(1)
                if k > 0:
                    pipe.consumer_release(r)
                    r.advance()
            c.advance()
        warpgroup.wait_group(0)
        if const_expr(how != 2):
            pipe.consumer_release(r)
        for i in cutlass.range_constexpr(cute.size(acc)):
            mine[i] = acc[i].to(Int32)


@cute.jit
def run_gemm(x: cute.Tensor, out: cute.Tensor, C: Constexpr, how: Constexpr):
    M = const_expr(64 * C)
    S = 3
    mj = warpgroup.OperandMajorMode.K
    mma = hopper_helpers.make_trivial_tiled_mma(BFloat16, BFloat16, mj, mj, Float32, (C, 1, 1), (64, 64))
    la = hopper_helpers.make_smem_layout_a(LayoutEnum.ROW_MAJOR, (M, 64, 64), BFloat16, S)
    lb = hopper_helpers.make_smem_layout_b(LayoutEnum.ROW_MAJOR, (M, 64, 64), BFloat16, S)
    words = cute.recast_ptr(x.iterator, dtype=BFloat16)
    ga = cute.make_tensor(words, cute.make_layout((M, 64 * TILES), stride=(64 * TILES, 1)))
    gb = cute.make_tensor(words, cute.make_layout((64, 64 * TILES), stride=(64 * TILES, 1)))
    op = cpasync.CopyBulkTensorTileG2SOp()
    aa, ta = cpasync.make_tiled_tma_atom(op, ga, cute.slice_(la, (None, None, 0)), (M, 64))
    ab, tb = cpasync.make_tiled_tma_atom(op, gb, cute.slice_(lb, (None, None, 0)), (64, 64))
    o = cute.make_tensor(out.iterator, cute.make_layout((M, 64), stride=(64, 1)))
    gemm(aa, ta, ab, tb, o, mma, la, lb, C, S, how).launch(grid=(1, 1, 1), block=(128 * C + 32, 1, 1))


@cute.kernel
def ring(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """1 no empty; 2 bytes of 64 threads; 3 empty before the use; 4 full waits with wrong phase"""
    t, _, _ = arch.thread_idx()
    rank = arch.block_idx_in_cluster()
    s, full, empty = smem((128, 2)), bars(2), bars(2)
    if t == 0:
        for i in cutlass.range_constexpr(2):
            arch.mbarrier_init(full + i, 1)
            arch.mbarrier_init(empty + i, 128)
    arch.mbarrier_init_fence()
    arch.cluster_arrive_relaxed()
    arch.cluster_wait()
    for k in cutlass.range(6, unroll=1):
        g, ph = k % 2, k // 2 % 2
        if rank == 1:
            if const_expr(how != 1):
                arch.mbarrier_wait(empty + g, ph ^ 1)
            arch.store_async_dsmem(s.iterator + t + 128 * g, a[t, k], full + g, 0)  # sent
        else:
            if t == 0:
                arch.mbarrier_arrive_and_expect_tx(full + g, 4 * (64 if const_expr(how == 2) else 128))
            arch.mbarrier_wait(full + g, ph ^ 1 if const_expr(how == 4) else ph)
            if const_expr(how == 3):
                arch.mbarrier_arrive(empty + g, 1)
            b[t, k] = s[127 - t, g]  # used
            if const_expr(how != 3):
                arch.mbarrier_arrive(empty + g, 1)
    arch.cluster_arrive()
    arch.cluster_wait()


@cute.kernel
def norm(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """1 no cluster barrier before the loads; 2 none at the end; 3 own barrier of the block for the
    second round"""
    t, _, _ = arch.thread_idx()
    w = arch.make_warp_uniform(arch.warp_idx())
    rank = arch.block_idx_in_cluster()
    part = smem(4)
    tot = smem(4)
    for k in cutlass.range(2, unroll=1):
        v = arch.warp_redux_sync(a[t, k], "add")
        if t % 32 == 0:
            part[w] = v  # part
        arch.sync_threads()
        if t == 0:
            tot[0] = part[0] + part[1] + part[2] + part[3]  # total
        if const_expr(how == 1):
            arch.sync_threads()
        else:
            arch.cluster_arrive()
            arch.cluster_wait()
        other = get(arch.map_dsmem_ptr(tot.iterator, rank ^ 1))  # theirs
        b[t, k] = other + tot[0]
        if const_expr(how == 3):
            arch.sync_threads()
        elif const_expr(how != 2):
            arch.cluster_arrive()
            arch.cluster_wait()
        elif k == 0:
            arch.cluster_arrive()
            arch.cluster_wait()


@cute.kernel
def mixed(a: cute.Tensor, z: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """1 the count is of the bulk copy alone; 2 a stage is filled before it was read; 3 an ordinary
    arrival for cp.async"""
    t, _, _ = arch.thread_idx()
    w = arch.make_warp_uniform(arch.warp_idx())
    s, sc, full, empty = smem((128, 2)), smem((128, 2)), bars(2), bars(2)
    cp = cute.make_copy_atom(cpasync.CopyG2SOp(), Int32, num_bits_per_copy=128)
    if t == 0:
        for i in cutlass.range_constexpr(2):
            arch.mbarrier_init(full + i, 1 if const_expr(how == 1) else 33)
            arch.mbarrier_init(empty + i, 96)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    zs = cute.zipped_divide(z, (4, 1))
    ss = cute.zipped_divide(sc, (4, 1))
    for k in cutlass.range(6, unroll=1):
        g, ph = k % 2, k // 2 % 2
        if w == 3:
            if const_expr(how != 2):
                arch.mbarrier_wait(empty + g, ph ^ 1)
            with arch.elect_one():
                arch.mbarrier_arrive_and_expect_tx(full + g, 512)
                cute.copy(g2s(), a[None, k], s[None, g], mbar_ptr=full + g)  # tile
            cute.copy(cp, zs[None, (t % 32, k)], ss[None, (t % 32, g)])  # scales
            if const_expr(how == 3):
                arch.mbarrier_arrive(full + g)
            elif const_expr(how != 1):
                arch.cp_async_mbarrier_arrive_noinc(full + g)
        else:
            arch.mbarrier_wait(full + g, ph)
            b[t, k] = s[t, g] * sc[t + 1, g]  # used
            arch.mbarrier_arrive(empty + g)


@cute.kernel
def clc(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """1 the next query before the response is read; 2 the parity is kept; 3 8 bytes"""
    t, bx = arch.thread_idx()[0], arch.block_idx()[0]
    w = arch.make_warp_uniform(arch.warp_idx())
    resp, bar = smem(4), bars(1)
    if t == 0:
        arch.mbarrier_init(bar, 1)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    tile, ph = bx, Int32(0)
    valid = Int32(1)
    while valid == 1:
        if w == 0:
            with arch.elect_one():
                arch.mbarrier_arrive_and_expect_tx(bar, 8 if const_expr(how == 3) else 16)
                arch.issue_clc_query(bar, resp.iterator, multicast=False)  # asked
        b[t, tile] = a[t, tile] + 1
        arch.mbarrier_wait(bar, 0 if const_expr(how == 2) else ph)
        x, _, _, v = arch.clc_response(resp.iterator)  # answer
        tile, valid, ph = x, Int32(v), ph ^ 1
        if const_expr(how not in (1,)):
            arch.fence_view_async_shared()
            arch.sync_threads()


@cute.kernel
def stm(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """1 no fence; 2 barrier of one half only; 3 second half's stage is the first's, no wait"""
    t, _, _ = arch.thread_idx()
    w = arch.make_warp_uniform(arch.warp_idx())
    s = SmemAllocator().allocate_tensor(BFloat16, cute.make_layout((64, 32, 2), stride=(32, 1, 2048)), 128)
    for h in cutlass.range(4, unroll=1):
        g = 0 if const_expr(how == 3) else h % 2
        if w == 0:
            arch.cp_async_bulk_wait_group(1, read=True)
        arch.sync_threads()
        for i in cutlass.range_constexpr(16):
            s[t // 2, (t % 2) * 16 + i, g] = BFloat16(Float32(a[t, i % 8]))  # staged
        if const_expr(how != 1):
            arch.fence_view_async_shared()
        if const_expr(how == 2):
            arch.barrier(barrier_id=1 + w // 2, number_of_threads=64)
        else:
            arch.sync_threads()
        if w == 0:
            with arch.elect_one():
                flat = cute.make_tensor(cute.recast_ptr(s.iterator, dtype=Int32), cute.make_layout((1024, 2)))
                cute.copy(
                    s2g(), flat[None, g], cute.make_tensor(b.iterator, cute.make_layout((1024, 4)))[None, h]
                )  # stored
            arch.cp_async_bulk_commit_group()
    if w == 0:
        arch.cp_async_bulk_wait_group(0, read=True)


@cute.kernel
def hist(part: cute.Tensor, bins: cute.Tensor, out: cute.Tensor, how: Constexpr):
    """1 no barrier before the add; 2 relaxed adds, no fence; 3 relaxed poll; 4 no barrier behind"""
    t, bx = arch.thread_idx()[0], arch.block_idx()[0]
    part[t, bx] = t + bx  # part
    if const_expr(how != 1):
        arch.sync_threads()
    if t == 0:
        sem = "relaxed" if how == 2 else "release"
        arch.atomic_add(bins.iterator + bx % 2, Int32(1), sem=sem, scope="gpu")
    if t == 0:
        seen = Int32(0)
        while seen < 4:
            sem2 = "relaxed" if how == 3 else "acquire"
            seen = arch.load(bins.iterator, Int32, sem=sem2, scope="gpu") + arch.load(
                bins.iterator + 1, Int32, sem=sem2, scope="gpu"
            )
    if const_expr(how != 4):
        arch.sync_threads()
    s = Int32(0)
    for i in cutlass.range_constexpr(4):
        s += part[t, i]  # all
    out[t] = s


@cute.kernel
def mm(part: cute.Tensor, flags: cute.Tensor, out: cute.Tensor, how: Constexpr):
    """1 no block barrier before the signal; 2 relaxed signal; 3 no wait"""
    t, bx = arch.thread_idx()[0], arch.block_idx()[0]
    part[t, bx] = t  # part
    if const_expr(how != 1):
        arch.sync_threads()
    if t == 0:
        distributed.multimem_red_add1(
            flags.iterator + bx, scope="sys", order="relaxed" if how == 2 else "release"
        )
        if const_expr(how != 3):
            distributed.spin_lock_atom_cas_acquire_wait(
                flags.iterator + bx, expected_val=2, reset_val=0, scope="sys"
            )
    arch.sync_threads()
    if t < 32:
        x, y, z, q = distributed.multimem_ld_reduce_4xf32(
            cute.recast_ptr(part.iterator, dtype=Float32) + 4 * t + 128 * bx
        )
        distributed.multimem_st_4xb32(cute.recast_ptr(out.iterator, dtype=Float32) + 4 * t, x, y, z, q)


@cute.kernel
def umma2(
    aa: cute.CopyAtom,
    ta: cute.Tensor,
    ab: cute.CopyAtom,
    tb: cute.Tensor,
    out: cute.Tensor,
    mma: cute.TiledMma,
    la: cute.ComposedLayout,
    lb: cute.ComposedLayout,
    how: Constexpr,
):
    """1 the pair is freed without meeting; 2 acc stage released before the loads are done; 3 epilogue
    reads the other stage; 4 acc is not acquired"""
    t, _, _ = arch.thread_idx()
    w = arch.make_warp_uniform(arch.warp_idx())
    rank = arch.make_warp_uniform(arch.block_idx_in_cluster())
    lead = rank == 0
    al = SmemAllocator()
    hold = al.allocate_array(Int32, 1)
    a = al.allocate_tensor(BFloat16, la.outer, byte_alignment=1024, swizzle=la.inner)
    b = al.allocate_tensor(BFloat16, lb.outer, byte_alignment=1024, swizzle=lb.inner)
    vm = cute.make_layout((2, 1, 1, 1))
    loads = pipeline.PipelineTmaUmma.create(
        num_stages=2,
        producer_group=grp(),
        consumer_group=grp(1),
        tx_count=2 * (128 + 32) * 64 * 2,
        barrier_storage=bars(4),
        cta_layout_vmnk=vm,
        defer_sync=True,
    )
    done = pipeline.PipelineUmmaAsync.create(
        num_stages=2,
        producer_group=grp(),
        consumer_group=grp(256),
        barrier_storage=bars(4),
        cta_layout_vmnk=vm,
        defer_sync=True,
    )
    pipeline.pipeline_init_arrive(cluster_shape_mn=(2, 1), is_relaxed=True)
    pipeline.pipeline_init_wait(cluster_shape_mn=(2, 1))
    if w == 0:
        arch.alloc_tmem(128, hold, is_two_cta=True)
    arch.sync_threads()
    acc = mma.make_fragment_C(cute.append(mma.partition_shape_C((256, 64)), 2))
    mem = cute.make_tensor(arch.retrieve_tmem_ptr(Float32, 16, hold), acc.layout)
    thr = mma.get_slice(rank)
    one = cute.make_layout(1)
    sa, ga = cpasync.tma_partition(
        aa,
        0,
        one,
        cute.group_modes(a, 0, 3),
        cute.group_modes(thr.partition_A(cute.local_tile(ta, (256, 64), (0, None))), 0, 3),
    )
    sb, gb = cpasync.tma_partition(
        ab,
        0,
        one,
        cute.group_modes(b, 0, 3),
        cute.group_modes(thr.partition_B(cute.local_tile(tb, (64, 64), (0, None))), 0, 3),
    )
    ra, rb = mma.make_fragment_A(a), mma.make_fragment_B(b)
    if w == 5:
        p = st("Producer", 2)
        for k in cutlass.range(4 * 3, unroll=1):
            loads.producer_acquire(p)
            cute.copy(aa, ga[None, k % 3], sa[None, p.index], tma_bar_ptr=loads.producer_get_barrier(p))
            cute.copy(ab, gb[None, k % 3], sb[None, p.index], tma_bar_ptr=loads.producer_get_barrier(p))
            p.advance()
        loads.producer_tail(p)
    elif w == 4:
        if lead:
            c, o = st("Consumer", 2), st("Producer", 2)
            for _tile in cutlass.range(4, unroll=1):
                if const_expr(how != 4):
                    done.producer_acquire(o)
                mma.set(tcgen05.Field.ACCUMULATE, False)
                for _k in cutlass.range(3, unroll=1):
                    loads.consumer_wait(c)
                    for kb in cutlass.range_constexpr(cute.size(ra, mode=[2])):
                        d = mem[None, None, None, o.index]
                        cute.gemm(
                            mma, d, ra[None, None, kb, c.index], rb[None, None, kb, c.index], d
                        )  # product
                        mma.set(tcgen05.Field.ACCUMULATE, True)
                    loads.consumer_release(c)
                    c.advance()
                done.producer_commit(o)
                o.advance()
            done.producer_tail(o)
    else:
        c = st("Consumer", 2)
        for tile in cutlass.range(4, unroll=1):
            done.consumer_wait(c)
            g = 1 - c.index if const_expr(how == 3) else c.index
            flat = cute.make_tensor(
                mem[None, None, None, g].iterator, cute.make_layout((128, 64), stride=(65536, 1))
            )
            load = cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x64), Float32)
            mine = tcgen05.make_tmem_copy(load, flat).get_slice(t)
            there = mine.partition_D(
                cute.make_tensor(
                    out.iterator + tile * 8192 * 2 + rank * 8192, cute.make_layout((128, 64), stride=(64, 1))
                )
            )
            held = cute.make_rmem_tensor(there.shape, Float32)
            cute.copy(mine, mine.partition_S(flat), held)  # result
            if const_expr(how == 2):
                done.consumer_release(c)
                arch.fence_view_async_tmem_load()
            else:
                arch.fence_view_async_tmem_load()
                done.consumer_release(c)
            for i in cutlass.range_constexpr(cute.size(held)):
                there[i] = held[i].to(Int32)
            c.advance()
    if const_expr(how == 1):
        arch.sync_threads()
    else:
        arch.cluster_arrive()
        arch.cluster_wait()
    if w == 0:
        arch.relinquish_tmem_alloc_permit(is_two_cta=True)
        arch.dealloc_tmem(mem.iterator, 128, is_two_cta=True)  # freed


@cute.jit
def run_umma(x: cute.Tensor, out: cute.Tensor, how: Constexpr):
    mj = tcgen05.OperandMajorMode.K
    mma = cute.make_tiled_mma(
        tcgen05.MmaF16BF16Op(
            BFloat16, Float32, (256, 64, 16), tcgen05.CtaGroup.TWO, tcgen05.OperandSource.SMEM, mj, mj
        )
    )
    sh = (256, 64, 64)
    la = blackwell_helpers.make_smem_layout_a(mma, sh, BFloat16, 2)
    lb = blackwell_helpers.make_smem_layout_b(mma, sh, BFloat16, 2)
    words = cute.recast_ptr(x.iterator, dtype=BFloat16)
    ga = cute.make_tensor(words, cute.make_layout((256, 64 * 3), stride=(64 * 3, 1)))
    gb = cute.make_tensor(words, cute.make_layout((64, 64 * 3), stride=(64 * 3, 1)))
    op = cpasync.CopyBulkTensorTileG2SOp(tcgen05.CtaGroup.TWO)
    vm = (2, 1, 1, 1)
    aa, ta = cute.nvgpu.make_tiled_tma_atom_A(op, ga, cute.select(la, mode=[0, 1, 2]), sh, mma, vm)
    ab, tb = cute.nvgpu.make_tiled_tma_atom_B(op, gb, cute.select(lb, mode=[0, 1, 2]), sh, mma, vm)
    umma2(aa, ta, ab, tb, out, mma, la, lb, how).launch(grid=(2, 1, 1), block=(192, 1, 1), cluster=(2, 1, 1))


ARGUMENTS = {  # which of the three tensors a kernel is given, where not the first two; their shapes
    "fixup": (3, (128, 4), (4,), (128,)), "last_block": (3, (128, 4), (4,), (128,)),
    "gather": (3, (128, 192), (192,), (128, 8)), "pages": (3, (128, 192), (192,), (128, 8)),
    "scan": (3, (4,), (4,), (128, 4)), "mixed": (3, (128, 8), (128, 64), (128, 8)),
    "hist": (3, (128, 4), (2,), (128,)), "mm": (3, (128, 4), (4,), (128,)),
    "cp_tail": (2, (512, 16), (128, 16), (4,)),
}  # fmt: skip
GRIDS = {"fixup": 4, "last_block": 4, "scan": 4, "hist": 4, "mm": 4, "clc": 4}
CLUSTERS = {"dsmem_reduce": 2, "ring": 2, "norm": 2}


@cute.jit
def run(x: cute.Tensor, y: cute.Tensor, z: cute.Tensor, n: Int32, name: Constexpr, how: Constexpr):
    args = (x, y, z)[: ARGUMENTS.get(name, (2,))[0]] + ((n,) if name == "cp_tail" else ())
    blocks = CLUSTERS.get(name, 1)
    made = globals()[name](*args, how)
    made.launch(grid=(GRIDS.get(name, blocks), 1, 1), block=(N, 1, 1), cluster=(blocks, 1, 1))


def tensor(*shape):
    strides = [1]
    for extent in shape[:-1]:
        strides.append(strides[-1] * extent)
    return make_fake_tensor(Int32, shape, tuple(strides), assumed_align=16)


def build(name, how):
    if name.startswith("gemm"):
        cute.compile(run_gemm, tensor(1 << 20), tensor(1 << 20), int(name[4]), how)
    elif name == "umma2":
        cute.compile(run_umma, tensor(1 << 20), tensor(1 << 20), how)
    else:
        shapes = ARGUMENTS.get(name, (2, (128, 8), (128, 64), (128, 8)))[1:]
        cute.compile(run, *(tensor(*shape) for shape in shapes), Int32(9), name, how)


if __name__ == "__main__":
    for name in sys.argv[1:] or TOLD:
        for how in range(len(TOLD[name]) + 1):
            build(name, how)
