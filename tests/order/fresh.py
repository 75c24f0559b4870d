"""Pipelines as users write them, each right (`how` 0) and with faults that people make (`how` 1, 2, ...).

`TOLD` says what each fault is told as. No fault is only a statement left out: wrong stages, parities, counts,
bytes, scopes, proxies, and statements one line too early.

    python -m tests.order.fresh [NAME ...]           # compile every variant
    python -m tests.order.fresh NAME HOW             # run one: needs a GPU, fails where a result is wrong
"""

# ruff: noqa: SIM102, SIM114 - what is known while tracing stands apart from what a run decides

from __future__ import annotations

import cutlass
import cutlass.cute as cute
from cutlass import BFloat16, Constexpr, Float32, Int32, const_expr, pipeline
from cutlass.cute.nvgpu import cpasync, warpgroup
from cutlass.utils import LayoutEnum, hopper_helpers

from tests.order.kernels import barriers, buffer, cp, put
from tests.order.pipelines import TURNS, copy_in, rows, staged
from tests.order.reported import THREADS, WORDS, get, program, quads

arch = cute.arch
WARPS = THREADS // 32
# kernel -> (what its variants are told from 1 on, its threads, its blocks, all of one cluster)
TOLD = {
    "two_operands": (("LC507", "LC507"), THREADS + 32, 1),
    "cp_async_ring": (("LC501", "LC501", "LC503"), THREADS, 1),
    "cp_async_handed_over": (("LC508", "LC501"), 2 * THREADS, 1),
    "threads_hand_over": (("LC508", "LC504", "LC510"), 2 * THREADS, 1),
    "participants": (("LC503", "LC510", "LC501"), THREADS + 32, 1),
    "epilogue": (("LC505", "LC505", "LC502"), THREADS, 1),
    "own_parity": (("LC501", "LC510"), THREADS + 32, 1),
    "wgmma_stage": (("LC502", "LC522", "LC505"), THREADS, 1),
    "halo": (("LC504", "LC504", "LC504"), THREADS, 2),
    "ping_pong": (("LC509", "LC509", "LC504"), 2 * THREADS, 1),
    "in_order": (("LC504", "LC508", "LC504"), 2 * THREADS, 1),
    "tile_loop": (("LC501", "LC508"), THREADS + 32, 1),
    "store_by_another": (("LC502", "LC502"), THREADS, 1),
    "part_of_a_block": (("LC520", "LC509"), THREADS, 1),
    "register_prefetch": (("LC504", "LC504"), THREADS, 1),
    "block_sum": (("LC504", "LC504"), THREADS, 1),
    "transposed": (("LC504", "LC504"), THREADS, 1),
    "peeked": (("LC501", "LC501"), THREADS + 32, 1),
    "two_rings": (("LC510", "LC510"), THREADS + 64, 1),
    "late_init": (("LC506", "LC506"), THREADS, 1),
    "cluster_signal": (("LC504", "LC506"), THREADS, 2),
}


def group(count=1):
    return pipeline.CooperativeGroup(pipeline.Agent.Thread, count)


def tma_pipeline(stages, consumers, count):
    return pipeline.PipelineTmaAsync.create(
        num_stages=stages, producer_group=group(), consumer_group=group(consumers), tx_count=count,
        barrier_storage=barriers(2 * stages), cta_layout_vmnk=cute.make_layout((1, 1, 1, 1)),
    )  # fmt: skip


def producing(stages):
    return pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, stages)


def consuming(stages):
    return pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, stages)


