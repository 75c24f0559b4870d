"""Kernels whose warps or blocks have roles, each right (`how` 0) and with faults; as those of `today`.

python -m tests.order.roles [NAME ...]         # compile every variant
"""

# ruff: noqa: SIM102, SIM114 - what is known while tracing stands apart from what a run decides

from __future__ import annotations

import sys

import cutlass
import cutlass.cute as cute
from cutlass import Constexpr, Int32, const_expr
from cutlass.cute.nvgpu import cpasync

from tests.order.kernels import put
from tests.order.reported import get
from tests.order.today import N, arch, bars, g2s, s2g, smem, tensor

# kernel -> what its variants from 1 on are told
TOLD = {
    "persist": ("LC501", "LC503", "LC503", "LC507"),
    "sched": ("LC504", "LC504", "LC504", "LC504"),
    "epilogue": ("LC505", "LC502", "LC504", "LC504"),
    "turns": ("LC514", "LC514", "LC514"),
    "chain": ("LC503", "LC504", "LC504", "LC524"),
    "prefetch": ("LC504", "LC504", "LC504"),
    "broadcast": ("LC504", "LC504", "LC508"),
    "slices": ("LC505", "LC502", "LC521"),
    "halo": ("LC504", "LC513", "LC504"),
    "grid_barrier": ("LC514", "LC514", "LC514"),
    "cp_ring": ("LC501", "LC501", "LC528"),
    "look_back": ("LC514", "LC514", "LC514"),
    "two_groups": ("LC504", "LC509", "LC509"),
    "table": ("LC504", "LC501", "LC504"),
    "peek": ("LC501", "LC501"),
    "cp_store": ("LC505", "LC505", "LC501", "LC502"),
    "bins": ("", "", "LC504"),
    "remote": ("LC504", "LC504", "LC504"),
    "padded": ("LC505", "LC503", "LC504"),
    "ids": ("LC509", "LC504", "LC504"),
}


def init(bar, *counts):
    for i, count in enumerate(counts):
        arch.mbarrier_init(bar + i, count)


@cute.kernel
def persist(a: cute.Tensor, b: cute.Tensor, n: Int32, how: Constexpr):
    """A persistent producer and consumers. 1 the consumers' phases begin anew in each tile; 2 a stage is
    given back before it is read; 3 the producer waits in its first tile only; 4 the bytes of half a copy"""
    t, blk = arch.thread_idx()[0], arch.block_idx()[0]
    w = arch.make_warp_uniform(arch.warp_idx())
    S = 3
    s, full, empty = smem((128, S)), bars(S), bars(S)
    if t == 0:
        init(full, *[1] * S)
        init(empty, *[3] * S)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    count = Int32(0)
    if w == 3:
        for tile in cutlass.range(blk, n, arch.grid_dim()[0], unroll=1):
            for k in cutlass.range(4, unroll=1):
                g, phase = count % S, count // S % 2
                if const_expr(how != 3):
                    arch.mbarrier_wait(empty + g, phase ^ 1)
                elif tile == blk:
                    arch.mbarrier_wait(empty + g, phase ^ 1)
                with arch.elect_one():
                    arch.mbarrier_arrive_and_expect_tx(full + g, 256 if const_expr(how == 4) else 512)
                    cute.copy(g2s(), a[None, 4 * tile + k], s[None, g], mbar_ptr=full + g)
                count += 1
    else:
        for tile in cutlass.range(blk, n, arch.grid_dim()[0], unroll=1):
            total = Int32(0)
            if const_expr(how == 1):
                count = Int32(0)
            for _k in cutlass.range(4, unroll=1):
                g, phase = count % S, count // S % 2
                arch.mbarrier_wait(full + g, phase)
                if const_expr(how == 2):
                    arch.sync_warp()
                    if t % 32 == 0:
                        arch.mbarrier_arrive(empty + g)
                total += s[t, g]
                if const_expr(how != 2):
                    arch.sync_warp()
                    if t % 32 == 0:
                        arch.mbarrier_arrive(empty + g)
                count += 1
            b[t, tile] = total


