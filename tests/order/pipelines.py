"""Pipelines of 1 to 7 stages, rings of stores, hand-overs and phases: `how` 0 right, 1, 2, ... broken.

`TOLD` says what each broken variant is told; nothing but synchronisation depends on `how`.

    python -m tests.order.pipelines [NAME ...]
"""

from __future__ import annotations

import cutlass
import cutlass.cute as cute
from cutlass import Constexpr, Int32, const_expr, pipeline
from cutlass._mlir.dialects import llvm
from cutlass.cute.nvgpu import cpasync
from cutlass.cutlass_dsl import dsl_user_op

from tests.order.kernels import barriers, buffer, cp
from tests.order.reported import THREADS, WORDS, load, program, quads, store

arch = cute.arch
TURNS = 12
STAGES = (1, 2, 3, 5, 7)
# kernel -> the codes of its variants from 1 on; its threads, and its blocks
TOLD = {
    **{f"stages_{n}": (("LC510", "LC503", "LC507", "LC508", "LC50[13]"), THREADS + 32, 1) for n in STAGES},
    "store_ring": (("LC502", "LC502", "LC502", "LC502"), THREADS, 1),
    "persistent": (("LC503", "LC508"), THREADS + 32, 1),
    "to_and_fro": (("LC510", "LC509", "LC509"), THREADS, 1),
    "tail_groups": (("LC501", "LC501", "LC501"), THREADS, 1),
    "initialised": (("LC506", "LC510"), THREADS, 1),
    "staged_epilogue": (("LC504", "LC502"), THREADS, 1),
    "one_lane": (("LC524", "LC524"), 64, 1),
    "cluster_ring": (("LC504", "LC504"), THREADS, 2),
}


@dsl_user_op
def put(pointer, value, *, loc=None, ip=None):
    """A store to the shared memory of another block."""
    llvm.store(Int32(value).ir_value(loc=loc, ip=ip), pointer.to_llvm_ptr(loc=loc, ip=ip), loc=loc, ip=ip)


def rows(pointer):
    """A row of words for each turn."""
    return cute.make_tensor(pointer, cute.make_layout((WORDS, TURNS), stride=(1, WORDS)))


def staged(pointer, stages):
    return cute.make_tensor(pointer, cute.make_layout((WORDS, stages), stride=(1, WORDS)))


def copy_in(source, data, bar):
    cute.copy(cute.make_copy_atom(cpasync.CopyBulkG2SOp(), Int32), source, data, mbar_ptr=bar)


@cute.kernel
def stages(source: cute.Pointer, target: cute.Pointer, count: Constexpr, how: Constexpr):
    """1 no release, 2 released before the read, 3 turn 5 not copied, 4 no acquire, 5 no wait in turn 7."""
    thread, _, _ = arch.thread_idx()
    warp = arch.make_warp_uniform(arch.warp_idx())
    given, taken = rows(source), rows(target)
    data = staged(buffer(WORDS * count).iterator, count)
    pipe = pipeline.PipelineTmaAsync.create(
        num_stages=count, producer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread),
        consumer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread, THREADS // 32), tx_count=4 * WORDS,
        barrier_storage=barriers(2 * count), cta_layout_vmnk=cute.make_layout((1, 1, 1, 1)),
    )  # fmt: skip
    if warp == THREADS // 32:
        state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, count)
        for turn in cutlass.range(TURNS, unroll=1):
            bar = pipe.producer_get_barrier(state)
            if const_expr(how != 4):
                pipe.producer_acquire(state)
            else:
                with arch.elect_one():
                    arch.mbarrier_arrive_and_expect_tx(bar, 4 * WORDS)
            if const_expr(how != 3) or turn != 5:
                with arch.elect_one():
                    copy_in(given[(None, turn)], data[(None, state.index)], bar)
            pipe.producer_commit(state)
            state.advance()
        pipe.producer_tail(state)
    else:
        state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, count)
        for turn in cutlass.range(TURNS, unroll=1):
            if const_expr(how != 5) or turn != 7:
                pipe.consumer_wait(state)
            if const_expr(how == 2):
                pipe.consumer_release(state)
            for i in cutlass.range_constexpr(4):
                taken[(4 * thread + i, turn)] = data[(4 * thread + i, state.index)]
            arch.sync_warp()
            if const_expr(how not in (1, 2)):
                pipe.consumer_release(state)
            state.advance()


