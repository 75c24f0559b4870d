"""Kernels in the styles of large libraries, each right (`how` 0) and with faults; as those of `today`.

python -m tests.order.styles [NAME ...]        # compile every variant; `umma` needs --arch sm_100a
"""

# ruff: noqa: SIM102 - what is known while tracing stands apart from what a run decides

from __future__ import annotations

import sys

import cutlass
import cutlass.cute as cute
from cutlass import BFloat16, Constexpr, Float32, Int32, const_expr, pipeline
from cutlass.cute.nvgpu import cpasync, tcgen05
from cutlass.cute.runtime import make_fake_tensor
from cutlass.memory import SmemAllocator
from cutlass.utils import blackwell_helpers

from tests.order.roles import init
from tests.order.today import N, arch, bars, g2s, grp, s2g, smem, st, tensor

# kernel -> what its variants from 1 on are told
TOLD = {
    "split_k": ("LC514", "LC514", "LC514"),
    "stream_k": ("LC514", ""),
    "ping_pong": ("LC510", "LC509", "LC504"),
    "tickets": ("LC504", "LC504", "LC504"),
    "leaves_early": ("LC510", "LC529"),
    "pair": ("LC513", "LC501"),
    "store_pipe": ("LC502", "LC505", "LC502"),
    "whole_wait": ("LC501", "LC502"),
    "elected": ("LC512", "LC508"),
    "handles": ("LC508", "LC506", "LC504"),
    "cp_pipe": ("LC503", "LC501"),
    "correction": ("LC504", "LC504", "LC509"),
    "bytes_of_tail": ("LC507", "LC501"),
    "ids_of_roles": ("LC509", "LC510"),
    "kinds_of_blocks": ("LC504", "LC501"),
    "rows_of_tail": ("LC504", "LC520"),
    "done_too_soon": ("LC502", "LC504"),
    "skipped": ("LC510", "LC503"),
    "k_tail": ("LC501", "LC504"),
    "umma": ("LC502", "LC503", "LC504"),
}
SM100 = ("umma",)


@cute.kernel
def split_k(out: cute.Tensor, turn: cute.Tensor, part: cute.Tensor, how: Constexpr):
    """Splits add to one tile in their turn. 1 no barrier before the turn is handed on; 2 none behind the
    wait; 3 the turn is handed on first"""
    t, blk = arch.thread_idx()[0], arch.block_idx()[0]
    if t == 0:
        seen = Int32(-1)
        while seen != blk:
            seen = arch.load(turn.iterator, Int32, sem="acquire", scope="gpu")
    if const_expr(how != 2):
        arch.sync_threads()
    if const_expr(how == 3):
        if t == 0:
            arch.store(turn.iterator, blk + 1, sem="release", scope="gpu")
    out[t] = out[t] + part[t, blk]  # added
    if const_expr(how != 1):
        arch.sync_threads()
    if const_expr(how != 3):
        if t == 0:
            arch.store(turn.iterator, blk + 1, sem="release", scope="gpu")


@cute.kernel
def stream_k(part: cute.Tensor, flags: cute.Tensor, out: cute.Tensor, how: Constexpr):
    """Block 0 finishes the tiles of three others. 1 its threads do not wait for the one that polls; 2 the
    last peer is not waited for"""
    t, blk = arch.thread_idx()[0], arch.block_idx()[0]
    total = smem(N)
    if blk > 0:
        part[t, blk] = t * blk  # partial
        arch.sync_threads()
        if t == 0:
            arch.store(flags.iterator + blk, Int32(1), sem="release", scope="gpu")
    else:
        total[t] = t
        for peer in cutlass.range(1, 4, unroll=1):
            if const_expr(how != 2) or peer < 3:
                if t == 0:
                    seen = Int32(0)
                    while seen == 0:
                        seen = arch.load(flags.iterator + peer, Int32, sem="acquire", scope="gpu")
                if const_expr(how != 1):
                    arch.sync_threads()
            total[t] = total[t] + part[t, peer]  # fixed up
        out[t] = total[t]


