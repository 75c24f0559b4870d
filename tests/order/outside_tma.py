"""Kernels of TMA, bulk copies and wgmma, in shapes that users give them: `how` 0 right, 1, 2, ... broken.
`TOLD` says what each broken variant is told, with words of its two lines.

    python -m tests.order.outside_tma [NAME ...]         # compile every variant
    python -m tests.order.outside_tma NAME HOW           # run one: needs a GPU, fails where a result is wrong
"""

# ruff: noqa: SIM102, SIM114 - what is known while tracing stands apart from what a run decides

from __future__ import annotations

import cutlass
import cutlass.cute as cute
from cutlass import BFloat16, Constexpr, Float32, Int32, const_expr, pipeline
from cutlass.cute.nvgpu import cpasync, warpgroup
from cutlass.memory import SmemAllocator
from cutlass.utils import LayoutEnum, hopper_helpers

from tests.order.fresh import consuming, group, producing, tma_pipeline
from tests.order.kernels import barriers, buffer
from tests.order.pipelines import TURNS, copy_in, rows, staged
from tests.order.reported import THREADS, WORDS, program

arch = cute.arch
WARPS = THREADS // 32
TILE = (32, 16)
# kernel -> (code, words of the first line, of the second) of each variant from 1 on, threads, blocks
TOLD = {
    "tensor_ring": ((("LC501", "# loaded", "# used"), ("LC510", "mbarrier_wait(full", "# free"),
            ("LC507", "# announced", "")),
                    THREADS + 32, 1),
    "multicast": ((("LC503", "# used", "# to both"), ("LC510", "mbarrier_wait(full", "")), THREADS + 32, 2),
    "gemm": ((("LC502", "# product", "# of A"), ("LC502", "# product", "# of A"),
            ("LC501", "# of A", "# product")),
             THREADS + 32, 1),
    "tensor_store": ((("LC505", "# put", "# out"), ("LC502", "# out", "# put"), ("LC502", "# out", "# put")),
                     THREADS, 1),
    "relay": ((("LC502", "# out", "# filled"), ("LC505", "# filled", "# out"),
            ("LC504", "# filled", "# out")),
              THREADS + 32, 1),
    "in_place": ((("LC505", "# changed", "# out"), ("LC502", "# out", "# in"),
            ("LC504", "# changed", "# out")),
                 THREADS, 1),
    "shared_operand": ((("LC503", "# read", "# loaded"), ("LC503", "# read", "# loaded")),
            2 * THREADS + 32, 1),
    "query_first": ((("LC501", "# query", "# all"), ("LC501", "# values", "# all")), THREADS + 32, 1),
    "last_tile": ((("LC507", "# announced", ""), ("LC507", "# announced", "")), THREADS + 32, 1),
    "gone_peer": ((("LC513", "# to the peer", ""), ("LC506", "", "# to the peer")), THREADS, 2),
    "workspace_again": ((("LC501", "# away", "# back"), ("LC501", "# back", "# seen")), THREADS, 1),
    "mixed_arrivals": ((("LC504", "# scale", "# product"),
            ("LC508", "mbarrier_init(full", "mbarrier_arrive(full")), THREADS + 32, 1),
    "sums_by_store": ((("LC505", "# row", "# added"), ("LC502", "# added", "# row")), THREADS, 1),
    "tiles_handed_out": ((("LC504", "# taken", "# number"), ("LC504", "# number", "# taken")),
            THREADS + 32, 1),
}  # fmt: skip


@cute.jit
def parts(atom: cute.CopyAtom, tensor: cute.Tensor, data: cute.Tensor):
    """What TMA copies: (in shared memory, in global memory), by stage and by turn."""
    tiled = cute.local_tile(tensor, TILE, (0, None))
    return cpasync.tma_partition(
        atom, 0, cute.make_layout(1), cute.group_modes(data, 0, 2), cute.group_modes(tiled, 0, 2)
    )


def stages_of(count):
    layout = cute.make_layout((*TILE, count), stride=(1, TILE[0], WORDS))
    return SmemAllocator().allocate_tensor(Int32, layout, byte_alignment=128)