@cute.kernel
def store_ring(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """1 no wait before the reuse, 2 it leaves one group more, 3 no barrier behind it, 4 no commit."""
    thread, _, _ = arch.thread_idx()
    warp = arch.make_warp_uniform(arch.warp_idx())
    given, taken, data = rows(source), rows(target), staged(buffer(2 * WORDS).iterator, 2)
    for turn in cutlass.range(TURNS, unroll=1):
        if warp == 0:
            if const_expr(how == 2):
                arch.cp_async_bulk_wait_group(2, read=True)
            elif const_expr(how != 1):
                arch.cp_async_bulk_wait_group(1, read=True)
        if const_expr(how != 3):
            arch.barrier(barrier_id=1, number_of_threads=THREADS)
        for i in cutlass.range_constexpr(4):
            data[(4 * thread + i, turn % 2)] = given[(4 * thread + i, turn)]
        arch.fence_proxy("async.shared", space="cta")
        arch.barrier(barrier_id=2, number_of_threads=THREADS)
        if warp == 0:
            with arch.elect_one():
                bulk = cute.make_copy_atom(cpasync.CopyBulkS2GOp(), Int32)
                cute.copy(bulk, data[(None, turn % 2)], taken[(None, turn)])
            if const_expr(how != 4):
                arch.cp_async_bulk_commit_group()
    if warp == 0:
        if const_expr(how == 4):
            arch.cp_async_bulk_commit_group()
        arch.cp_async_bulk_wait_group(0, read=True)


@cute.kernel
def persistent(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Tiles of 3 turns, one buffer: 1 the reader's phase begins anew with each tile, 2 the loader's does."""
    thread, _, _ = arch.thread_idx()
    warp = arch.make_warp_uniform(arch.warp_idx())
    given, taken, data = rows(source), rows(target), staged(buffer(WORDS).iterator, 1)
    full = barriers(2)
    empty = full + 1
    if thread == 0:
        arch.mbarrier_init(full, 1)
        arch.mbarrier_init(empty, THREADS // 32)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    if warp == THREADS // 32:
        phase = Int32(1)
        for tile in cutlass.range(4, unroll=1):
            if const_expr(how == 2):
                phase = Int32(1)
            for turn in cutlass.range(3, unroll=1):
                arch.mbarrier_wait(empty, phase)
                phase ^= 1
                with arch.elect_one():
                    arch.mbarrier_arrive_and_expect_tx(full, 4 * WORDS)
                    copy_in(given[(None, 3 * tile + turn)], data[(None, 0)], full)
    else:
        phase = Int32(0)
        for tile in cutlass.range(4, unroll=1):
            if const_expr(how == 1):
                phase = Int32(0)
            for turn in cutlass.range(3, unroll=1):
                arch.mbarrier_wait(full, phase)
                phase ^= 1
                for i in cutlass.range_constexpr(4):
                    taken[(4 * thread + i, 3 * tile + turn)] = data[(4 * thread + i, 0)]
                arch.sync_warp()
                with arch.elect_one():
                    arch.mbarrier_arrive(empty)


@cute.kernel
def to_and_fro(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Two groups of two warps: 1 both wait first, 2 one number both ways, 3 nobody says that it has read."""
    thread, _, _ = arch.thread_idx()
    warp = arch.make_warp_uniform(arch.warp_idx())
    given, taken, data = rows(source), rows(target), buffer(64)
    ready = const_expr(1 if how == 2 else 2)
    if warp < 2:
        for turn in cutlass.range(TURNS, unroll=1):
            if const_expr(how != 3):
                arch.barrier(barrier_id=1, number_of_threads=THREADS)
            data[thread] = given[(thread, turn)]
            if const_expr(how == 1):
                arch.barrier(barrier_id=ready, number_of_threads=THREADS)
            else:
                arch.barrier_arrive(barrier_id=ready, number_of_threads=THREADS)
    else:
        if const_expr(how == 1):
            arch.barrier(barrier_id=ready, number_of_threads=THREADS)
        if const_expr(how != 3):
            arch.barrier_arrive(barrier_id=1, number_of_threads=THREADS)
        for turn in cutlass.range(TURNS, unroll=1):
            arch.barrier(barrier_id=ready, number_of_threads=THREADS)
            taken[(thread, turn)] = data[127 - thread]
            if const_expr(how != 3) and turn < TURNS - 1:
                arch.barrier_arrive(barrier_id=1, number_of_threads=THREADS)


@cute.kernel
def tail_groups(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """cp.async of 3 stages: 1 no empty groups in the tail, 2 two first copies in one group, 3 no wait."""
    thread, _, _ = arch.thread_idx()
    given, taken, data = quads(source, TURNS), rows(target), buffer(3 * WORDS)
    mine = quads(data.iterator, 3)
    for turn in cutlass.range_constexpr(2):
        cute.copy(cp(), given[thread, None, turn], mine[thread, None, turn])
        if const_expr(how != 2 or turn == 1):
            arch.cp_async_commit_group()
    for turn in cutlass.range(TURNS, unroll=1):
        if const_expr(how != 3):
            arch.cp_async_wait_group(1)
        arch.sync_threads()
        if turn + 2 < TURNS:
            cute.copy(cp(), given[thread, None, turn + 2], mine[thread, None, (turn + 2) % 3])
            if const_expr(how == 1):
                arch.cp_async_commit_group()
        if const_expr(how != 1):
            arch.cp_async_commit_group()
        for i in cutlass.range_constexpr(4):
            taken[(4 * thread + i, turn)] = data[(4 * thread + i + 64) % WORDS + WORDS * (turn % 3)]


@cute.kernel
def initialised(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """1 only the warp that initialises synchronises, 2 it counts threads, and one lane a warp arrives."""
    thread, _, _ = arch.thread_idx()
    bar, data = barriers(1), buffer(THREADS)
    if thread == 0:
        arch.mbarrier_init(bar, THREADS if const_expr(how == 2) else THREADS // 32)
    arch.mbarrier_init_fence()
    if const_expr(how == 1):
        arch.sync_warp()
    else:
        arch.sync_threads()
    data[thread] = (source + thread).load()
    arch.sync_warp()
    with arch.elect_one():
        arch.mbarrier_arrive(bar)
    arch.mbarrier_wait(bar, 0)
    (target + thread).store(data[127 - thread])


@cute.kernel
def staged_epilogue(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """The operand's memory takes the result: 1 no barrier behind the reads, 2 the store is not waited for."""
    thread, _, _ = arch.thread_idx()
    warp = arch.make_warp_uniform(arch.warp_idx())
    given, taken, data, bar = rows(source), rows(target), buffer(WORDS), barriers(1)
    if thread == 0:
        arch.mbarrier_init(bar, 1)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    for turn in cutlass.range(TURNS, unroll=1):
        if warp == 0:
            with arch.elect_one():
                load(given[(None, turn)], data, bar)
        arch.mbarrier_wait(bar, turn % 2)
        value = data[(thread + 64) % THREADS]
        if const_expr(how != 1):
            arch.sync_threads()
        data[thread] = value + 1
        arch.fence_proxy("async.shared", space="cta")
        arch.sync_threads()
        if warp == 0:
            with arch.elect_one():
                store(data, taken[(None, turn)])
                if const_expr(how != 2):
                    arch.cp_async_bulk_wait_group(0, read=True)
        arch.sync_threads()
    if warp == 0:
        arch.cp_async_bulk_wait_group(0, read=True)


@cute.kernel
def one_lane(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """All lanes write and one arrives for them (NVIDIA/cudnn-frontend#426).

    1 without sync_warp, 2 with one that comes before the stores.
    """
    thread, _, _ = arch.thread_idx()
    warp = arch.make_warp_uniform(arch.warp_idx())
    given, taken, data, full = rows(source), rows(target), buffer(64), barriers(2)
    empty = full + 1
    if thread == 0:
        arch.mbarrier_init(full, 1)
        arch.mbarrier_init(empty, 1)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    for turn in cutlass.range(TURNS, unroll=1):
        if warp == 0:
            arch.mbarrier_wait(empty, (turn + 1) % 2)
            if const_expr(how == 2):
                arch.sync_warp()
            data[thread] = given[(thread, turn)]
            if const_expr(how == 0):
                arch.sync_warp()
            with arch.elect_one():
                arch.mbarrier_arrive(full)
        else:
            arch.mbarrier_wait(full, turn % 2)
            taken[(thread, turn)] = data[63 - thread]
            arch.sync_warp()
            with arch.elect_one():
                arch.mbarrier_arrive(empty)


@cute.kernel
def cluster_ring(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Each block writes into the next: 1 before that has cleared its memory, 2 and reads without a wait."""
    thread, _, _ = arch.thread_idx()
    data = buffer(THREADS)
    data[thread] = Int32(0)
    if const_expr(how != 1):
        arch.cluster_arrive()
        arch.cluster_wait()
    peer = arch.map_dsmem_ptr(data.iterator + thread, (arch.block_idx_in_cluster() + 1) % 2)
    put(peer, (source + thread).load())
    arch.cluster_arrive()
    if const_expr(how != 2):
        arch.cluster_wait()
    (target + thread).store(data[127 - thread])
    if const_expr(how == 2):
        arch.cluster_wait()


@cute.jit
def run(source: cute.Pointer, target: cute.Pointer, name: Constexpr, how: Constexpr):
    _, threads, blocks = TOLD[name]
    count = name.rpartition("_")[2]
    if const_expr(count.isdecimal()):
        made = stages(source, target, int(count), how)
    else:
        made = globals()[name](source, target, how)
    made.launch(grid=(blocks, 1, 1), block=(threads, 1, 1), cluster=(blocks, 1, 1))


if __name__ == "__main__":
    program(run, {name: len(told[0]) + 1 for name, told in TOLD.items()})
