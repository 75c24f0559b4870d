"""More kernels for the check of order, of kinds that kernels.py and reported.py do not have: `how` 0 right, 1
broken."""

from __future__ import annotations

import cutlass
import cutlass.cute as cute
from cutlass import Constexpr, Int32, const_expr
from cutlass.cute.nvgpu import cpasync

from tests.order.kernels import barriers, buffer, cp
from tests.order.reported import THREADS, TURNS, WORDS, flat, get, load, program, quads

arch = cute.arch


@cute.kernel
def atomic_sum(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Atomics are ordered among themselves, and not before the load behind them."""
    thread, _, _ = arch.thread_idx()
    data = buffer(4)
    if thread == 0:
        data[0] = Int32(0)
    arch.sync_threads()
    arch.atomic_add(data.iterator, (source + thread).load(), sem="relaxed", scope="cta")  # added
    if const_expr(how == 0):
        arch.sync_threads()
    (target + thread).store(data[0])  # read


@cute.kernel
def warp_barrier(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """A barrier of the warp where the block's is needed."""
    thread, _, _ = arch.thread_idx()
    data = buffer(THREADS)
    data[thread] = (source + thread).load()  # written
    if const_expr(how == 0):
        arch.sync_threads()
    else:
        arch.sync_warp()
    (target + thread).store(data[THREADS - 1 - thread])  # read


@cute.kernel
def taking_turns(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Two groups of warps use one buffer in turn; one of them does not hand it over."""
    thread, _, _ = arch.thread_idx()
    data = buffer(64)
    own = thread % 64
    for turn in cutlass.range(TURNS, unroll=1):
        if thread < 64:
            if turn > 0:
                arch.barrier(barrier_id=2, number_of_threads=THREADS)
            data[own] = (source + thread + turn * THREADS).load()  # the first group
            arch.barrier(barrier_id=3, number_of_threads=64)
            (target + thread + turn * THREADS).store(data[63 - own])
            if const_expr(how == 0):
                arch.barrier(barrier_id=3, number_of_threads=64)
            arch.barrier_arrive(barrier_id=1, number_of_threads=THREADS)
        else:
            arch.barrier(barrier_id=1, number_of_threads=THREADS)
            data[own] = (source + thread + turn * THREADS).load()  # the second group
            arch.barrier(barrier_id=4, number_of_threads=64)
            (target + thread + turn * THREADS).store(data[63 - own])  # read by it
            if const_expr(how == 0):
                if turn < TURNS - 1:
                    arch.barrier_arrive(barrier_id=2, number_of_threads=THREADS)
            elif turn < TURNS - 1:
                arch.barrier_arrive(barrier_id=2, number_of_threads=THREADS)
                data[own] = turn  # after the hand-over


@cute.kernel
def relaxed_cluster(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """A relaxed arrival at the cluster's barrier releases nothing."""
    thread, _, _ = arch.thread_idx()
    rank = arch.block_idx_in_cluster()
    data = buffer(THREADS)
    data[thread] = (source + thread + rank * THREADS).load()  # written
    if const_expr(how == 0):
        arch.cluster_arrive()
    else:
        arch.cluster_arrive_relaxed()
    arch.cluster_wait()
    (target + rank * THREADS + thread).store(get(arch.map_dsmem_ptr(data.iterator, rank ^ 1) + thread))
    arch.cluster_arrive()
    arch.cluster_wait()


@cute.kernel
def deep_prefetch(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """A ring of three stages: three turns ahead is the stage that is read now."""
    thread, _, _ = arch.thread_idx()
    data = buffer(12 * THREADS)
    ring = quads(data.iterator, 3)
    ahead = 3 if const_expr(how == 1) else 2
    for stage in cutlass.range_constexpr(2):
        cute.copy(cp(), quads(source, 12)[thread, None, stage], ring[thread, None, stage])
        arch.cp_async_commit_group()
    for turn in cutlass.range(TURNS, unroll=1):
        arch.cp_async_wait_group(1)
        arch.sync_threads()
        cute.copy(
            cp(), quads(source, 12)[thread, None, turn + ahead], ring[thread, None, (turn + ahead) % 3]
        )  # ahead
        arch.cp_async_commit_group()
        (target + thread + turn * THREADS).store(
            data[turn % 3 * 4 * THREADS + 4 * (THREADS - 1 - thread)]
        )  # read
    arch.cp_async_wait_group(0)


@cute.kernel
def initialised_again(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """An mbarrier is made anew for each tile."""
    thread, _, _ = arch.thread_idx()
    data, bar = buffer(WORDS), barriers(1)
    for turn in cutlass.range(TURNS, unroll=1):
        if thread == 0:
            arch.mbarrier_init(bar, 1)  # made
        arch.mbarrier_init_fence()
        if const_expr(how == 0):
            arch.sync_threads()
        if thread == 0:
            load(flat(source + turn * WORDS, WORDS), data, bar)
        arch.mbarrier_wait(bar, 0)  # waited for
        (target + thread + turn * THREADS).store(data[3 * thread])
        arch.fence_proxy("async.shared", space="cta")
        arch.sync_threads()


@cute.kernel
def late_commit(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """A wait for groups does not wait for a store that no group has."""
    thread, _, _ = arch.thread_idx()
    data = buffer(WORDS)
    for turn in cutlass.range(TURNS, unroll=1):
        for i in cutlass.range(thread, WORDS, THREADS, unroll=1):
            data[i] = (source + i + turn * WORDS).load()  # the next
        arch.fence_proxy("async.shared", space="cta")
        arch.sync_threads()
        if thread == 0:
            cute.copy(
                cute.make_copy_atom(cpasync.CopyBulkS2GOp(), Int32), data, flat(target + turn * WORDS, WORDS)
            )
            if const_expr(how == 0):
                arch.cp_async_bulk_commit_group()
            arch.cp_async_bulk_wait_group(0, read=True)
            if const_expr(how == 1):
                arch.cp_async_bulk_commit_group()
        arch.sync_threads()
    if thread == 0:
        arch.cp_async_bulk_wait_group(0, read=True)


@cute.kernel
def two_producers(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Two warps announce bytes to an mbarrier that is made for one arrival."""
    thread, _, _ = arch.thread_idx()
    data, bar = buffer(2 * WORDS), barriers(1)
    if thread == 0:
        arch.mbarrier_init(bar, 2 if const_expr(how == 0) else 1)  # made
    arch.mbarrier_init_fence()
    arch.sync_threads()
    if thread == 0:
        load(flat(source, WORDS), flat(data.iterator, WORDS), bar)
    if thread == 32:
        load(flat(source + WORDS, WORDS), flat(data.iterator + WORDS, WORDS), bar)
    arch.mbarrier_wait(bar, 0)
    (target + thread).store(data[8 * thread])


@cute.kernel
def wrong_release(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Two stages; the consumers give back the one that they will read next."""
    thread, _, _ = arch.thread_idx()
    data, full, empty = buffer(2 * WORDS), barriers(2), barriers(2)
    if thread == 0:
        for stage in cutlass.range_constexpr(2):
            arch.mbarrier_init(full + stage, 1)
            arch.mbarrier_init(empty + stage, 96)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    if thread < 32:
        for turn in cutlass.range(TURNS, unroll=1):
            arch.mbarrier_wait(empty + turn % 2, turn // 2 & 1 ^ 1)
            if thread == 0:
                load(
                    flat(source + turn * WORDS, WORDS),
                    flat(data.iterator + turn % 2 * WORDS, WORDS),
                    full + turn % 2,
                )
    else:
        for turn in cutlass.range(TURNS, unroll=1):
            arch.mbarrier_wait(full + turn % 2, turn // 2 & 1)
            if const_expr(how == 1):
                arch.mbarrier_arrive(empty + turn % 2)  # before it is read
            (target + thread + turn * THREADS).store(data[turn % 2 * WORDS + 3 * thread])  # read
            if const_expr(how == 0):
                arch.mbarrier_arrive(empty + turn % 2)


@cute.kernel
def only_tried(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """A trial of an mbarrier that may fail, and what follows it all the same."""
    thread, _, _ = arch.thread_idx()
    data, bar = buffer(WORDS), barriers(1)
    if thread == 0:
        arch.mbarrier_init(bar, 1)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    if thread == 0:
        load(flat(source, WORDS), data, bar)
    done = arch.mbarrier_try_wait(bar, 0)
    value = Int32(0)
    if const_expr(how == 0):
        if not done:
            arch.mbarrier_wait(bar, 0)
        value = data[thread]
    elif done or thread >= 0:
        value = data[thread]  # read
    (target + thread).store(value)


@cute.kernel
def sent_to_peer(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """A bulk copy to the peer's shared memory reads its source until the peer's mbarrier says so."""
    thread, _, _ = arch.thread_idx()
    rank = arch.block_idx_in_cluster()
    mine, theirs, bar = buffer(WORDS), buffer(WORDS), barriers(1)
    if thread == 0:
        arch.mbarrier_init(bar, 1)
        arch.mbarrier_arrive_and_expect_tx(bar, 4 * WORDS)
    arch.mbarrier_init_fence()
    for i in cutlass.range(thread, WORDS, THREADS, unroll=1):
        mine[i] = (source + i + rank * WORDS).load()
    arch.fence_proxy("async.shared", space="cta")
    arch.cluster_arrive()
    arch.cluster_wait()
    if thread == 0:
        atom = cute.make_copy_atom(cpasync.CopyBulkS2SOp(), Int32)
        cute.copy(atom, mine, theirs, mbar_ptr=arch.map_dsmem_ptr(bar, rank ^ 1), cta_rank=rank ^ 1)  # sent
    if const_expr(how == 1):
        arch.sync_threads()
        mine[thread] = Int32(-1)  # over the source
    arch.mbarrier_wait(bar, 0)
    (target + rank * THREADS + thread).store(theirs[4 * thread])
    arch.cluster_arrive()
    arch.cluster_wait()


@cute.kernel
def lanes_beside(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """A lane reads what the lane beside it has written."""
    thread, _, _ = arch.thread_idx()
    data = buffer(THREADS)
    data[thread] = (source + thread).load()  # written
    if const_expr(how == 0):
        arch.sync_warp()
    (target + thread).store(data[thread ^ 1])  # read


# Of each kernel: code, words of the first line, words of the second, blocks of the cluster.
TOLD = {
    "lanes_beside": ("LC524", "# written", "# read", 1),
    "atomic_sum": ("LC504", "# added", "# read", 1),
    "warp_barrier": ("LC504", "# written", "# read", 1),
    "taking_turns": ("LC504", "# after the hand-over", "# the first group", 1),
    "relaxed_cluster": ("LC504", "# written", "", 2),
    "deep_prefetch": ("LC501", "", "", 1),
    "initialised_again": ("LC506", "# made", "# waited for", 1),
    "late_commit": ("LC502", "", "# the next", 1),
    "two_producers": ("LC501", "", "8 * thread", 1),
    "wrong_release": ("LC503", "# read", "", 1),
    "only_tried": ("LC501", "", "# read", 1),
    "sent_to_peer": ("LC501", "# sent", "# over the source", 2),
}


@cute.jit
def run(source: cute.Pointer, target: cute.Pointer, name: Constexpr, how: Constexpr):
    blocks = TOLD[name][3]
    globals()[name](source, target, how).launch(
        grid=(blocks, 1, 1), block=(THREADS, 1, 1), cluster=(blocks, 1, 1)
    )


if __name__ == "__main__":
    program(run, dict.fromkeys(TOLD, 2))