@cute.kernel
def sched(a: cute.Tensor, tickets: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """Warp 3 takes tickets and hands them on through two slots. 1 without empty slots; 2 without full ones;
    3 a slot is empty when two of three warps say so; 4 the slot is given back before it is read"""
    t, _, _ = arch.thread_idx()
    w = arch.make_warp_uniform(arch.warp_idx())
    slot, full, empty = smem(2), bars(2), bars(2)
    if t == 0:
        init(full, 1, 1)
        init(empty, *[2 if const_expr(how == 3) else 3] * 2)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    if w == 3:
        for k in cutlass.range(6, unroll=1):
            g, phase = k % 2, k // 2 % 2
            if const_expr(how != 1):
                arch.mbarrier_wait(empty + g, phase ^ 1)
            if t == 96:
                slot[g] = arch.atomic_add(tickets.iterator, Int32(1), sem="relaxed", scope="gpu")
                arch.mbarrier_arrive(full + g)
    else:
        for k in cutlass.range(6, unroll=1):
            g, phase = k % 2, k // 2 % 2
            if const_expr(how != 2):
                arch.mbarrier_wait(full + g, phase)
            if const_expr(how == 4):
                arch.sync_warp()
                if t % 32 == 0:
                    arch.mbarrier_arrive(empty + g)
            mine = slot[g]
            if const_expr(how != 4):
                arch.sync_warp()
                if t % 32 == 0:
                    arch.mbarrier_arrive(empty + g)
            b[t, k] = a[t, mine % 8]


@cute.kernel
def epilogue(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """Three warps fill, the fourth stores by bulk copies. 1 no fence; 2 a buffer is given back while it is
    copied; 3 one barrier for both buffers' filling, none for the second; 4 one buffer of two"""
    t, _, _ = arch.thread_idx()
    w = arch.make_warp_uniform(arch.warp_idx())
    s = smem((128, 2))
    if w == 3:
        for k in cutlass.range(6, unroll=1):
            g = k % 2
            arch.barrier(barrier_id=1 + g, number_of_threads=128)
            with arch.elect_one():
                cute.copy(s2g(), s[None, g], b[None, k])
            arch.cp_async_bulk_commit_group()
            if const_expr(how != 2):
                arch.cp_async_bulk_wait_group(0, read=True)
            arch.barrier_arrive(barrier_id=3 + g, number_of_threads=128)
        arch.cp_async_bulk_wait_group(0, read=True)
    else:
        for k in cutlass.range(6, unroll=1):
            g = 0 if const_expr(how == 4) else k % 2
            if k >= 2:
                arch.barrier(barrier_id=3 + k % 2, number_of_threads=128)
            s[t, g] = a[t, k]
            if t < 32:
                s[96 + t, g] = a[96 + t, k]
            if const_expr(how != 1):
                arch.fence_view_async_shared()
            if const_expr(how == 3):
                arch.barrier_arrive(barrier_id=1 + g, number_of_threads=128)
                s[t, g] = a[t, k] + 1
                arch.fence_view_async_shared()
            else:
                arch.barrier_arrive(barrier_id=1 + g, number_of_threads=128)
        arch.barrier(barrier_id=3, number_of_threads=128)
        arch.barrier(barrier_id=4, number_of_threads=128)


@cute.kernel
def turns(part: cute.Tensor, flag: cute.Tensor, out: cute.Tensor, how: Constexpr):
    """Blocks add to one tile in turn, as serial stream-K. 1 no barrier before the release; 2 a relaxed
    release; 3 no barrier behind the acquire"""
    t, blk = arch.thread_idx()[0], arch.block_idx()[0]
    if blk > 0:
        if t == 0:
            seen = Int32(0)
            while seen != blk:
                seen = arch.load(flag.iterator, Int32, sem="acquire", scope="gpu")
        if const_expr(how != 3):
            arch.sync_threads()
        out[t] = out[t] + part[t, blk]
    else:
        out[t] = part[t, blk]
    if const_expr(how != 1):
        arch.sync_threads()
    if t == 0:
        sem = "relaxed" if how == 2 else "release"
        arch.store(flag.iterator, blk + 1, sem=sem, scope="gpu")


@cute.kernel
def chain(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """Loads, one warp that transforms, two that use. 1 raw data is given back before it is read; 2 arrives
    before the store; 3 the users wait for a phase that is one ahead; 4 one lane arrives for all, unmet"""
    t, _, _ = arch.thread_idx()
    w = arch.make_warp_uniform(arch.warp_idx())
    raw, done = smem((32, 2)), smem((32, 2))
    rf, re, df, de = bars(2), bars(2), bars(2), bars(2)
    if t == 0:
        init(rf, 1, 1)
        init(re, 1, 1)
        init(df, *[1 if const_expr(how == 4) else 32] * 2)
        init(de, 2, 2)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    for k in cutlass.range(6, unroll=1):
        g, phase = k % 2, k // 2 % 2
        if w == 0:
            arch.mbarrier_wait(re + g, phase ^ 1)
            with arch.elect_one():
                arch.mbarrier_arrive_and_expect_tx(rf + g, 128)
                cute.copy(g2s(), cute.local_tile(a[None, k], (32,), (0,)), raw[None, g], mbar_ptr=rf + g)
        elif w == 1:
            arch.mbarrier_wait(rf + g, phase)
            if const_expr(how == 1):
                if t == 32:
                    arch.mbarrier_arrive(re + g)
            value = raw[63 - t, g]
            arch.sync_warp()
            if const_expr(how != 1):
                if t == 32:
                    arch.mbarrier_arrive(re + g)
            arch.mbarrier_wait(de + g, phase ^ 1)
            if const_expr(how == 2):
                arch.mbarrier_arrive(df + g)
            done[t - 32, g] = 2 * value
            if const_expr(how == 4):
                if t == 32:
                    arch.mbarrier_arrive(df + g)
            elif const_expr(how != 2):
                arch.mbarrier_arrive(df + g)
        else:
            arch.mbarrier_wait(df + g, phase ^ 1 if const_expr(how == 3) else phase)
            b[t, k] = done[t % 32, g]
            arch.sync_warp()
            if t % 32 == 0:
                arch.mbarrier_arrive(de + g)


@cute.kernel
def prefetch(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """Registers ahead, two buffers, one barrier a turn. 1 the buffer that is read is written; 2 the barrier
    stands before the store; 3 no barrier in front of the loop"""
    t, _, _ = arch.thread_idx()
    s = smem((128, 2))
    s[t, 0] = a[t, 0]
    if const_expr(how != 3):
        arch.sync_threads()
    for k in cutlass.range(6, unroll=1):
        g = k % 2
        ahead = a[t, k + 1]
        b[t, k] = s[127 - t, g]
        if const_expr(how == 2):
            arch.sync_threads()
        other = g if const_expr(how == 1) else 1 - g
        s[t, other] = ahead
        if const_expr(how != 2):
            arch.sync_threads()


@cute.kernel
def broadcast(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """One warp's sum for all by an mbarrier. 1 the parity is kept; 2 nobody says that it was read; 3 the
    mbarrier that says so counts warps, and lanes arrive"""
    t, _, _ = arch.thread_idx()
    w = arch.make_warp_uniform(arch.warp_idx())
    s, told, read = smem(4), bars(1), bars(1)
    if t == 0:
        init(told, 1)
        init(read, 3)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    for k in cutlass.range(5, unroll=1):
        if w == 0:
            total = arch.warp_redux_sync(a[t, k], "add")
            if const_expr(how != 2):
                arch.mbarrier_wait(read, k % 2 ^ 1)
            if t == 0:
                s[0] = total
                arch.mbarrier_arrive(told)
        else:
            arch.mbarrier_wait(told, 0 if const_expr(how == 1) else k % 2)
            b[t, k] = s[0]
            arch.sync_warp()
            if const_expr(how == 3):
                arch.mbarrier_arrive(read)
            elif t % 32 == 0:
                arch.mbarrier_arrive(read)


@cute.kernel
def slices(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """Each warp stores its own slice in bulk. 1 no fence; 2 a slice is filled while it is copied; 3 the warp
    exits while its last slice is copied"""
    t, _, _ = arch.thread_idx()
    w = arch.make_warp_uniform(arch.warp_idx())
    s = smem((32, 2, 4))
    to = cute.logical_divide(b, (32, 1))
    for k in cutlass.range(6, unroll=1):
        g = k % 2
        if const_expr(how != 2):
            arch.cp_async_bulk_wait_group(1, read=True)
        arch.sync_warp()
        s[t % 32, g, w] = a[t, k]
        if const_expr(how != 1):
            arch.fence_view_async_shared()
        arch.sync_warp()
        with arch.elect_one():
            cute.copy(s2g(), s[None, g, w], to[(None, w), k])
        arch.cp_async_bulk_commit_group()
    if const_expr(how != 3):
        arch.cp_async_bulk_wait_group(0, read=True)


@cute.kernel
def halo(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """Blocks of a cluster read their neighbour's edge, in two buffers. 1 one buffer; 2 no meeting at the end;
    3 the block meets alone before the edge is read"""
    t, _, _ = arch.thread_idx()
    rank = arch.block_idx_in_cluster()
    edge = smem((128, 2))
    for k in cutlass.range(4, unroll=1):
        g = 0 if const_expr(how == 1) else k % 2
        edge[t, g] = a[t, k]
        if const_expr(how == 3):
            arch.sync_threads()
        else:
            arch.cluster_arrive()
            arch.cluster_wait()
        theirs = get(arch.map_dsmem_ptr(edge.iterator + (127 - t) + 128 * g, rank ^ 1))
        b[t, k] = theirs + edge[127 - t, g]
    if const_expr(how != 2):
        arch.cluster_arrive()
        arch.cluster_wait()


@cute.kernel
def grid_barrier(part: cute.Tensor, count: cute.Tensor, out: cute.Tensor, how: Constexpr):
    """All blocks meet between two phases. 1 the block does not meet before it arrives; 2 nor behind the
    poll; 3 a relaxed arrival"""
    t, blk = arch.thread_idx()[0], arch.block_idx()[0]
    part[t, blk] = t * blk
    if const_expr(how != 1):
        arch.sync_threads()
    if t == 0:
        sem = "relaxed" if how == 3 else "acq_rel"
        seen = arch.atomic_add(count.iterator, Int32(1), sem=sem, scope="gpu") + 1
        while seen < 4:
            seen = arch.load(count.iterator, Int32, sem="acquire", scope="gpu")
    if const_expr(how != 2):
        arch.sync_threads()
    out[t] = part[t, (blk + 1) % 4]


@cute.kernel
def cp_ring(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """cp.async by one warp, complete on mbarriers. 1 a stage is filled before it was read; 2 it arrives
    itself, not its copies; 3 users go on with the other stage's mbarrier"""
    t, _, _ = arch.thread_idx()
    w = arch.make_warp_uniform(arch.warp_idx())
    s, full, empty = smem((128, 2)), bars(2), bars(2)
    if t == 0:
        init(full, 32, 32)
        init(empty, 96, 96)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    cp = cute.make_copy_atom(cpasync.CopyG2SOp(), Int32, num_bits_per_copy=128)
    src, dst = cute.zipped_divide(a, (4, 1)), cute.zipped_divide(s, (4, 1))
    for k in cutlass.range(6, unroll=1):
        g, phase = k % 2, k // 2 % 2
        if w == 3:
            if const_expr(how != 1):
                arch.mbarrier_wait(empty + g, phase ^ 1)
            cute.copy(cp, src[None, (t % 32, k)], dst[None, (t % 32, g)])
            if const_expr(how == 2):
                arch.mbarrier_arrive(full + g)
            else:
                arch.cp_async_mbarrier_arrive_noinc(full + g)
        else:
            arch.mbarrier_wait(full + (1 - g if const_expr(how == 3) else g), phase)
            b[t, k] = s[(t + 32) % 128, g]
            arch.mbarrier_arrive(empty + g)


@cute.kernel
def look_back(sums: cute.Tensor, flags: cute.Tensor, out: cute.Tensor, how: Constexpr):
    """Each block adds the sums of those before it. 1 the flag stands before the sum; 2 the poll is relaxed;
    3 one thread polls, all read"""
    t, blk = arch.thread_idx()[0], arch.block_idx()[0]
    if t == 0:
        if const_expr(how == 1):
            arch.store(flags.iterator + blk, Int32(1), sem="release", scope="gpu")
        sums[blk] = blk * 3
        if const_expr(how != 1):
            arch.store(flags.iterator + blk, Int32(1), sem="release", scope="gpu")
    total = Int32(0)
    for before in cutlass.range(blk, unroll=1):
        sem = "relaxed" if how == 2 else "acquire"
        if t == 0 or how != 3:
            seen = Int32(0)
            while seen == 0:
                seen = arch.load(flags.iterator + before, Int32, sem=sem, scope="gpu")
        total += sums[before]
    out[t, blk] = total


@cute.kernel
def two_groups(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """Two groups of two warps exchange halves. 1 only one side waits; 2 both sides' barriers are one; 3 one
    side waits for more threads than there are"""
    t, _, _ = arch.thread_idx()
    w = arch.make_warp_uniform(arch.warp_idx())
    s = smem((64, 2))
    side = w // 2
    for k in cutlass.range(4, unroll=1):
        s[t % 64, side] = a[t, k]
        if side == 0:
            arch.barrier_arrive(barrier_id=1, number_of_threads=128)
            if const_expr(how != 1):
                arch.barrier(barrier_id=1 if const_expr(how == 2) else 2, number_of_threads=128)
        else:
            arch.barrier_arrive(barrier_id=1 if const_expr(how == 2) else 2, number_of_threads=128)
            arch.barrier(barrier_id=1, number_of_threads=160 if const_expr(how == 3) else 128)
        b[t, k] = s[t % 64, 1 - side]
        arch.sync_threads()


@cute.kernel
def table(a: cute.Tensor, idx: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """Indices by ordinary stores, then rows in bulk by all lanes of a warp, then a sum by all. 1 indices are
    not met; 2 rows are not waited for; 3 the next rows come while these are read"""
    t, _, _ = arch.thread_idx()
    w = arch.make_warp_uniform(arch.warp_idx())
    at, rows, full = smem(32), smem((128, 4)), bars(1)
    if t == 0:
        init(full, 1)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    for k in cutlass.range(3, unroll=1):
        if t >= 96:
            at[t - 96] = idx[t - 96 + 32 * k]
        if const_expr(how != 1):
            arch.sync_threads()
        if w == 0:
            if t == 0:
                arch.mbarrier_arrive_and_expect_tx(full, 2048)
            arch.sync_warp()
            if t < 4:
                cute.copy(g2s(), a[None, at[t]], rows[None, t], mbar_ptr=full)
        if const_expr(how != 2):
            arch.mbarrier_wait(full, k % 2)
        b[t, k] = rows[t, 0] + rows[t, 3]
        if const_expr(how == 3):
            arch.barrier(barrier_id=1 + w, number_of_threads=32)
        else:
            arch.sync_threads()


@cute.kernel
def peek(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """A trial before the wait. 1 no wait where it fails; 2 the trial is of the other stage's mbarrier"""
    t, _, _ = arch.thread_idx()
    w = arch.make_warp_uniform(arch.warp_idx())
    s, full, empty = smem((128, 2)), bars(2), bars(2)
    if t == 0:
        init(full, 1, 1)
        init(empty, 96, 96)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    for k in cutlass.range(6, unroll=1):
        g, phase = k % 2, k // 2 % 2
        if w == 3:
            arch.mbarrier_wait(empty + g, phase ^ 1)
            with arch.elect_one():
                arch.mbarrier_arrive_and_expect_tx(full + g, 512)
                cute.copy(g2s(), a[None, k], s[None, g], mbar_ptr=full + g)
        else:
            done = arch.mbarrier_try_wait(full + (1 - g if const_expr(how == 2) else g), phase)
            if const_expr(how != 1):
                if not done:
                    arch.mbarrier_wait(full + g, phase)
            b[t, k] = s[t, g]
            arch.fence_view_async_shared()
            arch.mbarrier_arrive(empty + g)


@cute.kernel
def cp_store(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """cp.async fills what a bulk copy stores. 1 no fence; 2 a fence before the copies are done; 3 not met; 4
    filled again while it is stored"""
    t, _, _ = arch.thread_idx()
    s = smem((512, 2))
    cp = cute.make_copy_atom(cpasync.CopyG2SOp(), Int32, num_bits_per_copy=128)
    src, dst = cute.zipped_divide(a, (4, 1)), cute.zipped_divide(s, (4, 1))
    for k in cutlass.range(6, unroll=1):
        g = k % 2
        if t == 0:
            arch.cp_async_bulk_wait_group(2 if const_expr(how == 4) else 1, read=True)
        arch.sync_threads()
        cute.copy(cp, src[None, (t, k)], dst[None, (t, g)])
        arch.cp_async_commit_group()
        if const_expr(how == 2):
            arch.fence_view_async_shared()
        arch.cp_async_wait_group(0)
        if const_expr(how not in (1, 2)):
            arch.fence_view_async_shared()
        if const_expr(how != 3):
            arch.sync_threads()
        if t == 0:
            cute.copy(s2g(), s[None, g], b[None, k])
            arch.cp_async_bulk_commit_group()
    if t == 0:
        arch.cp_async_bulk_wait_group(0, read=True)


@cute.kernel
def bins(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """A histogram in shared memory, cleared in each turn. 1 not met behind the clearing; 2 nor before it is
    read; 3 nor before it is cleared again"""
    t, _, _ = arch.thread_idx()
    s = smem(128)
    for k in cutlass.range(3, unroll=1):
        s[t] = 0
        if const_expr(how != 1):
            arch.sync_threads()
        arch.atomic_add(s.iterator + a[t, k] % 128, Int32(1), sem="relaxed", scope="cta")
        if const_expr(how != 2):
            arch.sync_threads()
        b[t, k] = s[127 - t]
        if const_expr(how != 3):
            arch.sync_threads()


@cute.kernel
def remote(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """A block stores to its peer and arrives at the peer's mbarrier. 1 arrives before it stores; 2 without
    the peer's word that it has read; 3 the peer does not wait"""
    t, _, _ = arch.thread_idx()
    rank = arch.block_idx_in_cluster()
    s, full, empty = smem(128), bars(1), bars(1)
    if t == 0:
        init(full, 128)
        init(empty, 128)
    arch.mbarrier_init_fence()
    arch.cluster_arrive_relaxed()
    arch.cluster_wait()
    for k in cutlass.range(4, unroll=1):
        if const_expr(how != 2):
            arch.mbarrier_wait(empty, k % 2 ^ 1)
        if const_expr(how == 1):
            arch.mbarrier_arrive(full, rank ^ 1)
        put(arch.map_dsmem_ptr(s.iterator + t, rank ^ 1), a[t, k])
        if const_expr(how != 1):
            arch.mbarrier_arrive(full, rank ^ 1)
        if const_expr(how != 3):
            arch.mbarrier_wait(full, k % 2)
        b[t, k] = s[127 - t]
        arch.mbarrier_arrive(empty, rank ^ 1)
    arch.cluster_arrive()
    arch.cluster_wait()


@cute.kernel
def padded(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """Zeros by ordinary stores, then a bulk load over a part of them. 1 no fence; 2 not met; 3 zeros again
    while others read"""
    t, _, _ = arch.thread_idx()
    s, full = smem(160), bars(1)
    if t == 0:
        init(full, 1)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    for k in cutlass.range(4, unroll=1):
        s[t] = 0
        if t < 32:
            s[128 + t] = 0
        if const_expr(how != 1):
            arch.fence_view_async_shared()
        if const_expr(how != 2):
            arch.sync_threads()
        if t == 0:
            arch.mbarrier_arrive_and_expect_tx(full, 512)
            part = cute.make_tensor(s.iterator, cute.make_layout(128))
            cute.copy(g2s(), a[None, k], part, mbar_ptr=full)
        arch.mbarrier_wait(full, k % 2)
        b[t, k] = s[t + 32]
        if const_expr(how != 3):
            arch.sync_threads()


@cute.kernel
def ids(a: cute.Tensor, b: cute.Tensor, how: Constexpr):
    """A barrier of two warps beside that of the block. 1 it has the number of the block's; 2 the two warps'
    barrier counts one; 3 the block's is left out"""
    t, _, _ = arch.thread_idx()
    w = arch.make_warp_uniform(arch.warp_idx())
    s = smem(128)
    for k in cutlass.range(3, unroll=1):
        s[t] = a[t, k]
        if w < 2:
            which = 0 if const_expr(how == 1) else 1
            arch.barrier(barrier_id=which, number_of_threads=32 if const_expr(how == 2) else 64)
            b[t, k] = s[63 - t]
        if const_expr(how != 3):
            arch.sync_threads()
        if w >= 2:
            b[t, k] = s[127 - t]
        arch.sync_threads()


SHAPES = {  # of a kernel's tensors, where not of the first two of `DEFAULT`
    "sched": ((128, 8), (1,), (128, 8)), "turns": ((128, 4), (1,), (128,)),
    "grid_barrier": ((128, 4), (1,), (128,)), "look_back": ((4,), (4,), (128, 4)),
    "table": ((128, 96), (96,), (128, 8)), "cp_store": ((512, 8), (512, 8)),
}  # fmt: skip
DEFAULT = ((128, 64), (128, 64))
GRIDS = {"persist": 2, "turns": 4, "grid_barrier": 4, "look_back": 4}


@cute.jit
def run(x: cute.Tensor, y: cute.Tensor, z: cute.Tensor, n: Int32, name: Constexpr, how: Constexpr):
    args = (x, y, z)[: len(SHAPES.get(name, DEFAULT))] + ((n,) if name == "persist" else ())
    blocks = 2 if name in ("halo", "remote") else 1
    made = globals()[name](*args, how)
    made.launch(grid=(GRIDS.get(name, blocks), 1, 1), block=(N, 1, 1), cluster=(blocks, 1, 1))


if __name__ == "__main__":
    for name in sys.argv[1:] or TOLD:
        for how in range(len(TOLD[name]) + 1):
            shapes = (*SHAPES.get(name, DEFAULT), (128,))[:3]
            cute.compile(run, *(tensor(*shape) for shape in shapes), Int32(9), name, how)