@cute.kernel
def ping_pong(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """Two groups take turns at a named barrier of each. 1 nobody begins; 2 one number for both; 3 the turn
    is handed on before the use"""
    t, _, _ = arch.thread_idx()
    g = arch.make_warp_uniform(arch.warp_idx()) // 2
    s = smem(64)
    own = 2 + (0 if const_expr(how == 2) else g)
    other = 2 + (0 if const_expr(how == 2) else 1 - g)
    if const_expr(how != 1):
        if g == 1:
            arch.barrier_arrive(barrier_id=2, number_of_threads=N)
    for k in cutlass.range(4, unroll=1):
        arch.barrier(barrier_id=own, number_of_threads=N)
        if const_expr(how == 3):
            if k < 3 or g == 0:
                arch.barrier_arrive(barrier_id=other, number_of_threads=N)
        s[t % 64] = a[t, k]  # mine
        arch.barrier(barrier_id=4 + g, number_of_threads=64)
        b[t, k] = s[63 - t % 64]  # seen
        arch.barrier(barrier_id=4 + g, number_of_threads=64)
        if const_expr(how != 3):
            if k < 3 or g == 0:
                arch.barrier_arrive(barrier_id=other, number_of_threads=N)


@cute.kernel
def tickets(a: cute.Tensor, count: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """A warp draws tiles from a counter for the others. 1 the slot is given back before it is read; 2 the
    drawer does not wait for it; 3 the readers do not wait"""
    t, _, _ = arch.thread_idx()
    w = arch.make_warp_uniform(arch.warp_idx())
    slot, full, empty = smem(2), bars(2), bars(2)
    if t == 0:
        init(full, 1, 1)
        init(empty, 3, 3)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    if w == 3:
        for k in cutlass.range(6, unroll=1):
            if const_expr(how != 2):
                arch.mbarrier_wait(empty + k % 2, k // 2 % 2 ^ 1)
            if t == 96:
                slot[k % 2] = arch.atomic_add(count.iterator, Int32(1), sem="relaxed", scope="gpu")  # drawn
                arch.mbarrier_arrive(full + k % 2)
            arch.sync_warp()
    else:
        for k in cutlass.range(6, unroll=1):
            if const_expr(how != 3):
                arch.mbarrier_wait(full + k % 2, k // 2 % 2)
            if const_expr(how == 1):
                arch.sync_warp()
                if t % 32 == 0:
                    arch.mbarrier_arrive(empty + k % 2)
            tile = slot[k % 2]  # taken
            if const_expr(how != 1):
                arch.sync_warp()
                if t % 32 == 0:
                    arch.mbarrier_arrive(empty + k % 2)
            b[t, k] = a[t, tile % 8]


@cute.kernel
def leaves_early(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """The spare warps of the producer's group leave at once. 1 the last barrier counts them; 2 only one
    warp of the group gives its registers back"""
    t, _, _ = arch.thread_idx()
    w = arch.make_warp_uniform(arch.warp_idx())
    s, full = smem((N, 4)), bars(4)
    if t == 0:
        init(full, 1, 1, 1, 1)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    if w < 4:
        if const_expr(how == 2):
            if w == 0:
                arch.setmaxregister_decrease(40)
        else:
            arch.setmaxregister_decrease(40)
        if w == 0:
            for k in cutlass.range(4, unroll=1):
                with arch.elect_one():
                    arch.mbarrier_arrive_and_expect_tx(full + k, 4 * N)
                    cute.copy(g2s(), a[None, k], s[None, k], mbar_ptr=full + k)
    else:
        arch.setmaxregister_increase(232)
        for k in cutlass.range(4, unroll=1):
            arch.mbarrier_wait(full + k, 0)
            b[t - N, k] = s[2 * N - 1 - t, k]  # used
        arch.barrier(barrier_id=1, number_of_threads=2 * N if const_expr(how == 1) else N)


def tma_pipe(stages, readers, tx, vmnk=(1, 1, 1, 1), **more):
    return pipeline.PipelineTmaAsync.create(
        num_stages=stages, producer_group=grp(), consumer_group=grp(readers), tx_count=tx,
        barrier_storage=bars(2 * stages), cta_layout_vmnk=cute.make_layout(vmnk), **more,
    )  # fmt: skip


@cute.kernel
def pair(atom: cute.CopyAtom, ta: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """Each block of a pair brings half a tile to both. 1 no tail of the producer: the block leaves; 2 a
    stage is given back to the own block alone"""
    t, _, _ = arch.thread_idx()
    w, rank = arch.make_warp_uniform(arch.warp_idx()), arch.make_warp_uniform(arch.block_idx_in_cluster())
    s = SmemAllocator().allocate_tensor(Int32, cute.make_layout((32, 16, 2), stride=(1, 32, 512)), 128)
    pipe = tma_pipe(2, 4 if const_expr(how == 2) else 8, 4 * 512, (1, 2, 1, 1), defer_sync=True)
    pipeline.pipeline_init_arrive(cluster_shape_mn=(2, 1), is_relaxed=True)
    pipeline.pipeline_init_wait(cluster_shape_mn=(2, 1))
    there, here = cpasync.tma_partition(
        atom, rank, cute.make_layout(2), cute.group_modes(s, 0, 2),
        cute.group_modes(cute.local_tile(ta, (32, 16), (0, None)), 0, 2),
    )  # fmt: skip
    if w == 4:
        p = st("Producer", 2)
        for k in cutlass.range(5, unroll=1):
            pipe.producer_acquire(p)
            bar = pipe.producer_get_barrier(p)
            cute.copy(atom, here[None, k], there[None, p.index], tma_bar_ptr=bar, mcast_mask=cutlass.Int16(3))
            p.advance()
        if const_expr(how != 1):
            pipe.producer_tail(p)
    else:
        c = st("Consumer", 2)
        for k in cutlass.range(5, unroll=1):
            pipe.consumer_wait(c)
            b[t, k] = s[t % 32, t // 32, c.index]  # used
            pipe.consumer_release(c)
            c.advance()


@cute.kernel
def store_pipe(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """An epilogue over two stages. 1 its stage is not acquired; 2 no fence; 3 acquired behind the stores"""
    t, _, _ = arch.thread_idx()
    w = arch.make_warp_uniform(arch.warp_idx())
    s = smem((N, 2))
    pipe = pipeline.PipelineTmaStore.create(num_stages=2, producer_group=grp(N))
    for k in cutlass.range(6, unroll=1):
        if const_expr(how == 0 or how == 2):
            if w == 0:
                pipe.producer_acquire()
            arch.barrier(barrier_id=1, number_of_threads=N)
        s[t, k % 2] = a[t, k]  # filled
        if const_expr(how == 3):
            if w == 0:
                pipe.producer_acquire()
        if const_expr(how != 2):
            arch.fence_view_async_shared()
        arch.barrier(barrier_id=1, number_of_threads=N)
        if w == 0:
            with arch.elect_one():
                cute.copy(s2g(), s[None, k % 2], b[None, k])  # stored
            pipe.producer_commit()
    if w == 0:
        pipe.producer_tail()


@cute.kernel
def whole_wait(a: cute.Tensor, b: cute.Tensor, out: cute.Tensor, how: Constexpr):
    """What a bulk store has written is read back. 1 only its source is waited for; 2 it is not committed"""
    t, _, _ = arch.thread_idx()
    s = smem(N)
    s[t] = a[t, 0]
    arch.fence_view_async_shared()
    arch.sync_threads()
    if t == 0:
        cute.copy(s2g(), s, b[None, 0])  # stored
        if const_expr(how != 2):
            arch.cp_async_bulk_commit_group()
        arch.cp_async_bulk_wait_group(0, read=how == 1)
    arch.sync_threads()
    out[t] = b[N - 1 - t, 0]  # read back
    s[t] = a[t, 1]  # again


@cute.kernel
def elected(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """1 the election stands in a branch of half a warp; 2 every lane of a half announces and copies"""
    t, _, _ = arch.thread_idx()
    w = arch.make_warp_uniform(arch.warp_idx())
    s, full = smem((N, 2)), bars(2)
    if t == 0:
        init(full, 1, 1)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    for k in cutlass.range(2, unroll=1):
        if const_expr(how == 2):
            if t < 16:
                arch.mbarrier_arrive_and_expect_tx(full + k, 4 * N)
                cute.copy(g2s(), a[None, k], s[None, k], mbar_ptr=full + k)  # brought
        elif const_expr(how == 1):
            if t < 16:
                with arch.elect_one():
                    arch.mbarrier_arrive_and_expect_tx(full + k, 4 * N)
                    cute.copy(g2s(), a[None, k], s[None, k], mbar_ptr=full + k)  # brought
        else:
            if w == 0:
                with arch.elect_one():
                    arch.mbarrier_arrive_and_expect_tx(full + k, 4 * N)
                    cute.copy(g2s(), a[None, k], s[None, k], mbar_ptr=full + k)  # brought
        arch.mbarrier_wait(full + k, 0)
        b[t, k] = s[N - 1 - t, k]  # used


@cute.kernel
def handles(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """PipelineAsync of two roles. 1 the producers are counted by warps; 2 the consumer's state has one
    stage more; 3 the consumer begins in the producer's phase"""
    t, _, _ = arch.thread_idx()
    s = smem((64, 3))
    pipe = pipeline.PipelineAsync.create(
        num_stages=2, producer_group=grp(2 if const_expr(how == 1) else 64), consumer_group=grp(64),
        barrier_storage=bars(4),
    )  # fmt: skip
    if t < 64:
        p = st("Producer", 2)
        for k in cutlass.range(6, unroll=1):
            pipe.producer_acquire(p)
            s[t, p.index] = a[t, k]  # made
            pipe.producer_commit(p)
            p.advance()
    else:
        c = st("Producer" if const_expr(how == 3) else "Consumer", 3 if const_expr(how == 2) else 2)
        for k in cutlass.range(6, unroll=1):
            pipe.consumer_wait(c)
            b[t, k] = s[127 - t, c.index]  # used
            pipe.consumer_release(c)
            c.advance()


@cute.kernel
def cp_pipe(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """PipelineCpAsync. 1 released before the use; 2 the consumer is one stage ahead"""
    t, _, _ = arch.thread_idx()
    s = smem((256, 2))
    cp = cute.make_copy_atom(cpasync.CopyG2SOp(), Int32, num_bits_per_copy=128)
    src, dst = cute.zipped_divide(a, (4, 1)), cute.zipped_divide(s, (4, 1))
    pipe = pipeline.PipelineCpAsync.create(
        num_stages=2, producer_group=grp(64), consumer_group=grp(64), barrier_storage=bars(4)
    )
    if t < 64:
        p = st("Producer", 2)
        for k in cutlass.range(6, unroll=1):
            pipe.producer_acquire(p)
            cute.copy(cp, src[None, (t, k)], dst[None, (t, p.index)])  # copied
            pipe.producer_commit(p)
            p.advance()
        pipe.producer_tail(p)
    else:
        c = st("Consumer", 2)
        for k in cutlass.range(6, unroll=1):
            pipe.consumer_wait(c)
            if const_expr(how == 1):
                pipe.consumer_release(c)
            at = 1 - c.index if const_expr(how == 2) else c.index
            b[t, k] = s[3 * (t - 64) + 1, at]  # used
            if const_expr(how != 1):
                pipe.consumer_release(c)
            c.advance()


@cute.kernel
def correction(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """Two softmax groups hand their row maxima to a third. 1 it does not wait for the second; 2 it gives
    nothing back; 3 both groups' barriers have one number"""
    t, _, _ = arch.thread_idx()
    g = arch.make_warp_uniform(arch.warp_idx()) // 2
    s = smem((64, 2))
    full = [1, 1 if const_expr(how == 3) else 2]
    if g < 2:
        for k in cutlass.range(4, unroll=1):
            if const_expr(how != 2):
                if k > 0:
                    arch.barrier(barrier_id=3 + g, number_of_threads=128)
            s[t % 64, g] = a[t, k]  # maximum
            arch.barrier_arrive(barrier_id=1 if const_expr(how == 3) else 1 + g, number_of_threads=128)
    else:
        for k in cutlass.range(4, unroll=1):
            for i in cutlass.range_constexpr(2):
                if const_expr(how != 1 or i == 0):
                    arch.barrier(barrier_id=full[i], number_of_threads=128)
                b[t - 128, 2 * k + i] = s[63 - t % 64, i]  # scaled by
                if const_expr(how != 2):
                    if k < 3:
                        arch.barrier_arrive(barrier_id=3 + i, number_of_threads=128)


@cute.kernel
def bytes_of_tail(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """Rows come in tiles of 128, the last one is shorter. 1 it announces a whole tile; 2 its bytes are
    announced, and it is not waited for"""
    t, _, _ = arch.thread_idx()
    s, full = smem((N, 2)), bars(2)
    if t == 0:
        init(full, 1, 1)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    rows = cute.size(a)
    whole, rest = rows // N, rows % N
    for k in cutlass.range(whole, unroll=1):
        if t == 0:
            arch.mbarrier_arrive_and_expect_tx(full + k % 2, 4 * N)
            cute.copy(g2s(), cute.local_tile(a, (N,), (k,)), s[None, k % 2], mbar_ptr=full + k % 2)
        arch.mbarrier_wait(full + k % 2, k // 2 % 2)
        b[t] = b[t] + s[N - 1 - t, k % 2]
        arch.sync_threads()
    if rest >= 64:
        at = whole % 2
        if t == 0:
            arch.mbarrier_arrive_and_expect_tx(full + at, 4 * (N if const_expr(how == 1) else 64))
            half = cute.make_tensor(a.iterator + N * whole, cute.make_layout(64))
            cute.copy(g2s(), half, cute.local_tile(s[None, at], (64,), (0,)), mbar_ptr=full + at)  # half
        if const_expr(how != 2):
            arch.mbarrier_wait(full + at, whole // 2 % 2)  # its wait
        b[t] = b[t] + s[63 - t % 64, at]  # of the half


@cute.kernel
def ids_of_roles(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """A barrier for each pair of warps, its number made of the role. 1 of four warps one number; 2 a count
    of three warps"""
    t, _, _ = arch.thread_idx()
    w = arch.make_warp_uniform(arch.warp_idx())
    s = smem(N)
    number = 1 + (w // 4 if const_expr(how == 1) else w // 2)
    threads = 96 if const_expr(how == 2) else 64
    for k in cutlass.range(4, unroll=1):
        s[t] = a[t, k]  # put
        arch.barrier(barrier_id=number, number_of_threads=threads)
        b[t, k] = s[t ^ 32]  # taken
        arch.barrier(barrier_id=number, number_of_threads=threads)


@cute.kernel
def kinds_of_blocks(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """Even blocks sum, odd ones turn a row around. 1 the odd ones do not meet; 2 nor wait for their copy"""
    t, blk = arch.thread_idx()[0], arch.block_idx()[0]
    s, full = smem(N), bars(1)
    if t == 0:
        init(full, 1)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    if blk % 2 == 0:
        if t == 0:
            arch.mbarrier_arrive_and_expect_tx(full, 4 * N)
            cute.copy(g2s(), a[None, blk], s, mbar_ptr=full)
        arch.mbarrier_wait(full, 0)
        b[t, blk] = s[t] + s[N - 1 - t]
    elif const_expr(how == 2):
        if t == 0:
            arch.mbarrier_arrive_and_expect_tx(full, 4 * N)
            cute.copy(g2s(), a[None, blk], s, mbar_ptr=full)  # brought
        b[t, blk] = s[N - 1 - t]  # turned
    else:
        s[t] = a[t, blk]  # put
        if const_expr(how != 1):
            arch.sync_threads()
        b[t, blk] = s[N - 1 - t]  # turned


@cute.kernel
def rows_of_tail(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """A block whose rows are not all there goes another way. 1 without a barrier; 2 by a barrier of the
    threads that have a row, counted as all"""
    t, blk = arch.thread_idx()[0], arch.block_idx()[0]
    s = smem(N)
    rows = cute.size(a)
    row = N * blk + t
    if N * (blk + 1) <= rows:
        s[t] = a[row]
        arch.sync_threads()
        b[row] = s[N - 1 - t]
    else:
        s[t] = Int32(0)
        arch.sync_threads()
        if row < rows:
            s[t] = a[row]  # put
        if const_expr(how == 0):
            arch.sync_threads()
        if const_expr(how == 2):
            if row < rows:
                arch.barrier(barrier_id=1, number_of_threads=N)  # waits
        if row < rows:
            b[row] = s[(t + 32) % N]  # taken


@cute.kernel
def done_too_soon(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """A warp stores what the others fill. 1 it says that a stage is free before its store has read it; 2
    the others do not wait for that"""
    t, _, _ = arch.thread_idx()
    w = arch.make_warp_uniform(arch.warp_idx())
    s, full, free = smem((N, 2)), bars(2), bars(2)
    if t == 0:
        init(full, N, N)
        init(free, 1, 1)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    if w == 4:
        for k in cutlass.range(6, unroll=1):
            arch.mbarrier_wait(full + k % 2, k // 2 % 2)
            with arch.elect_one():
                cute.copy(s2g(), s[None, k % 2], b[None, k])  # stored
                arch.cp_async_bulk_commit_group()
                if const_expr(how != 1):
                    arch.cp_async_bulk_wait_group(0, read=True)
                arch.mbarrier_arrive(free + k % 2)
        arch.cp_async_bulk_wait_group(0, read=True)
    else:
        for k in cutlass.range(6, unroll=1):
            if const_expr(how != 2):
                arch.mbarrier_wait(free + k % 2, k // 2 % 2 ^ 1)
            s[t, k % 2] = a[t, k]  # filled
            arch.fence_view_async_shared()
            arch.mbarrier_arrive(full + k % 2)


@cute.kernel
def skipped(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """Tiles above a diagonal are left out. 1 by the consumer alone; 2 their release, too early"""
    t, blk = arch.thread_idx()[0], arch.block_idx()[0]
    w = arch.make_warp_uniform(arch.warp_idx())
    s = smem((N, 2))
    pipe = tma_pipe(2, 4, 4 * N)
    last = blk + 3
    if w == 4:
        p = st("Producer", 2)
        for k in cutlass.range(8, unroll=1):
            if const_expr(how == 1) or k <= last:
                pipe.producer_acquire(p)
                with arch.elect_one():
                    cute.copy(g2s(), a[None, k], s[None, p.index], mbar_ptr=pipe.producer_get_barrier(p))
                p.advance()
        pipe.producer_tail(p)
    else:
        c = st("Consumer", 2)
        for k in cutlass.range(8, unroll=1):
            if k <= last:
                pipe.consumer_wait(c)
                if const_expr(how == 2):
                    if k < last:
                        arch.sync_warp()
                        pipe.consumer_release(c)
                b[t, k] = s[N - 1 - t, c.index]  # used
                if const_expr(how != 2):
                    arch.sync_warp()
                    pipe.consumer_release(c)
                c.advance()


@cute.kernel
def k_tail(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """A main loop of cp.async with a tail of its own. 1 the tail is not waited for; 2 it is written over
    the last whole tile with no barrier"""
    t, _, _ = arch.thread_idx()
    s = smem(N)
    cp = cute.make_copy_atom(cpasync.CopyG2SOp(), Int32, num_bits_per_copy=32)
    src, dst = cute.zipped_divide(a, (1,)), cute.zipped_divide(s, (1,))
    whole, rest = cute.size(a) // N, cute.size(a) % N
    total = Int32(0)
    for k in cutlass.range(whole, unroll=1):
        cute.copy(cp, src[None, N * k + t], dst[None, t])
        arch.cp_async_commit_group()
        arch.cp_async_wait_group(0)
        arch.sync_threads()
        total += s[N - 1 - t]  # of a tile
        if const_expr(how == 2):
            if k < whole - 1:
                arch.sync_threads()
        else:
            arch.sync_threads()
    if rest > 0:
        if t < rest:
            cute.copy(cp, src[None, N * whole + t], dst[None, t])  # the rest
        else:
            s[t] = Int32(0)
        arch.cp_async_commit_group()
        if const_expr(how != 1):
            arch.cp_async_wait_group(0)
        arch.sync_threads()
        total += s[N - 1 - t]  # of the rest
    b[t] = total


@cute.kernel
def umma(aa: cute.CopyAtom, ta: cute.Tensor, ab: cute.CopyAtom, tb: cute.Tensor, out: cute.Tensor,
         mma: cute.TiledMma, la: cute.ComposedLayout, lb: cute.ComposedLayout, how: Constexpr):  # fmt: skip
    """Tiles with one accumulator. 1 a stage is given back by an ordinary arrival; 2 the accumulator before
    it is loaded; 3 the warps do not meet before it is freed"""
    t, _, _ = arch.thread_idx()
    w = arch.make_warp_uniform(arch.warp_idx())
    al = SmemAllocator()
    hold = al.allocate_array(Int32, 1)
    a = al.allocate_tensor(BFloat16, la.outer, byte_alignment=1024, swizzle=la.inner)
    b = al.allocate_tensor(BFloat16, lb.outer, byte_alignment=1024, swizzle=lb.inner)
    loads = pipeline.PipelineTmaUmma.create(
        num_stages=2, producer_group=grp(), consumer_group=grp(1), tx_count=(128 + 64) * 64 * 2,
        barrier_storage=bars(4), cta_layout_vmnk=cute.make_layout((1, 1, 1, 1)),
    )  # fmt: skip
    done = pipeline.PipelineUmmaAsync.create(
        num_stages=1, producer_group=grp(), consumer_group=grp(128), barrier_storage=bars(2),
        cta_layout_vmnk=cute.make_layout((1, 1, 1, 1)),
    )  # fmt: skip
    if w == 0:
        arch.alloc_tmem(64, hold)
    arch.sync_threads()
    sums = mma.make_fragment_C(mma.partition_shape_C((128, 64)))
    mem = cute.make_tensor(arch.retrieve_tmem_ptr(Float32, 16, hold), sums.layout)
    thr, one = mma.get_slice(0), cute.make_layout(1)
    tiles_a = thr.partition_A(cute.local_tile(ta, (128, 64), (0, None)))
    tiles_b = thr.partition_B(cute.local_tile(tb, (64, 64), (0, None)))
    sa, ga = cpasync.tma_partition(aa, 0, one, cute.group_modes(a, 0, 3), cute.group_modes(tiles_a, 0, 3))
    sb, gb = cpasync.tma_partition(ab, 0, one, cute.group_modes(b, 0, 3), cute.group_modes(tiles_b, 0, 3))
    ra, rb = mma.make_fragment_A(a), mma.make_fragment_B(b)
    if w == 5:
        p = st("Producer", 2)
        for k in cutlass.range(9, unroll=1):
            loads.producer_acquire(p)
            bar = loads.producer_get_barrier(p)
            cute.copy(aa, ga[None, k % 3], sa[None, p.index], tma_bar_ptr=bar)  # of A
            cute.copy(ab, gb[None, k % 3], sb[None, p.index], tma_bar_ptr=bar)
            p.advance()
        loads.producer_tail(p)
    elif w == 4:
        c, o = st("Consumer", 2), st("Producer", 1)
        for _tile in cutlass.range(3, unroll=1):
            done.producer_acquire(o)
            mma.set(tcgen05.Field.ACCUMULATE, False)
            for _k in cutlass.range(3, unroll=1):
                loads.consumer_wait(c)
                for kb in cutlass.range_constexpr(cute.size(ra, mode=[2])):
                    at = (None, None, kb, c.index)
                    cute.gemm(mma, mem, ra[at], rb[at], mem)  # product
                    mma.set(tcgen05.Field.ACCUMULATE, True)
                if const_expr(how == 1):
                    with arch.elect_one():
                        arch.mbarrier_arrive(loads.sync_object_empty.get_barrier(c.index))
                else:
                    loads.consumer_release(c)
                c.advance()
            done.producer_commit(o)
            o.advance()
        done.producer_tail(o)
    else:
        c = st("Consumer", 1)
        for tile in cutlass.range(3, unroll=1):
            done.consumer_wait(c)
            flat = cute.make_tensor(mem.iterator, cute.make_layout((128, 64), stride=(65536, 1)))
            load = cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x64), Float32)
            mine = tcgen05.make_tmem_copy(load, flat).get_slice(t)
            to = cute.make_tensor(out.iterator + tile * 8192, cute.make_layout((128, 64), stride=(64, 1)))
            there = mine.partition_D(to)
            held = cute.make_rmem_tensor(there.shape, Float32)
            if const_expr(how == 2):
                done.consumer_release(c)
            cute.copy(mine, mine.partition_S(flat), held)  # result
            arch.fence_view_async_tmem_load()
            if const_expr(how != 2):
                done.consumer_release(c)
            for i in cutlass.range_constexpr(cute.size(held)):
                there[i] = held[i].to(Int32)
            c.advance()
        if const_expr(how != 3):
            arch.barrier(barrier_id=1, number_of_threads=128)
        if w == 0:
            arch.relinquish_tmem_alloc_permit()
            arch.dealloc_tmem(mem.iterator, 64)  # freed


@cute.jit
def run_umma(x: cute.Tensor, out: cute.Tensor, how: Constexpr):
    mj, shape = tcgen05.OperandMajorMode.K, (128, 64, 64)
    mma = cute.make_tiled_mma(
        tcgen05.MmaF16BF16Op(
            BFloat16, Float32, (128, 64, 16), tcgen05.CtaGroup.ONE, tcgen05.OperandSource.SMEM, mj, mj
        )
    )
    la = blackwell_helpers.make_smem_layout_a(mma, shape, BFloat16, 2)
    lb = blackwell_helpers.make_smem_layout_b(mma, shape, BFloat16, 2)
    words = cute.recast_ptr(x.iterator, dtype=BFloat16)
    ga = cute.make_tensor(words, cute.make_layout((128, 64 * 3), stride=(64 * 3, 1)))
    gb = cute.make_tensor(words, cute.make_layout((64, 64 * 3), stride=(64 * 3, 1)))
    op = cpasync.CopyBulkTensorTileG2SOp(tcgen05.CtaGroup.ONE)
    aa, ta = cute.nvgpu.make_tiled_tma_atom_A(op, ga, cute.select(la, mode=[0, 1, 2]), shape, mma)
    ab, tb = cute.nvgpu.make_tiled_tma_atom_B(op, gb, cute.select(lb, mode=[0, 1, 2]), shape, mma)
    umma(aa, ta, ab, tb, out, mma, la, lb, how).launch(grid=(1, 1, 1), block=(192, 1, 1))


@cute.jit
def run_pair(x: cute.Tensor, out: cute.Tensor, how: Constexpr):
    given = cute.make_tensor(x.iterator, cute.make_layout((32, 16 * 5), stride=(1, 32)))
    tile = cute.make_layout((32, 16), stride=(1, 32))
    op = cpasync.CopyBulkTensorTileG2SMulticastOp()
    atom, there = cpasync.make_tiled_tma_atom(op, given, tile, (32, 16), num_multicast=2)
    pair(atom, there, out, how).launch(grid=(2, 1, 1), block=(160, 1, 1), cluster=(2, 1, 1))


# the shapes that a kernel is given, where not (128, 8) twice; its grid and its threads
ARGUMENTS = {
    "split_k": ((128,), (1,), (128, 4)), "stream_k": ((128, 4), (4,), (128,)),
    "tickets": ((128, 8), (1,), (128, 8)), "whole_wait": ((128, 2), (128, 1), (128,)),
    "cp_pipe": ((256, 8), (128, 8)), "correction": ((128, 8), (64, 8)),
    "kinds_of_blocks": ((128, 5), (128, 5)),
}  # fmt: skip
GRIDS = {"split_k": 4, "stream_k": 4, "kinds_of_blocks": 5, "skipped": 4}
THREADS = {"leaves_early": 2 * N, "correction": 192, "skipped": 160, "done_too_soon": 160}
ONE_MODE = ("k_tail", "bytes_of_tail", "rows_of_tail")  # their extents are dynamic


@cute.jit
def run(x: cute.Tensor, y: cute.Tensor, name: Constexpr, how: Constexpr):
    made = globals()[name](x, y, how)
    made.launch(grid=(GRIDS.get(name, 1), 1, 1), block=(THREADS.get(name, N), 1, 1))


@cute.jit
def run3(x: cute.Tensor, y: cute.Tensor, z: cute.Tensor, name: Constexpr, how: Constexpr):
    globals()[name](x, y, z, how).launch(grid=(GRIDS.get(name, 1), 1, 1), block=(N, 1, 1))


@cute.jit
def run_rows(x: cute.Tensor, y: cute.Tensor, name: Constexpr, how: Constexpr):
    blocks = cute.ceil_div(cute.size(x), N) if const_expr(name == "rows_of_tail") else 1
    globals()[name](x, y, how).launch(grid=(blocks, 1, 1), block=(N, 1, 1))


def row():
    return make_fake_tensor(Int32, (cute.sym_int(),), (1,), assumed_align=16)


def build(name, how):
    if name == "umma":
        cute.compile(run_umma, tensor(1 << 20), tensor(1 << 20), how)
    elif name == "pair":
        cute.compile(run_pair, tensor(1 << 20), tensor(128, 8), how)
    elif name in ONE_MODE:
        cute.compile(run_rows, row(), row() if name == "rows_of_tail" else tensor(N), name, how)
    else:
        given = [tensor(*shape) for shape in ARGUMENTS.get(name, ((N, 8), (N, 8)))]
        cute.compile(run3 if len(given) == 3 else run, *given, name, how)


if __name__ == "__main__":
    for name in sys.argv[1:] or TOLD:
        for how in range(len(TOLD[name]) + 1):
            build(name, how)