@cute.kernel
def two_operands(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """1 the bytes of A alone are announced, 2 the bytes of B are counted twice."""
    thread, _, _ = arch.thread_idx()
    warp = arch.make_warp_uniform(arch.warp_idx())
    given, taken = rows(source), rows(target)
    a, b = staged(buffer(2 * WORDS).iterator, 2), staged(buffer(2 * WORDS).iterator, 2)
    count = const_expr({0: 8, 1: 4, 2: 12}[how] * WORDS)
    pipe = tma_pipeline(2, WARPS, count)
    if warp == WARPS:
        state = producing(2)
        for turn in cutlass.range(TURNS, unroll=1):
            pipe.producer_acquire(state)
            with arch.elect_one():
                copy_in(given[(None, turn)], a[(None, state.index)], pipe.producer_get_barrier(state))
                copy_in(
                    given[(None, TURNS - 1 - turn)], b[(None, state.index)], pipe.producer_get_barrier(state)
                )
            pipe.producer_commit(state)
            state.advance()
        pipe.producer_tail(state)
    else:
        state = consuming(2)
        for turn in cutlass.range(TURNS, unroll=1):
            pipe.consumer_wait(state)
            for i in cutlass.range_constexpr(4):
                at = 4 * thread + i
                taken[(at, turn)] = a[(at, state.index)] + b[(WORDS - 1 - at, state.index)]
            arch.sync_warp()
            pipe.consumer_release(state)
            state.advance()


@cute.kernel
def cp_async_ring(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """1 the next copy goes to the stage being read, 2 the wait leaves one group more, 3 its barrier stands
    too late."""
    thread, _, _ = arch.thread_idx()
    given, taken, data = quads(source, TURNS), rows(target), buffer(3 * WORDS)
    mine = quads(data.iterator, 3)
    ahead = const_expr(3 if how == 1 else 2)
    for turn in cutlass.range_constexpr(2):
        cute.copy(cp(), given[thread, None, turn], mine[thread, None, turn])
        arch.cp_async_commit_group()
    for turn in cutlass.range(TURNS, unroll=1):
        arch.cp_async_wait_group(2 if const_expr(how == 2) else 1)
        if const_expr(how != 3):
            arch.sync_threads()
        if turn + 2 < TURNS:
            cute.copy(cp(), given[thread, None, turn + 2], mine[thread, None, (turn + ahead) % 3])
        arch.cp_async_commit_group()
        if const_expr(how == 3):
            arch.sync_threads()
        for i in cutlass.range_constexpr(4):
            taken[(4 * thread + i, turn)] = data[(4 * thread + i + 64) % WORDS + WORDS * (turn % 3)]


@cute.kernel
def cp_async_handed_over(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """PipelineCpAsync: 1 the readers are counted in warps but arrive as threads, 2 commit is an ordinary
    arrival."""
    thread, _, _ = arch.thread_idx()
    lane = thread % THREADS
    given, taken, data = quads(source, TURNS), rows(target), buffer(2 * WORDS)
    mine = quads(data.iterator, 2)
    kind = const_expr(pipeline.PipelineAsync if how == 2 else pipeline.PipelineCpAsync)
    pipe = kind.create(
        num_stages=2, producer_group=group(THREADS), consumer_group=group(WARPS if how == 1 else THREADS),
        barrier_storage=barriers(4),
    )  # fmt: skip
    if thread < THREADS:
        state = producing(2)
        for turn in cutlass.range(TURNS, unroll=1):
            pipe.producer_acquire(state)
            cute.copy(cp(), given[lane, None, turn], mine[lane, None, state.index])
            pipe.producer_commit(state)
            state.advance()
        pipe.producer_tail(state)
    else:
        state = consuming(2)
        for turn in cutlass.range(TURNS, unroll=1):
            pipe.consumer_wait(state)
            for i in cutlass.range_constexpr(4):
                taken[(4 * lane + i, turn)] = data[WORDS - 1 - 4 * lane - i + WORDS * state.index]
            pipe.consumer_release(state)
            state.advance()


@cute.kernel
def threads_hand_over(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """PipelineAsync: 1 the writers are counted in warps, 2 released before the read, 3 states begin anew
    half way."""
    thread, _, _ = arch.thread_idx()
    lane = thread % THREADS
    given, taken, data = rows(source), rows(target), staged(buffer(3 * WORDS).iterator, 3)
    pipe = pipeline.PipelineAsync.create(
        num_stages=3, producer_group=group(WARPS if how == 1 else THREADS), consumer_group=group(THREADS),
        barrier_storage=barriers(6),
    )  # fmt: skip
    if thread < THREADS:
        state = producing(3)
        for turn in cutlass.range(TURNS, unroll=1):
            pipe.producer_acquire(state)
            data[(lane, state.index)] = given[(lane, turn)]
            pipe.producer_commit(state)
            state.advance()
    else:
        state = consuming(3)
        for half in cutlass.range_constexpr(2):
            if const_expr(how == 3):
                state = consuming(3)
            for turn in cutlass.range(TURNS // 2 - 1 + 2 * half, unroll=1):
                pipe.consumer_wait(state)
                if const_expr(how == 2):
                    pipe.consumer_release(state)
                taken[(lane, half * (TURNS // 2 - 1) + turn)] = data[(THREADS - 1 - lane, state.index)]
                if const_expr(how != 2):
                    pipe.consumer_release(state)
                state.advance()


@cute.kernel
def participants(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Handles: 1 released before the data are in registers, 2 readers counted in threads, 3 the copy names
    stage 0."""
    thread, _, _ = arch.thread_idx()
    warp = arch.make_warp_uniform(arch.warp_idx())
    given, taken, data = rows(source), rows(target), staged(buffer(3 * WORDS).iterator, 3)
    producer, consumer = tma_pipeline(3, THREADS if how == 2 else WARPS, 4 * WORDS).make_participants()
    if warp == WARPS:
        for turn in cutlass.range(TURNS, unroll=1):
            slot = producer.acquire_and_advance()
            index = Int32(0) if const_expr(how == 3) else slot.index
            with arch.elect_one():
                copy_in(given[(None, turn)], data[(None, index)], slot.barrier)
        producer.tail()
    else:
        for turn in cutlass.range(TURNS, unroll=1):
            slot = consumer.wait_and_advance()
            index = slot.index
            if const_expr(how == 1):
                arch.sync_warp()
                slot.release()
            held = cute.make_rmem_tensor((4,), Int32)
            for i in cutlass.range_constexpr(4):
                held[i] = data[(4 * thread + i, index)]
            if const_expr(how != 1):
                arch.sync_warp()
                slot.release()
            for i in cutlass.range_constexpr(4):
                taken[(4 * thread + i, turn)] = held[i]


@cute.kernel
def epilogue(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """PipelineTmaStore: 1 only the storing warp fences, 2 a fence of global memory, 3 acquired by another
    warp."""
    thread, _, _ = arch.thread_idx()
    warp = arch.make_warp_uniform(arch.warp_idx())
    given, taken, data = rows(source), rows(target), staged(buffer(2 * WORDS).iterator, 2)
    pipe = pipeline.PipelineTmaStore.create(num_stages=2, producer_group=group(THREADS))
    for turn in cutlass.range(TURNS, unroll=1):
        for i in cutlass.range_constexpr(4):
            data[(4 * thread + i, turn % 2)] = given[(4 * thread + i, turn)] + 1
        if const_expr(how == 2):
            arch.fence_proxy("async.global")
        elif const_expr(how != 1):
            arch.fence_proxy("async.shared", space="cta")
        elif warp == 0:
            arch.fence_proxy("async.shared", space="cta")
        arch.barrier(barrier_id=1, number_of_threads=THREADS)
        if warp == 0:
            with arch.elect_one():
                cute.copy(
                    cute.make_copy_atom(cpasync.CopyBulkS2GOp(), Int32),
                    data[(None, turn % 2)],
                    taken[(None, turn)],
                )
            pipe.producer_commit()
        if warp == (1 if const_expr(how == 3) else 0):
            pipe.producer_acquire()
        arch.barrier(barrier_id=1, number_of_threads=THREADS)
    if warp == 0:
        pipe.producer_tail()


@cute.kernel
def own_parity(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Three stages, parities by hand: 1 the reader divides by two, 2 the loader takes the reader's parity."""
    thread, _, _ = arch.thread_idx()
    warp = arch.make_warp_uniform(arch.warp_idx())
    given, taken, data = rows(source), rows(target), staged(buffer(3 * WORDS).iterator, 3)
    full = barriers(6)
    empty = full + 3
    if thread == 0:
        for i in cutlass.range_constexpr(3):
            arch.mbarrier_init(full + i, 1)
            arch.mbarrier_init(empty + i, WARPS)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    if warp == WARPS:
        for turn in cutlass.range(TURNS, unroll=1):
            stage, parity = turn % 3, turn // 3 % 2
            arch.mbarrier_wait(empty + stage, parity if const_expr(how == 2) else 1 - parity)
            with arch.elect_one():
                arch.mbarrier_arrive_and_expect_tx(full + stage, 4 * WORDS)
                copy_in(given[(None, turn)], data[(None, stage)], full + stage)
    else:
        for turn in cutlass.range(TURNS, unroll=1):
            stage = turn % 3
            arch.mbarrier_wait(full + stage, turn // (2 if const_expr(how == 1) else 3) % 2)
            for i in cutlass.range_constexpr(4):
                taken[(4 * thread + i, turn)] = data[(4 * thread + i, stage)]
            arch.sync_warp()
            with arch.elect_one():
                arch.mbarrier_arrive(empty + stage)


@cute.kernel
def wgmma_stage(source: cute.Pointer, target: cute.Pointer, mma: cute.TiledMma, la: cute.ComposedLayout,
                lb: cute.ComposedLayout, how: Constexpr):  # fmt: skip
    """Operands written by threads, again each turn: 1 while wgmma reads, 2 the fence stands behind the
    barrier (a note: the PTX ISA lets a fence on the path do), 3 one warp fences for all."""
    thread, _, _ = arch.thread_idx()
    allocator = cutlass.memory.SmemAllocator()
    a = allocator.allocate_tensor(BFloat16, la.outer, byte_alignment=1024, swizzle=la.inner)
    b = allocator.allocate_tensor(BFloat16, lb.outer, byte_alignment=1024, swizzle=lb.inner)
    slices = mma.get_slice(0)
    ra, rb = mma.make_fragment_A(slices.partition_A(a)), mma.make_fragment_B(slices.partition_B(b))
    out = cute.make_tensor(target, cute.make_layout((64, 64), stride=(64, 1)))
    mine = mma.get_slice(thread).partition_C(out)
    sums = cute.make_rmem_tensor(mine.shape, Float32)
    sums.fill(0.0)
    mma.set(warpgroup.Field.ACCUMULATE, True)
    for turn in cutlass.range(4, unroll=1):
        for i in cutlass.range(thread, 64 * 64, THREADS, unroll=1):
            a[(i // 64, i % 64, 0)] = BFloat16(Float32((source + i).load() % 3 + turn))
            b[(i // 64, i % 64, 0)] = BFloat16(Float32((source + i).load() % 5))
        if const_expr(how in (0, 1)):
            arch.fence_proxy("async.shared", space="cta")
        elif const_expr(how == 3):
            if arch.make_warp_uniform(arch.warp_idx()) == 0:
                arch.fence_proxy("async.shared", space="cta")
        arch.sync_threads()
        if const_expr(how == 2):
            arch.fence_proxy("async.shared", space="cta")
        warpgroup.fence()
        for block in cutlass.range_constexpr(cute.size(ra, mode=[2])):
            cute.gemm(mma, sums, ra[(None, None, block, 0)], rb[(None, None, block, 0)], sums)
        warpgroup.commit_group()
        warpgroup.wait_group(1 if const_expr(how == 1) else 0)
        arch.sync_threads()
    warpgroup.wait_group(0)
    for i in cutlass.range_constexpr(cute.size(sums)):
        mine[i] = sums[i].to(Int32)


@cute.kernel
def halo(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Words of the other block: 1 a barrier of the own block alone, 2 relaxed arrival, 3 no one waits at
    the end."""
    thread, _, _ = arch.thread_idx()
    rank = arch.block_idx_in_cluster()
    data = buffer(THREADS)
    data[thread] = (source + THREADS * rank + thread).load()
    if const_expr(how == 1):
        arch.sync_threads()
    elif const_expr(how == 2):
        arch.cluster_arrive_relaxed()
        arch.cluster_wait()
    else:
        arch.cluster_arrive()
        arch.cluster_wait()
    other = get(arch.map_dsmem_ptr(data.iterator + (THREADS - 1 - thread), 1 - rank))
    (target + THREADS * rank + thread).store(other)
    arch.cluster_arrive()
    if const_expr(how != 3):
        arch.cluster_wait()
    else:
        data[thread] = Int32(0)


@cute.kernel
def ping_pong(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Named barriers of two groups: 1 one id for both ways, 2 the count of one group, 3 arrived before the
    read."""
    thread, _, _ = arch.thread_idx()
    lane = thread % THREADS
    given, taken, data = rows(source), rows(target), buffer(THREADS)
    both = const_expr(THREADS if how == 2 else 2 * THREADS)
    full = pipeline.NamedBarrier(barrier_id=1, num_threads=both)
    empty = pipeline.NamedBarrier(barrier_id=1 if how == 1 else 2, num_threads=both)
    if thread < THREADS:
        for turn in cutlass.range(TURNS, unroll=1):
            empty.arrive_and_wait()
            data[lane] = given[(lane, turn)]
            full.arrive()
    else:
        empty.arrive()
        for turn in cutlass.range(TURNS, unroll=1):
            full.arrive_and_wait()
            if const_expr(how == 3):
                if turn < TURNS - 1:
                    empty.arrive()
            taken[(lane, turn)] = data[THREADS - 1 - lane]
            if const_expr(how != 3):
                if turn < TURNS - 1:
                    empty.arrive()


@cute.kernel
def in_order(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """PipelineOrder: 1 both groups say that they are the first, 2 arrivals are counted in warps, 3 its own
    state, which no loop carries on: the parity of its waits never changes."""
    thread, _, _ = arch.thread_idx()
    lane = thread % THREADS
    given, taken, data = rows(source), rows(target), buffer(THREADS)
    which = Int32(thread // THREADS)
    order = pipeline.PipelineOrder.create(
        depth=1, length=2, group_id=Int32(0) if const_expr(how == 1) else which,
        producer_group=group(WARPS if how == 2 else THREADS), barrier_storage=barriers(2),
    )  # fmt: skip
    state = order.state.clone()
    for turn in cutlass.range(TURNS // 2, unroll=1):
        if const_expr(how == 3):
            order.wait()
        else:
            order.wait(state)
        data[lane] = given[(lane, 2 * turn + which)]
        arch.barrier(barrier_id=1 + which, number_of_threads=THREADS)
        taken[(lane, 2 * turn + which)] = data[THREADS - 1 - lane]
        if const_expr(how == 3):
            order.arrive()
        else:
            state = order.arrive(state)


@cute.kernel
def tile_loop(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Tiles of three turns, two stages: 1 the reader makes its state for each tile, 2 the loader forgets
    one turn."""
    thread, _, _ = arch.thread_idx()
    warp = arch.make_warp_uniform(arch.warp_idx())
    given, taken, data = rows(source), rows(target), staged(buffer(2 * WORDS).iterator, 2)
    pipe = tma_pipeline(2, WARPS, 4 * WORDS)
    if warp == WARPS:
        state = producing(2)
        tile = Int32(0)
        while tile < 4:
            for turn in cutlass.range(3, unroll=1):
                pipe.producer_acquire(state)
                with arch.elect_one():
                    copy_in(
                        given[(None, 3 * tile + turn)],
                        data[(None, state.index)],
                        pipe.producer_get_barrier(state),
                    )
                pipe.producer_commit(state)
                if const_expr(how != 2) or turn < 2:
                    state.advance()
            tile += 1
        pipe.producer_tail(state)
    else:
        state = consuming(2)
        tile = Int32(0)
        while tile < 4:
            if const_expr(how == 1):
                state = consuming(2)
            for turn in cutlass.range(3, unroll=1):
                pipe.consumer_wait(state)
                for i in cutlass.range_constexpr(4):
                    taken[(4 * thread + i, 3 * tile + turn)] = data[(4 * thread + i, state.index)]
                arch.sync_warp()
                pipe.consumer_release(state)
                state.advance()
            tile += 1


@cute.kernel
def store_by_another(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Bulk stores: 1 another warp waits for them, 2 the wait stands before the commit."""
    thread, _, _ = arch.thread_idx()
    warp = arch.make_warp_uniform(arch.warp_idx())
    given, taken, data = rows(source), rows(target), buffer(WORDS)
    for turn in cutlass.range(TURNS, unroll=1):
        for i in cutlass.range_constexpr(4):
            data[4 * thread + i] = given[(4 * thread + i, turn)]
        arch.fence_proxy("async.shared", space="cta")
        arch.sync_threads()
        if thread == 0:
            cute.copy(cute.make_copy_atom(cpasync.CopyBulkS2GOp(), Int32), data, taken[(None, turn)])
            if const_expr(how == 2):
                arch.cp_async_bulk_wait_group(0, read=True)
            arch.cp_async_bulk_commit_group()
            if const_expr(how == 0):
                arch.cp_async_bulk_wait_group(0, read=True)
        if const_expr(how == 1):
            if warp == 1:
                arch.cp_async_bulk_wait_group(0, read=True)
        arch.sync_threads()


@cute.kernel
def part_of_a_block(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """1 a barrier under a bound inside a warp (a note: all lanes of the warp count), 2 a barrier of so many
    threads as are within it, rounded down."""
    thread, _, _ = arch.thread_idx()
    data = buffer(THREADS)
    if thread < 100:
        data[thread] = (source + thread).load()
        if const_expr(how == 1):
            arch.sync_threads()
        if const_expr(how == 2):
            arch.barrier(barrier_id=1, number_of_threads=96)
    if const_expr(how == 0):
        arch.sync_threads()
    if thread < 100:
        (target + thread).store(data[99 - thread])


@cute.kernel
def register_prefetch(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Two buffers, one barrier a turn: 1 the buffers never change, 2 the next is stored before the barrier,
    in the buffer that is read."""
    thread, _, _ = arch.thread_idx()
    given, taken, data = rows(source), rows(target), staged(buffer(2 * WORDS).iterator, 2)
    held = given[(thread, 0)]
    for turn in cutlass.range(TURNS, unroll=1):
        at = Int32(0) if const_expr(how == 1) else turn % 2
        data[(thread, at)] = held
        arch.sync_threads()
        if turn < TURNS - 1:
            held = given[(thread, turn + 1)]
            if const_expr(how == 2):
                data[(thread, at)] = held
        taken[(thread, turn)] = data[(THREADS - 1 - thread, at)]


@cute.kernel
def block_sum(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Sums of a warp to the block: 1 the next row's sums over those still read, 2 only a warp waits."""
    thread, _, _ = arch.thread_idx()
    warp = arch.make_warp_uniform(arch.warp_idx())
    given, taken, data = rows(source), rows(target), buffer(WARPS)
    for turn in cutlass.range(TURNS, unroll=1):
        value = arch.warp_reduction_sum(given[(thread, turn)])
        if thread % 32 == 0:
            data[warp] = value
        if const_expr(how == 2):
            arch.sync_warp()
        else:
            arch.sync_threads()
        total = Int32(0)
        for i in cutlass.range_constexpr(WARPS):
            total += data[i]
        taken[(thread, turn)] = total
        if const_expr(how != 1):
            arch.sync_threads()


@cute.kernel
def transposed(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """1 a barrier of a warp for a tile of the block, 2 the barrier stands before the writes."""
    thread, _, _ = arch.thread_idx()
    data = buffer(32 * 33)
    lane, row = thread % 32, thread // 32
    if const_expr(how == 2):
        arch.sync_threads()
    for i in cutlass.range_constexpr(32 // WARPS):
        data[33 * (row + WARPS * i) + lane] = (source + 32 * (row + WARPS * i) + lane).load()
    if const_expr(how == 0):
        arch.sync_threads()
    elif const_expr(how == 1):
        arch.sync_warp()
    for i in cutlass.range_constexpr(32 // WARPS):
        (target + 32 * (row + WARPS * i) + lane).store(data[33 * lane + row + WARPS * i])


@cute.kernel
def peeked(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Tokens of try_wait: 1 the last turn's token serves this one, 2 the token is of the stage before."""
    thread, _, _ = arch.thread_idx()
    warp = arch.make_warp_uniform(arch.warp_idx())
    given, taken, data = rows(source), rows(target), staged(buffer(2 * WORDS).iterator, 2)
    pipe = tma_pipeline(2, WARPS, 4 * WORDS)
    if warp == WARPS:
        state = producing(2)
        for turn in cutlass.range(TURNS, unroll=1):
            pipe.producer_acquire(state)
            with arch.elect_one():
                copy_in(given[(None, turn)], data[(None, state.index)], pipe.producer_get_barrier(state))
            pipe.producer_commit(state)
            state.advance()
        pipe.producer_tail(state)
    else:
        state = consuming(2)
        token = pipe.consumer_try_wait(state)
        for turn in cutlass.range(TURNS, unroll=1):
            pipe.consumer_wait(state, token)
            for i in cutlass.range_constexpr(4):
                taken[(4 * thread + i, turn)] = data[(4 * thread + i, state.index)]
            arch.sync_warp()
            if const_expr(how == 2):
                token = pipe.consumer_try_wait(state)
            pipe.consumer_release(state)
            state.advance()
            if const_expr(how == 0):
                if turn < TURNS - 1:
                    token = pipe.consumer_try_wait(state)


@cute.kernel
def two_rings(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Two loaders, rings of 2 and 3 stages: 1 one state serves both rings, 2 the second releases the
    first's stage."""
    thread, _, _ = arch.thread_idx()
    warp = arch.make_warp_uniform(arch.warp_idx())
    given, taken = rows(source), rows(target)
    a, b = staged(buffer(2 * WORDS).iterator, 2), staged(buffer(3 * WORDS).iterator, 3)
    first, second = tma_pipeline(2, WARPS, 4 * WORDS), tma_pipeline(3, WARPS, 4 * WORDS)
    if warp == WARPS:
        state = producing(2)
        for turn in cutlass.range(TURNS, unroll=1):
            first.producer_acquire(state)
            with arch.elect_one():
                copy_in(given[(None, turn)], a[(None, state.index)], first.producer_get_barrier(state))
            state.advance()
        first.producer_tail(state)
    elif warp == WARPS + 1:
        state = producing(3)
        for turn in cutlass.range(TURNS, unroll=1):
            second.producer_acquire(state)
            with arch.elect_one():
                copy_in(
                    given[(None, TURNS - 1 - turn)],
                    b[(None, state.index)],
                    second.producer_get_barrier(state),
                )
            state.advance()
        second.producer_tail(state)
    else:
        one, two = consuming(2), consuming(3)
        for turn in cutlass.range(TURNS, unroll=1):
            first.consumer_wait(one)
            other = one if const_expr(how == 1) else two
            second.consumer_wait(other)
            for i in cutlass.range_constexpr(4):
                at = 4 * thread + i
                taken[(at, turn)] = a[(at, one.index)] - b[(at, other.index)]
            arch.sync_warp()
            first.consumer_release(one)
            if const_expr(how == 2):
                second.consumer_release(one)
            else:
                second.consumer_release(other)
            one.advance()
            two.advance()


@cute.kernel
def late_init(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """1 the barrier stands before the initialisation, 2 every warp initialises it, without a barrier
    between."""
    thread, _, _ = arch.thread_idx()
    warp = arch.make_warp_uniform(arch.warp_idx())
    given, taken, data, bar = rows(source), rows(target), buffer(WORDS), barriers(1)
    if const_expr(how == 1):
        arch.sync_threads()
    if thread % 32 == 0 if const_expr(how == 2) else thread == 0:
        arch.mbarrier_init(bar, 1)
    arch.mbarrier_init_fence()
    if const_expr(how == 0):
        arch.sync_threads()
    if warp == 1:
        with arch.elect_one():
            arch.mbarrier_arrive_and_expect_tx(bar, 4 * WORDS)
            copy_in(given[(None, 0)], data, bar)
    arch.mbarrier_wait(bar, 0)
    for i in cutlass.range_constexpr(4):
        taken[(4 * thread + i, 0)] = data[4 * thread + i]


@cute.kernel
def cluster_signal(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Words put into the other block, then its mbarrier: 1 one lane signals for its block without a
    barrier, 2 no one waits until the other's mbarrier is there."""
    thread, _, _ = arch.thread_idx()
    rank = arch.block_idx_in_cluster()
    data, bar = buffer(THREADS), barriers(1)
    if thread == 0:
        arch.mbarrier_init(bar, 1 if const_expr(how == 1) else THREADS)
    arch.mbarrier_init_fence()
    if const_expr(how == 2):
        arch.sync_threads()
    else:
        arch.cluster_arrive()
        arch.cluster_wait()
    put(arch.map_dsmem_ptr(data.iterator + thread, 1 - rank), (source + THREADS * rank + thread).load())
    if const_expr(how == 1):
        if thread == 0:
            arch.mbarrier_arrive(bar, 1 - rank)
    else:
        arch.mbarrier_arrive(bar, 1 - rank)
    arch.mbarrier_wait(bar, 0)
    (target + THREADS * rank + thread).store(data[THREADS - 1 - thread])
    arch.cluster_arrive()
    arch.cluster_wait()


@cute.jit
def run(source: cute.Pointer, target: cute.Pointer, name: Constexpr, how: Constexpr):
    _, threads, blocks = TOLD[name]
    if const_expr(name == "wgmma_stage"):
        major = cute.nvgpu.OperandMajorMode.K
        mma = hopper_helpers.make_trivial_tiled_mma(
            BFloat16, BFloat16, major, major, Float32, (1, 1, 1), (64, 64)
        )
        shape = (64, 64, 64)
        a = hopper_helpers.make_smem_layout_a(LayoutEnum.ROW_MAJOR, shape, BFloat16, 1)
        b = hopper_helpers.make_smem_layout_b(LayoutEnum.ROW_MAJOR, shape, BFloat16, 1)
        made = wgmma_stage(source, target, mma, a, b, how)
    else:
        made = globals()[name](source, target, how)
    made.launch(grid=(blocks, 1, 1), block=(threads, 1, 1), cluster=(blocks, 1, 1))


if __name__ == "__main__":
    program(run, {name: len(told[0]) + 1 for name, told in TOLD.items()})