@cute.jit
def ready(full, empty, stages: Constexpr, fulls: Constexpr, empties: Constexpr):
    """Initialises the mbarriers of a ring, for the block."""
    thread, _, _ = arch.thread_idx()
    if thread == 0:
        for i in cutlass.range_constexpr(stages):
            arch.mbarrier_init(full + i, fulls)
            arch.mbarrier_init(empty + i, empties)
    arch.mbarrier_init_fence()
    arch.sync_threads()


@cute.kernel
def tensor_ring(atom: cute.CopyAtom, tensor: cute.Tensor, target: cute.Pointer, how: Constexpr):
    """A ring of three by hand: 1 the reader's phase turns one stage early, 2 the loader's begins with 0,
    3 bytes of a tile of 64 bits."""
    thread, _, _ = arch.thread_idx()
    warp = arch.make_warp_uniform(arch.warp_idx())
    data, taken, full = stages_of(3), rows(target), barriers(6)
    empty = full + 3
    ready(full, empty, 3, 1, WARPS)
    there, here = parts(atom, tensor, data)
    stage = Int32(0)
    if warp == WARPS:
        phase = Int32(0 if const_expr(how == 2) else 1)
        for turn in cutlass.range(TURNS, unroll=1):
            arch.mbarrier_wait(empty + stage, phase)  # free
            with arch.elect_one():
                arch.mbarrier_arrive_and_expect_tx(full + stage, (8 if how == 3 else 4) * WORDS)  # announced
            cute.copy(atom, here[None, turn], there[None, stage], tma_bar_ptr=full + stage)  # loaded
            stage += 1
            if stage == 3:
                stage = Int32(0)
                phase ^= 1
    else:
        phase = Int32(0)
        for turn in cutlass.range(TURNS, unroll=1):
            arch.mbarrier_wait(full + stage, phase)
            for i in cutlass.range_constexpr(4):
                taken[(4 * thread + i, turn)] = data[(thread % 8 * 4 + i, thread // 8, stage)]  # used
            arch.sync_warp()
            with arch.elect_one():
                arch.mbarrier_arrive(empty + stage)
            if const_expr(how == 1):
                if stage == 1:
                    phase ^= 1
            stage += 1
            if stage == 3:
                stage = Int32(0)
                if const_expr(how != 1):
                    phase ^= 1


@cute.kernel
def multicast(atom: cute.CopyAtom, tensor: cute.Tensor, target: cute.Pointer, how: Constexpr):
    """Block 0 loads for both: 1 it waits for its own readers alone, 2 the peer announces nothing."""
    thread, _, _ = arch.thread_idx()
    warp, rank = arch.make_warp_uniform(arch.warp_idx()), arch.block_idx_in_cluster()
    data, taken, full = stages_of(2), rows(target), barriers(4)
    empty = full + 2
    ready(full, empty, 2, 1, WARPS if how == 1 else 2 * WARPS)
    arch.cluster_arrive()
    arch.cluster_wait()
    there, here = parts(atom, tensor, data)
    if warp == WARPS:
        for turn in cutlass.range(TURNS, unroll=1):
            stage = turn % 2
            if const_expr(how != 2) or rank == 0:
                if const_expr(how == 1):
                    arch.mbarrier_wait(empty + stage, turn // 2 % 2 ^ 1)
                elif rank == 0:
                    arch.mbarrier_wait(empty + stage, turn // 2 % 2 ^ 1)
                elif turn > 1:
                    arch.mbarrier_wait(full + stage, turn // 2 % 2 ^ 1)
                with arch.elect_one():
                    arch.mbarrier_arrive_and_expect_tx(full + stage, 4 * WORDS)
            if rank == 0:
                bar, mask = full + stage, cutlass.Int16(3)
                tile = here[None, turn]
                cute.copy(atom, tile, there[None, stage], tma_bar_ptr=bar, mcast_mask=mask)  # to both
    else:
        for turn in cutlass.range(TURNS, unroll=1):
            stage = turn % 2
            arch.mbarrier_wait(full + stage, turn // 2 % 2)
            value = data[(thread % 32, thread // 32, stage)]  # used
            taken[(rank * THREADS + thread, turn)] = value
            arch.sync_warp()
            with arch.elect_one():
                if const_expr(how == 1):
                    arch.mbarrier_arrive(empty + stage)
                else:
                    arch.mbarrier_arrive(empty + stage, 0)
    arch.cluster_arrive()
    arch.cluster_wait()


@cute.kernel
def gemm(atom_a: cute.CopyAtom, ta: cute.Tensor, atom_b: cute.CopyAtom, tb: cute.Tensor, target: cute.Pointer,
         mma: cute.TiledMma, la: cute.ComposedLayout, lb: cute.ComposedLayout, how: Constexpr):  # fmt: skip
    """A main loop with one product in flight: 1 the stage of that one is released, 2 nothing is waited for
    before the release, 3 nothing is waited for before the product."""
    thread, _, _ = arch.thread_idx()
    warp = arch.make_warp_uniform(arch.warp_idx())
    allocator = SmemAllocator()
    a = allocator.allocate_tensor(BFloat16, la.outer, byte_alignment=1024, swizzle=la.inner)
    b = allocator.allocate_tensor(BFloat16, lb.outer, byte_alignment=1024, swizzle=lb.inner)
    pipe = tma_pipeline(3, WARPS, 2 * 64 * 64 * 2)
    one = cute.make_layout(1)
    tiles_a, tiles_b = cute.local_tile(ta, (64, 64), (0, None)), cute.local_tile(tb, (64, 64), (0, None))
    sa, ga = cpasync.tma_partition(atom_a, 0, one, cute.group_modes(a, 0, 2), cute.group_modes(tiles_a, 0, 2))
    sb, gb = cpasync.tma_partition(atom_b, 0, one, cute.group_modes(b, 0, 2), cute.group_modes(tiles_b, 0, 2))
    if warp == WARPS:
        state = producing(3)
        for turn in cutlass.range(6, unroll=1):
            pipe.producer_acquire(state)
            bar = pipe.producer_get_barrier(state)
            cute.copy(atom_a, ga[None, turn], sa[None, state.index], tma_bar_ptr=bar)  # of A
            cute.copy(atom_b, gb[None, turn], sb[None, state.index], tma_bar_ptr=bar)
            pipe.producer_commit(state)
            state.advance()
        pipe.producer_tail(state)
    else:
        slices = mma.get_slice(thread)
        ra = mma.make_fragment_A(mma.get_slice(0).partition_A(a))
        rb = mma.make_fragment_B(mma.get_slice(0).partition_B(b))
        out = cute.make_tensor(target, cute.make_layout((64, 64), stride=(64, 1)))
        mine = slices.partition_C(out)
        sums = cute.make_rmem_tensor(mine.shape, Float32)
        sums.fill(0.0)
        mma.set(warpgroup.Field.ACCUMULATE, True)
        state, behind = consuming(3), consuming(3)
        for turn in cutlass.range(6, unroll=1):
            if const_expr(how != 3):
                pipe.consumer_wait(state)
            warpgroup.fence()
            for k in cutlass.range_constexpr(cute.size(ra, mode=[2])):
                at = (None, None, k, state.index)
                cute.gemm(mma, sums, ra[at], rb[at], sums)  # product
            warpgroup.commit_group()
            if const_expr(how != 2):
                warpgroup.wait_group(1)
            if const_expr(how in (1, 2)):
                pipe.consumer_release(state)
            elif turn > 0:
                pipe.consumer_release(behind)
                behind.advance()
            state.advance()
        warpgroup.wait_group(0)
        if const_expr(how not in (1, 2)):
            pipe.consumer_release(behind)
        for i in cutlass.range_constexpr(cute.size(sums)):
            mine[i] = sums[i].to(Int32)


@cute.kernel
def tensor_store(atom: cute.CopyAtom, tensor: cute.Tensor, source: cute.Pointer, how: Constexpr):
    """Tiles go out by TMA from two buffers: 1 no proxy fence, 2 no barrier behind the wait, 3 the wait leaves
    one store more."""
    thread, _, _ = arch.thread_idx()
    warp = arch.make_warp_uniform(arch.warp_idx())
    data, given = stages_of(2), rows(source)
    here, there = parts(atom, tensor, data)
    for turn in cutlass.range(TURNS, unroll=1):
        if warp == 0:
            arch.cp_async_bulk_wait_group(2 if const_expr(how == 3) else 1, read=True)
        if const_expr(how != 2):
            arch.sync_threads()
        for i in cutlass.range_constexpr(4):
            data[(thread % 8 * 4 + i, thread // 8, turn % 2)] = given[(4 * thread + i, turn)]  # put
        if const_expr(how != 1):
            arch.fence_view_async_shared()
        arch.sync_threads()
        if warp == 0:
            cute.copy(atom, here[None, turn % 2], there[None, turn])  # out
            arch.cp_async_bulk_commit_group()
    if warp == 0:
        arch.cp_async_bulk_wait_group(0, read=True)


@cute.kernel
def relay(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Threads fill stages, a warp stores them in bulk: 1 it releases a stage before the store has read it,
    2 none of them has a proxy fence, 3 it does not wait for them."""
    thread, _, _ = arch.thread_idx()
    warp = arch.make_warp_uniform(arch.warp_idx())
    given, taken, data = rows(source), rows(target), staged(buffer(2 * WORDS).iterator, 2)
    pipe = pipeline.PipelineAsync.create(
        num_stages=2, producer_group=group(THREADS), consumer_group=group(32), barrier_storage=barriers(4)
    )
    if warp < WARPS:
        state = producing(2)
        for turn in cutlass.range(TURNS, unroll=1):
            pipe.producer_acquire(state)
            for i in cutlass.range_constexpr(4):
                data[(4 * thread + i, state.index)] = given[(4 * thread + i, turn)]  # filled
            if const_expr(how != 2):
                arch.fence_view_async_shared()
            pipe.producer_commit(state)
            state.advance()
    else:
        state = consuming(2)
        for turn in cutlass.range(TURNS, unroll=1):
            if const_expr(how != 3):
                pipe.consumer_wait(state)
            with arch.elect_one():
                bulk = cute.make_copy_atom(cpasync.CopyBulkS2GOp(), Int32)
                cute.copy(bulk, data[(None, state.index)], taken[(None, turn)])  # out
            arch.cp_async_bulk_commit_group()
            arch.cp_async_bulk_wait_group(1 if const_expr(how == 1) else 0, read=True)
            arch.sync_warp()
            pipe.consumer_release(state)
            state.advance()
        arch.cp_async_bulk_wait_group(0, read=True)


@cute.kernel
def in_place(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Loaded, changed in place, stored, loaded again: 1 no proxy fence, 2 the next load does not wait for the
    store, 3 the store does not wait for all."""
    thread, _, _ = arch.thread_idx()
    given, taken, data, bar = rows(source), rows(target), buffer(WORDS), barriers(1)
    ready(bar, barriers(1), 1, 1, 1)
    for turn in cutlass.range(TURNS, unroll=1):
        if thread == 0:
            arch.mbarrier_arrive_and_expect_tx(bar, 4 * WORDS)
            copy_in(given[(None, turn)], data, bar)  # in
        arch.mbarrier_wait(bar, turn % 2)
        for i in cutlass.range_constexpr(4):
            data[4 * thread + i] = data[4 * thread + i] * 2  # changed
        if const_expr(how != 1):
            arch.fence_view_async_shared()
        if const_expr(how != 3):
            arch.sync_threads()
        if thread == 0:
            cute.copy(cute.make_copy_atom(cpasync.CopyBulkS2GOp(), Int32), data, taken[(None, turn)])  # out
            arch.cp_async_bulk_commit_group()
            if const_expr(how != 2):
                arch.cp_async_bulk_wait_group(0, read=True)
    if thread == 0:
        arch.cp_async_bulk_wait_group(0, read=True)


@cute.kernel
def shared_operand(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Two warpgroups read each stage: 1 only one of them releases it, 2 both do, and one is counted."""
    thread, _, _ = arch.thread_idx()
    warp = arch.make_warp_uniform(arch.warp_idx())
    given, taken, data = rows(source), rows(target), staged(buffer(3 * WORDS).iterator, 3)
    pipe = tma_pipeline(3, 2 * WARPS if how == 0 else WARPS, 4 * WORDS)
    if warp == 2 * WARPS:
        state = producing(3)
        for turn in cutlass.range(TURNS, unroll=1):
            pipe.producer_acquire(state)
            with arch.elect_one():
                bar = pipe.producer_get_barrier(state)
                copy_in(given[(None, turn)], data[(None, state.index)], bar)  # loaded
            pipe.producer_commit(state)
            state.advance()
        pipe.producer_tail(state)
    else:
        state = consuming(3)
        for turn in cutlass.range(TURNS, unroll=1):
            pipe.consumer_wait(state)
            for i in cutlass.range_constexpr(2):
                taken[(2 * thread + i, turn)] = data[(2 * thread + i, state.index)]  # read
            arch.sync_warp()
            if const_expr(how != 1) or warp < WARPS:
                pipe.consumer_release(state)
            state.advance()


@cute.kernel
def query_first(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """One query, pipelines of keys and of values: 1 the query is not waited for, 2 the values are waited for
    with the state of the keys, which is one ahead."""
    thread, _, _ = arch.thread_idx()
    warp = arch.make_warp_uniform(arch.warp_idx())
    given, taken, query, bar = rows(source), rows(target), buffer(WORDS), barriers(2)
    k, v = staged(buffer(2 * WORDS).iterator, 2), staged(buffer(2 * WORDS).iterator, 2)
    ready(bar, bar + 1, 1, 1, 1)
    keys, values = tma_pipeline(2, WARPS, 4 * WORDS), tma_pipeline(2, WARPS, 4 * WORDS)
    if warp == WARPS:
        with arch.elect_one():
            arch.mbarrier_arrive_and_expect_tx(bar, 4 * WORDS)
            copy_in(given[(None, 0)], query, bar)  # query
        state = producing(2)
        for turn in cutlass.range(TURNS, unroll=1):
            keys.producer_acquire(state)
            with arch.elect_one():
                copy_in(given[(None, turn)], k[(None, state.index)], keys.producer_get_barrier(state))  # keys
            values.producer_acquire(state)
            with arch.elect_one():
                of_value = values.producer_get_barrier(state)
                copy_in(given[(None, turn)], v[(None, state.index)], of_value)  # values
            state.advance()
        keys.producer_tail(state.clone())
        values.producer_tail(state)
    else:
        if const_expr(how != 1):
            arch.mbarrier_wait(bar, 0)
        of_keys, of_values = consuming(2), consuming(2)
        for turn in cutlass.range(TURNS, unroll=1):
            keys.consumer_wait(of_keys)
            score = k[(thread, of_keys.index)] * query[thread + 64]  # all, scores
            arch.sync_warp()
            keys.consumer_release(of_keys)
            if const_expr(how == 2):
                values.consumer_wait(of_keys)
            of_keys.advance()
            at = of_keys.index if const_expr(how == 2) else of_values.index
            if const_expr(how != 2):
                values.consumer_wait(of_values)
            taken[(thread, turn)] = score + v[(thread + 128, at)]  # all, values
            arch.sync_warp()
            values.consumer_release(of_values)
            of_values.advance()


@cute.kernel
def last_tile(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """The last tile is half a tile: 1 a whole one is announced, 2 half of one is announced always."""
    thread, _, _ = arch.thread_idx()
    warp = arch.make_warp_uniform(arch.warp_idx())
    given, taken, data, full = rows(source), rows(target), staged(buffer(2 * WORDS).iterator, 2), barriers(4)
    empty = full + 2
    ready(full, empty, 2, 1, THREADS)
    half = cute.make_layout((WORDS // 2,))
    if warp == WARPS:
        for turn in cutlass.range(TURNS, unroll=1):
            stage = turn % 2
            arch.mbarrier_wait(empty + stage, turn // 2 % 2 ^ 1)
            with arch.elect_one():
                size = Int32(4 * WORDS) if turn < TURNS - 1 else Int32(2 * WORDS)
                if const_expr(how == 1):
                    size = Int32(4 * WORDS)
                elif const_expr(how == 2):
                    size = Int32(2 * WORDS)
                arch.mbarrier_arrive_and_expect_tx(full + stage, size)  # announced
                if turn < TURNS - 1:
                    copy_in(given[(None, turn)], data[(None, stage)], full + stage)
                else:
                    copy_in(
                        cute.make_tensor(given[(None, turn)].iterator, half),
                        cute.make_tensor(data[(None, stage)].iterator, half),
                        full + stage,
                    )
    else:
        for turn in cutlass.range(TURNS, unroll=1):
            stage = turn % 2
            arch.mbarrier_wait(full + stage, turn // 2 % 2)
            taken[(thread, turn)] = data[(thread, stage)]  # used
            arch.mbarrier_arrive(empty + stage)


@cute.kernel
def gone_peer(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Block 1 is signalled by block 0: 1 it leaves without waiting, 2 it is signalled before it is ready."""
    thread, _, _ = arch.thread_idx()
    rank, bar = arch.block_idx_in_cluster(), barriers(1)
    if thread == 0:
        arch.mbarrier_init(bar, THREADS)
    arch.mbarrier_init_fence()
    if const_expr(how == 2):
        arch.sync_threads()
    else:
        arch.cluster_arrive()
        arch.cluster_wait()
    if rank == 0:
        (target + thread).store((source + thread).load())
        arch.mbarrier_arrive(bar, 1)  # to the peer
    elif const_expr(how != 1):
        arch.mbarrier_wait(bar, 0)


@cute.kernel
def workspace_again(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Stored in bulk and loaded again by the same block: 1 the wait is for the reads alone, 2 the second load
    reuses the first one's phase."""
    thread, _, _ = arch.thread_idx()
    data, again, bar = buffer(WORDS), buffer(WORDS), barriers(1)
    taken = rows(target)
    ready(bar, barriers(1), 1, 1, 1)
    for turn in cutlass.range(2, unroll=1):
        for i in cutlass.range_constexpr(4):
            data[4 * thread + i] = (source + turn * WORDS + 4 * thread + i).load()
        arch.fence_view_async_shared()
        arch.sync_threads()
        if thread == 0:
            cute.copy(cute.make_copy_atom(cpasync.CopyBulkS2GOp(), Int32), data, taken[(None, turn)])  # away
            arch.cp_async_bulk_commit_group()
            arch.cp_async_bulk_wait_group(0, read=const_expr(how == 1))
            arch.mbarrier_arrive_and_expect_tx(bar, 4 * WORDS)
            copy_in(taken[(None, turn)], again, bar)  # back
        arch.mbarrier_wait(bar, 1 - turn if const_expr(how == 2) else turn)
        taken[(thread, turn + 2)] = again[WORDS - 1 - thread]  # seen
        arch.sync_threads()


@cute.kernel
def mixed_arrivals(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """One phase has bytes by bulk copy and words by a warp: 1 the warp arrives before it writes, 2 it is not
    counted."""
    thread, _, _ = arch.thread_idx()
    warp = arch.make_warp_uniform(arch.warp_idx())
    given, taken, full = rows(source), rows(target), barriers(4)
    data, scales, empty = staged(buffer(2 * WORDS).iterator, 2), buffer(64), full + 2
    ready(full, empty, 2, 1 if how == 2 else 33, THREADS)
    if warp == WARPS:
        for turn in cutlass.range(TURNS, unroll=1):
            stage = turn % 2
            arch.mbarrier_wait(empty + stage, turn // 2 % 2 ^ 1)
            with arch.elect_one():
                arch.mbarrier_arrive_and_expect_tx(full + stage, 4 * WORDS)
                copy_in(given[(None, turn)], data[(None, stage)], full + stage)
            if const_expr(how == 1):
                arch.mbarrier_arrive(full + stage)
            scales[32 * stage + thread % 32] = given[(thread % 32, turn)]  # scale
            if const_expr(how != 1):
                arch.mbarrier_arrive(full + stage)
    else:
        for turn in cutlass.range(TURNS, unroll=1):
            stage = turn % 2
            arch.mbarrier_wait(full + stage, turn // 2 % 2)
            taken[(thread, turn)] = data[(thread, stage)] * scales[32 * stage + thread % 32]  # product
            arch.mbarrier_arrive(empty + stage)


@cute.kernel
def sums_by_store(atom: cute.CopyAtom, tensor: cute.Tensor, source: cute.Pointer, how: Constexpr):
    """TMA adds tiles to global memory: 1 no proxy fence, 2 the next tile while it still reads."""
    thread, _, _ = arch.thread_idx()
    warp = arch.make_warp_uniform(arch.warp_idx())
    data, given = stages_of(1), rows(source)
    here, there = parts(atom, tensor, data)
    for turn in cutlass.range(4, unroll=1):
        for i in cutlass.range_constexpr(4):
            data[(thread % 8 * 4 + i, thread // 8, 0)] = given[(4 * thread + i, turn)]  # row
        if const_expr(how != 1):
            arch.fence_view_async_shared()
        arch.sync_threads()
        if warp == 0:
            cute.copy(atom, here[None, 0], there[None, 0])  # added
            arch.cp_async_bulk_commit_group()
            if const_expr(how != 2):
                arch.cp_async_bulk_wait_group(0, read=True)
        arch.sync_threads()
    if warp == 0:
        arch.cp_async_bulk_wait_group(0, read=True)


@cute.kernel
def tiles_handed_out(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """A warp hands out numbers of tiles by a pipeline of one word: 1 released before it is taken, 2 taken
    before it is waited for."""
    thread, _, _ = arch.thread_idx()
    warp = arch.make_warp_uniform(arch.warp_idx())
    given, taken, word = rows(source), rows(target), buffer(4)
    pipe = pipeline.PipelineAsync.create(
        num_stages=1, producer_group=group(32), consumer_group=group(THREADS), barrier_storage=barriers(2)
    )
    if warp == WARPS:
        state = producing(1)
        for turn in cutlass.range(TURNS, unroll=1):
            pipe.producer_acquire(state)
            if thread % 32 == 0:
                word[0] = TURNS - 1 - turn  # number
            arch.sync_warp()
            pipe.producer_commit(state)
            state.advance()
    else:
        state = consuming(1)
        for turn in cutlass.range(TURNS, unroll=1):
            tile = Int32(turn)
            if const_expr(how == 2):
                tile = word[0]  # taken
            pipe.consumer_wait(state)
            if const_expr(how == 1):
                pipe.consumer_release(state)
            if const_expr(how != 2):
                tile = word[0]  # taken
            if const_expr(how != 1):
                pipe.consumer_release(state)
            taken[(thread, turn)] = tile * given[(thread, turn)]
            state.advance()


@cute.jit
def run(source: cute.Pointer, target: cute.Pointer, name: Constexpr, how: Constexpr):
    _, threads, blocks = TOLD[name]
    tile = cute.make_layout(TILE, stride=(1, TILE[0]))
    turns = cute.make_layout((TILE[0], TILE[1] * TURNS), stride=(1, TILE[0]))
    if const_expr(name in ("tensor_ring", "multicast")):
        op = cpasync.CopyBulkTensorTileG2SOp() if blocks == 1 else cpasync.CopyBulkTensorTileG2SMulticastOp()
        atom, tensor = cpasync.make_tiled_tma_atom(op, cute.make_tensor(source, turns), tile, TILE)
        made = globals()[name](atom, tensor, target, how)
    elif const_expr(name in ("tensor_store", "sums_by_store")):
        op = (
            cpasync.CopyReduceBulkTensorTileS2GOp()
            if name == "sums_by_store"
            else cpasync.CopyBulkTensorTileS2GOp()
        )
        atom, tensor = cpasync.make_tiled_tma_atom(op, cute.make_tensor(target, turns), tile, TILE)
        made = globals()[name](atom, tensor, source, how)
    elif const_expr(name == "gemm"):
        major = cute.nvgpu.OperandMajorMode.K
        mma = hopper_helpers.make_trivial_tiled_mma(
            BFloat16, BFloat16, major, major, Float32, (1, 1, 1), (64, 64)
        )
        shape = (64, 64, 64)
        la = hopper_helpers.make_smem_layout_a(LayoutEnum.ROW_MAJOR, shape, BFloat16, 3)
        lb = hopper_helpers.make_smem_layout_b(LayoutEnum.ROW_MAJOR, shape, BFloat16, 3)
        words = cute.make_tensor(
            cute.recast_ptr(source, dtype=BFloat16), cute.make_layout((64, 64 * 6), stride=(64 * 6, 1))
        )
        load = cpasync.CopyBulkTensorTileG2SOp()
        atom_a, ta = cpasync.make_tiled_tma_atom(load, words, cute.slice_(la, (None, None, 0)), (64, 64))
        atom_b, tb = cpasync.make_tiled_tma_atom(load, words, cute.slice_(lb, (None, None, 0)), (64, 64))
        made = gemm(atom_a, ta, atom_b, tb, target, mma, la, lb, how)
    else:
        made = globals()[name](source, target, how)
    made.launch(grid=(blocks, 1, 1), block=(threads, 1, 1), cluster=(blocks, 1, 1))


if __name__ == "__main__":
    program(run, {name: len(told[0]) + 1 for name, told in TOLD.items()})
