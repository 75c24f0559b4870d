"""Small kernels for the check of order: each compiled right and with one synchronisation left out or wrong.

Run as a script: `python kernels.py [name ...]` compiles every variant of each kernel, 0 being right.
"""

from __future__ import annotations

import sys

import cutlass
import cutlass.cute as cute
from cutlass import BFloat16, Constexpr, Float32, Int32, Int64, const_expr
from cutlass._mlir.dialects import llvm, nvvm
from cutlass.cute.nvgpu import cpasync, warpgroup
from cutlass.cute.runtime import make_fake_tensor, make_ptr
from cutlass.cutlass_dsl import dsl_user_op
from cutlass.memory import SmemAllocator

arch = cute.arch
THREADS = 96
TILE = 1024


def buffer(count, dtype=Int32):
    return SmemAllocator().allocate_tensor(dtype, cute.make_layout((count,)), byte_alignment=128)


def barriers(count):
    return SmemAllocator().allocate_array(Int64, count)


@dsl_user_op
def put(pointer, value, *, loc=None, ip=None):
    """A store to the shared memory of another block."""
    llvm.store(Int32(value).ir_value(loc=loc, ip=ip), pointer.to_llvm_ptr(loc=loc, ip=ip), loc=loc, ip=ip)


@dsl_user_op
def send(pointer, value, bar, *, loc=None, ip=None):
    """st.async: to the shared memory of another block, completing on its mbarrier."""
    operands = [pointer.to_llvm_ptr(loc=loc, ip=ip), Int32(value).ir_value(loc=loc, ip=ip),
                bar.to_llvm_ptr(loc=loc, ip=ip)]  # fmt: skip
    text = "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [$0], $1, [$2];"
    llvm.inline_asm(None, operands, text, "r,r,r", has_side_effects=True,
                    asm_dialect=llvm.AsmDialect.AD_ATT, loc=loc, ip=ip)  # fmt: skip


def cp(dtype=Int32):
    return cute.make_copy_atom(cpasync.CopyG2SOp(), dtype, num_bits_per_copy=128)


def load():
    return cute.make_copy_atom(cpasync.CopyBulkG2SOp(), Int32)


@cute.kernel
def neighbours(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Every thread writes, and reads what the next warp wrote."""
    thread, _, _ = arch.thread_idx()
    data = buffer(THREADS)
    data[thread] = (source + thread).load() + 1
    if const_expr(how == 0):
        arch.sync_threads()
    if const_expr(how == 2) and thread < 64:
        arch.barrier(barrier_id=3, number_of_threads=64)
    (target + thread).store(data[(thread + 32) % THREADS])


@cute.kernel
def in_place(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Every thread overwrites what the next warp reads: 1 no barrier, 2 of another tensor, 3 with a fence."""
    thread, _, _ = arch.thread_idx()
    base = source if const_expr(how == 2) else target
    other = (base + (thread + 32) % THREADS).load()  # of the next warp
    if const_expr(how == 0):
        arch.sync_threads()
    if const_expr(how == 3):
        arch.fence_acq_rel_cta()
    (target + thread).store(other)  # over its own


@cute.kernel
def overlapped(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Two tensors behind each other; in each other (1); one tensor under shifted indices (2)."""
    thread, _, _ = arch.thread_idx()
    data = buffer(4 * THREADS)
    first = cute.make_tensor(data.iterator, cute.make_layout((2 * THREADS,)))
    apart = THREADS if const_expr(how == 1) else 2 * THREADS
    second = cute.make_tensor(data.iterator + apart, cute.make_layout((2 * THREADS,)))
    if const_expr(how == 2):
        second = first
    for i in cutlass.range(thread, 2 * THREADS, THREADS, unroll=1):
        first[i] = (source + i).load()  # the first
    if const_expr(how == 2):
        second[thread + THREADS] = (source + thread).load()
    else:
        for i in cutlass.range(thread, 2 * THREADS, THREADS, unroll=1):
            second[i] = (source + i).load() + 1  # the second
    for i in cutlass.range(thread, 2 * THREADS, THREADS, unroll=1):
        (target + i).store(first[i] + second[i])


@cute.kernel
def stages(source: cute.Tensor, target: cute.Pointer, how: Constexpr):
    """A ring of three stages filled by cp.async, read by the neighbours' threads."""
    thread, _, _ = arch.thread_idx()
    layout = cute.make_layout((THREADS, 4, 3), stride=(4, 1, 4 * THREADS))
    data = SmemAllocator().allocate_tensor(Int32, layout, byte_alignment=128)
    for ahead in cutlass.range_constexpr(2):
        cute.copy(cp(), source[(thread, None)], data[(thread, None, ahead)])
        arch.cp_async_commit_group()
    for turn in cutlass.range(7, unroll=1):
        arch.cp_async_wait_group(2 if const_expr(how == 1) else 1)
        if const_expr(how != 2):
            arch.sync_threads()
        (target + thread).store(data[((thread + 32) % THREADS, 1, turn % 3)])
        there = turn if const_expr(how == 3) else turn + 2
        cute.copy(cp(), source[(thread, None)], data[(thread, None, there % 3)])
        if const_expr(how != 4):
            arch.cp_async_commit_group()


@cute.kernel
def arrives(source: cute.Tensor, target: cute.Pointer, how: Constexpr):
    """cp.async arrives at an mbarrier, as one of its count (noinc: 0, 3) or not. 2: nothing else arrives.

    4: an ordinary arrival alone, which says nothing of the copies.
    """
    thread, _, _ = arch.thread_idx()
    data, bar = buffer(4 * THREADS), barriers(1)
    if thread == 0:
        arch.mbarrier_init(bar, THREADS)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    copied = cute.make_tensor(data.iterator, cute.make_layout((THREADS, 4), stride=(4, 1)))
    cute.copy(cp(), source[(thread, None)], copied[(thread, None)])
    if const_expr(how != 4):
        nvvm.cp_async_mbarrier_arrive(bar.to_llvm_ptr(), noinc=how in (0, 3))
    if const_expr(how in (1, 3, 4)):
        arch.mbarrier_arrive(bar)
    arch.mbarrier_wait(bar, 0)
    (target + thread).store(data[4 * (THREADS - 1 - thread)])


@cute.jit
def run_arrives(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    tile = cute.make_tensor(source, cute.make_layout((THREADS, 4), stride=(4, 1)))
    arrives(tile, target, how).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


@cute.kernel
def partial(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """A sum over the warps: 1 and 3 leave one out. 2 reads by lanes, 4 and 5 are exclusive scans.

    6 adds to its own.
    """
    thread, lane, warp = arch.thread_idx()[0], arch.lane_idx(), arch.warp_idx()
    data = buffer(THREADS // 32)
    found = arch.warp_redux_sync((source + thread).load(), kind="add")
    if lane == 0:
        data[warp] = found  # of a warp
    arch.sync_threads()
    total = Int32(0)
    if const_expr(how < 2):
        for i in cutlass.range_constexpr(THREADS // 32 - how):
            total += data[i]  # of all
    elif const_expr(how < 4):
        if lane < THREADS // 32 - how + 2:
            total = data[lane]  # by lanes
        total = arch.warp_redux_sync(total, kind="add")
    elif const_expr(how == 4):
        for i in cutlass.range(warp, unroll=1):
            total += data[i]
    elif const_expr(how == 5):
        for i in cutlass.range_constexpr(THREADS // 32 - 1):
            total += cutlass.select_(i < warp, data[i], Int32(0))
    else:
        if warp == 0:
            total = found + data[1] + data[2]
    (target + thread).store(total)


@cute.kernel
def parts(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Sums by a tree: 1 stops a step early, 2 stores sums where nothing reads, 3 leaves a warp's sums out.

    4 has them read by another block alone, of its own.
    """
    thread, _, _ = arch.thread_idx()
    data = buffer(2 * THREADS)
    total = Int32(0)
    for turn in cutlass.range(4, unroll=1):
        total += (source + turn * THREADS + thread).load()
    first = const_expr(THREADS if how == 2 else 0)
    data[thread + first] = total  # of a thread
    if const_expr(how == 2):
        data[thread] = Int32(0)
    arch.sync_threads()
    if const_expr(how == 3):
        if thread < 32:
            (target + thread).store(data[thread] + data[thread + 32])  # of all threads
    elif const_expr(how == 4):
        if arch.block_idx()[0] == 1:
            (target + thread).store(data[THREADS - 1 - thread])
    else:
        for step in cutlass.range_constexpr(4 if how == 1 else 5):
            half = const_expr(48 >> step)
            if thread < half:
                data[thread] = data[thread] + data[thread + half]  # of a step
            arch.sync_threads()
        if thread == 0:
            target.store(data[0] + data[1] + data[2] if const_expr(how != 1) else data[0])  # of all steps


@cute.jit
def run_parts(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    parts(source, target, how).launch(grid=(1 + how // 4, 1, 1), block=(THREADS, 1, 1))


@cute.kernel
def places(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Numbers to their places: 1 two warps have one place, 2 two blocks have, 3 all have the same number.

    4 two warps have one place and one number, which they sum in another order. 5: a loop's last turn does the
    last two elements, by all threads behind them. 6: what is behind the end goes to one place.
    """
    thread, block = arch.thread_idx()[0], arch.block_idx()[0]
    at = block * THREADS + thread
    total = Int32(0)
    arch.sync_threads()
    for turn in cutlass.range(4, unroll=1):
        own = Int32(0) if const_expr(how == 3) else at
        step = (turn + thread // 64) % 4 if const_expr(how == 4) else turn
        total += (source + step * 2 * THREADS + (thread % 64 if const_expr(how == 4) else own)).load()
    where = thread % 64 + block * THREADS if const_expr(how in (1, 3, 4)) else at
    if const_expr(how == 2):
        where = thread
    (target + where).store(total)  # to its place
    if const_expr(how == 5):
        for turn in cutlass.range(2, unroll=1):
            end = cutlass.min(turn * THREADS + thread, THREADS + thread % 2)
            (target + 2 * THREADS + end).store((source + end).load())
    if const_expr(how == 6):
        (target + 4 * THREADS + cutlass.min(at, 40)).store(total)


@cute.kernel
def settled(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Until a sum over the warps is small: 1 the next turn writes what this one reads, 2 for two turns."""
    thread, lane, warp = arch.thread_idx()[0], arch.lane_idx(), arch.warp_idx()
    data, value, total, turn = buffer(3), (source + thread).load(), Int32(1000), Int32(0)
    bars, most = barriers(2), const_expr(2 if how == 2 else 100)
    if const_expr(how == 2):
        if thread < 2:
            arch.mbarrier_init(bars + thread, THREADS)
        arch.mbarrier_init_fence()
        arch.sync_threads()
    while total > 3 and turn < most:
        part = value
        for step in cutlass.range_constexpr(5):
            part = part + arch.shuffle_sync_bfly(part, 16 >> step)
        if lane == 0:
            data[warp] = part  # a warp's
        arch.sync_threads()
        total = data[0] + data[1] + data[2]  # of all warps
        if const_expr(how == 0):
            arch.sync_threads()
        if const_expr(how == 2):
            arch.mbarrier_arrive(bars + turn)
            arch.mbarrier_wait(bars + turn, 0)
        value, turn = value // 2, turn + 1
    (target + thread).store(value)


@cute.jit
def run_settled(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    settled(source, target, how).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


@cute.jit
def run_places(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    places(source, target, how).launch(grid=(2, 1, 1), block=(THREADS, 1, 1))


@cute.kernel
def handed(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """A lane takes a tile from a counter and hands it to its warp by a shuffle: 1 the next warp's words are
    read, 2 a slot for two warps. In 3 it goes through shared memory, and is taken before all have read it."""
    thread, lane, warp = arch.thread_idx()[0], arch.lane_idx(), arch.warp_idx()
    data, word = buffer(THREADS), buffer(1)
    tile = Int32(0)
    while tile < 64:
        if const_expr(how == 3):
            if thread == 0:
                word[0] = arch.atomic_add(target, Int32(1), sem="relaxed", scope="gpu")  # taken
            arch.sync_threads()
            tile = word[0]  # seen
        else:
            number = Int32(0)
            if lane == 0:
                number = arch.atomic_add(target, Int32(1), sem="relaxed", scope="gpu")
            tile = arch.shuffle_sync(number, 0)
        if tile < 64:
            own = warp % 2 if const_expr(how == 2) else warp
            data[own * 32 + lane] = (source + tile * 32 + lane).load()  # filled
            arch.sync_warp()
            there = (warp + 1) % 3 if const_expr(how == 1) else own
            (target + tile * 32 + lane).store(data[there * 32 + 31 - lane])  # used
            arch.sync_warp()


@cute.jit
def run_handed(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    handed(source, target, how).launch(grid=(4, 1, 1), block=(THREADS, 1, 1))


@cute.jit
def run_partial(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    partial(source, target, how).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


@cute.kernel
def bulk(source: cute.Tensor, target: cute.Pointer, how: Constexpr):
    """One buffer loaded in bulk again and again, all threads reading."""
    thread, _, _ = arch.thread_idx()
    warp = arch.make_warp_uniform(arch.warp_idx())
    data = buffer(TILE)
    bar = barriers(1)
    if warp == 0:
        with arch.elect_one():
            arch.mbarrier_init(bar, 2 if const_expr(how == 5) else 1)
    arch.mbarrier_init_fence()
    if const_expr(how != 6):
        arch.sync_threads()
    for turn in cutlass.range(5, unroll=1):
        if warp == 0:
            with arch.elect_one():
                arch.mbarrier_arrive_and_expect_tx(bar, 4 * TILE + (16 if const_expr(how == 3) else 0))
                if const_expr(how < 7):
                    cute.copy(load(), source, data, mbar_ptr=bar)
            if const_expr(how == 7):
                cute.copy(load(), source, data, mbar_ptr=bar)
            elif const_expr(how == 8):
                with arch.elect_one(), arch.elect_one():  # again
                    cute.copy(load(), source, data, mbar_ptr=bar)
        if const_expr(how != 1):
            arch.mbarrier_wait(bar, 0 if const_expr(how == 2) else turn & 1)
        (target + thread).store(data[thread * 7])
        if const_expr(how != 4):
            arch.sync_threads()


@cute.kernel
def store(target: cute.Tensor, how: Constexpr):
    """A tile written by all threads and stored in bulk, again and again."""
    thread, _, _ = arch.thread_idx()
    warp = arch.make_warp_uniform(arch.warp_idx())
    data = buffer(TILE)
    for turn in cutlass.range(3, unroll=1):
        for i in cutlass.range(thread, TILE, THREADS, unroll=1):
            data[i] = turn
        if const_expr(how != 1):
            arch.fence_proxy("async.shared", space="cta")
        arch.sync_threads()
        if warp == 1:
            with arch.elect_one():
                cute.copy(cute.make_copy_atom(cpasync.CopyBulkS2GOp(), Int32), data, target)
                arch.cp_async_bulk_commit_group()
                if const_expr(how == 3):
                    if turn < 2:
                        arch.cp_async_bulk_wait_group(0, read=True)
                elif const_expr(how != 2):
                    arch.cp_async_bulk_wait_group(0, read=True)
        arch.sync_threads()
    if const_expr(how != 3) and warp == 1:
        arch.cp_async_bulk_wait_group(0, read=True)


@cute.kernel
def groups(target: cute.Pointer, how: Constexpr):
    """Two pairs of warps, each with a barrier of its own; and a producer that only arrives."""
    thread, _, _ = arch.thread_idx()
    data = buffer(128)
    if thread < 64:
        data[thread] = thread
        arch.barrier(barrier_id=1, number_of_threads=64)
        (target + thread).store(data[thread ^ 32])
    else:
        data[thread] = thread
        if const_expr(how == 1):
            arch.barrier(barrier_id=1, number_of_threads=64)
        elif const_expr(how == 2):
            arch.barrier(barrier_id=2, number_of_threads=96)
        else:
            arch.barrier(barrier_id=2, number_of_threads=64)
        (target + thread).store(data[thread ^ 32])


@cute.kernel
def multiply(target: cute.Pointer, mma: cute.TiledMma, la: cute.ComposedLayout, lb: cute.ComposedLayout,
             how: Constexpr):  # fmt: skip
    """Operands written by ordinary stores, multiplied, and overwritten."""
    thread, _, _ = arch.thread_idx()
    a = SmemAllocator().allocate_tensor(BFloat16, la.outer, byte_alignment=1024, swizzle=la.inner)
    b = SmemAllocator().allocate_tensor(BFloat16, lb.outer, byte_alignment=1024, swizzle=lb.inner)
    for i in cutlass.range(thread, 64 * 64, 128, unroll=1):
        a[(i // 64, i % 64, 0)] = BFloat16(1.0)
        b[(i // 64, i % 64, 0)] = BFloat16(1.0)
    if const_expr(how != 1):
        arch.fence_proxy("async.shared", space="cta")
    if const_expr(how != 2):
        arch.sync_threads()
    ra = mma.make_fragment_A(mma.get_slice(0).partition_A(a))
    rb = mma.make_fragment_B(mma.get_slice(0).partition_B(b))
    sums = cute.make_rmem_tensor(mma.partition_shape_C((64, 64)), Float32)
    mma.set(warpgroup.Field.ACCUMULATE, False)
    if const_expr(how != 4):
        warpgroup.fence()
    for k in cutlass.range_constexpr(4):
        cute.gemm(mma, sums, ra[(None, None, k, 0)], rb[(None, None, k, 0)], sums)
        mma.set(warpgroup.Field.ACCUMULATE, True)
    warpgroup.commit_group()
    if const_expr(how == 5):
        (target + thread).store(sums[1])
    if const_expr(how != 3):
        warpgroup.wait_group(0)
        arch.sync_threads()
    b[(thread % 64, thread // 64, 0)] = BFloat16(2.0)
    if const_expr(how == 3):
        warpgroup.wait_group(0)
    (target + thread).store(sums[0])


@cute.kernel
def workspace(work: cute.Tensor, target: cute.Pointer, how: Constexpr):
    """Ordinary stores to global memory, loaded in bulk by the same block."""
    thread, _, _ = arch.thread_idx()
    warp = arch.make_warp_uniform(arch.warp_idx())
    data, bar = buffer(TILE), barriers(1)
    if warp == 0:
        with arch.elect_one():
            arch.mbarrier_init(bar, 1)
    arch.mbarrier_init_fence()
    for i in cutlass.range(thread, TILE, THREADS, unroll=1):
        work[i] = thread
    if const_expr(how != 1):
        arch.fence_proxy("async.global")
    if const_expr(how != 2):
        arch.sync_threads()
    if warp == 0:
        with arch.elect_one():
            arch.mbarrier_arrive_and_expect_tx(bar, 4 * TILE)
            cute.copy(cute.make_copy_atom(cpasync.CopyBulkG2SOp(), Int32), work, data, mbar_ptr=bar)
    if const_expr(how == 2):
        arch.sync_threads()
    arch.mbarrier_wait(bar, 0)
    (target + thread).store(data[thread])


@cute.kernel
def peers(target: cute.Pointer, how: Constexpr):
    """Each block of a cluster writes to the other's shared memory."""
    thread, _, _ = arch.thread_idx()
    rank = arch.block_idx_in_cluster()
    data = buffer(THREADS)
    data[thread] = Int32(0)
    if const_expr(how != 1):
        arch.cluster_arrive()
        arch.cluster_wait()
    there = arch.map_dsmem_ptr(data.iterator, rank ^ 1)
    put(there + thread, rank)
    if const_expr(how != 2):
        arch.cluster_arrive()
        arch.cluster_wait()
    (target + thread).store(data[thread])


@cute.kernel
def told(target: cute.Pointer, how: Constexpr):
    """Each block writes to the other's shared memory and arrives there; 1: at the scope of its own."""
    thread, _, _ = arch.thread_idx()
    rank = arch.block_idx_in_cluster()
    data, bar = buffer(THREADS), barriers(1)
    if thread == 0:
        arch.mbarrier_init(bar, 1)
    arch.mbarrier_init_fence()
    arch.cluster_arrive()
    arch.cluster_wait()
    put(arch.map_dsmem_ptr(data.iterator, rank ^ 1) + thread, rank)
    arch.sync_threads()
    if thread == 0:
        if const_expr(how == 0):
            arch.fence_acq_rel_cluster()
        arch.mbarrier_arrive(bar, rank ^ 1)
    arch.mbarrier_wait(bar, 0)
    (target + thread).store(data[thread])
    arch.cluster_arrive()
    arch.cluster_wait()


@cute.kernel
def handover(work: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Each block writes a line of global memory and reads that of the next block."""
    thread, _, _ = arch.thread_idx()
    block, _, _ = arch.block_idx()
    after = (block + 1) % 4
    flags = target + 1024
    (work + thread + block * THREADS).store(thread)
    arch.sync_threads()
    if const_expr(how in (0, 2, 4)):
        if thread == 0:
            order = ("relaxed", "relaxed") if const_expr(how == 2) else ("release", "acquire")
            if const_expr(how == 4):  # right, too
                arch.atomic_add(flags + block, Int32(1), sem=order[0], scope="gpu")
            else:
                arch.store(flags + block, Int32(1), sem=order[0], scope="gpu")
            seen = Int32(0)
            while seen == 0:
                seen = arch.load(flags + after, Int32, sem=order[1], scope="gpu")
        arch.sync_threads()
    if const_expr(how == 3):  # its own line, and a word that all blocks write
        after = block
        (target + 2048).store(Int32(7))
    (target + thread + block * THREADS).store((work + thread + after * THREADS).load())


@cute.kernel
def flags(work: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """All blocks store one number to a line and load it; how 1 to 3: not what each thread stored itself."""
    thread, _, _ = arch.thread_idx()
    block, _, _ = arch.block_idx()
    if const_expr(how == 1):
        if thread == block:
            (work + thread).store(Int32(1))
    elif const_expr(how == 2):
        if block == 0:
            (work + thread).store(Int32(2))
        else:
            (work + thread).store(Int32(1))
    else:
        (work + thread).store(Int32(1))
    arch.sync_threads()
    read = THREADS - 1 - thread if const_expr(how == 3) else thread
    (target + thread + block * THREADS).store((work + read).load())


@cute.kernel
def sized(source: cute.Tensor, target: cute.Pointer, how: Constexpr):
    """Two stages filled by cp.async, as often as the tensor is long. 1: odd numbers lack a commit.

    2 one turn as it is launched, 3 even numbers lack a commit.
    """
    thread, _, _ = arch.thread_idx()
    layout = cute.make_layout((THREADS, 4, 2), stride=(4, 1, 4 * THREADS))
    data = SmemAllocator().allocate_tensor(Int32, layout, byte_alignment=128)
    turns = cute.size(source, mode=[2]) // (64 if const_expr(how < 2) else 1024)
    cute.copy(cp(), source[(thread, None, 0)], data[(thread, None, 0)])
    arch.cp_async_commit_group()
    for turn in cutlass.range(turns, unroll=1):
        if turn + 1 < turns:
            cute.copy(cp(), source[(thread, None, turn + 1)], data[(thread, None, (turn + 1) % 2)])
        if const_expr(how % 2 == 0) or turn + 1 < turns or turns % 2 == how // 2:
            arch.cp_async_commit_group()
        arch.cp_async_wait_group(1)
        arch.sync_threads()
        (target + thread).store(data[((thread + 32) % THREADS, 1, turn % 2)])
        arch.sync_threads()


@cute.jit
def run_sized(source: cute.Pointer, target: cute.Pointer, turns: Int32, how: Constexpr):
    tiles = cute.make_tensor(source, cute.make_layout((THREADS, 4, turns), stride=(4, 1, 4 * THREADS)))
    sized(tiles, target, how).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


@cute.kernel
def strided(rows: cute.Tensor, sums: cute.Tensor, how: Constexpr):
    """A block takes every row that is the grid's size further on: 1 without the barrier between two rows."""
    thread, _, _ = arch.thread_idx()
    first, _, _ = arch.block_idx()
    step, _, _ = arch.grid_dim()
    data = buffer(THREADS)
    total = Int32(0)
    for row in cutlass.range(first, rows.shape[0], step, unroll=1):
        data[thread] = rows[row, thread]
        arch.sync_threads()
        total += data[(thread + 32) % THREADS]
        if const_expr(how == 0):
            arch.sync_threads()
    sums[first, thread] = total


@cute.jit
def run_strided(rows: cute.Tensor, sums: cute.Tensor, how: Constexpr):
    strided(rows, sums, how).launch(grid=(sums.shape[0], 1, 1), block=(THREADS, 1, 1))


@cute.kernel
def signals(target: cute.Pointer, how: Constexpr):
    """Each block of a cluster sends a line to the other by st.async."""
    thread, _, _ = arch.thread_idx()
    data, bar = buffer(THREADS), barriers(1)
    if thread == 0:
        arch.mbarrier_init(bar, 1)
    arch.mbarrier_init_fence()
    if const_expr(how != 3):
        arch.cluster_arrive()
        arch.cluster_wait()
    if thread == 0:
        arch.mbarrier_arrive_and_expect_tx(bar, 4 * THREADS + (4 if const_expr(how == 2) else 0))
    peer = arch.block_idx_in_cluster() ^ 1
    send(arch.map_dsmem_ptr(data.iterator, peer) + thread, thread, arch.map_dsmem_ptr(bar, peer))
    if const_expr(how != 1):
        arch.mbarrier_wait(bar, 0)
    (target + thread).store(data[thread])
    arch.cluster_arrive()
    arch.cluster_wait()


@cute.jit
def run_signals(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    signals(target, how).launch(grid=(2, 1, 1), block=(THREADS, 1, 1), cluster=(2, 1, 1))


@cute.kernel
def turns(target: cute.Pointer, how: Constexpr):
    """A warp hands tiles to two others, which take every other one: loops over tiles with unequal strides."""
    thread, _, _ = arch.thread_idx()
    warp = arch.make_warp_uniform(arch.warp_idx())
    data = buffer(64)
    tile = Int32(0) if warp == 0 else warp - 1
    while tile < 1000:
        if warp == 0:
            if tile > 1:
                arch.barrier(barrier_id=3 + tile % 2, number_of_threads=64)
            data[thread + 32 * (tile % 2)] = tile
            arch.barrier(barrier_id=1 + tile % 2, number_of_threads=64)
            tile += 1
        else:
            if const_expr(how == 1):
                arch.barrier(barrier_id=5, number_of_threads=96)
            arch.barrier(barrier_id=warp, number_of_threads=64)
            (target + thread).store(data[thread % 32 + 32 * (tile % 2)])
            if tile < 998:
                arch.barrier(barrier_id=2 + warp, number_of_threads=64)
            tile += 2


@cute.kernel
def scheduled(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """A warp hands tiles to another through two slots; how many there are, global memory says.

    1 a slot is not given back, 2 nobody says that there is no more, 3 a tile needs two arrivals, 4 no wait.
    """
    thread, _, _ = arch.thread_idx()
    warp = arch.make_warp_uniform(arch.warp_idx())
    slots, full, empty = buffer(2), barriers(2), barriers(2)
    if thread == 0:
        for i in cutlass.range_constexpr(2):
            arch.mbarrier_init(full + i, 2 if how == 3 else 1)
            arch.mbarrier_init(empty + i, 1)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    if warp == 0:
        tiles = source.load() % 5 + 3
        for turn in cutlass.range(tiles, unroll=1):
            if turn > 1:
                arch.mbarrier_wait(empty + turn % 2, (turn // 2 + 1) % 2)  # for a slot
            with arch.elect_one():
                more = Int32(1)
                if const_expr(how != 2):
                    more = Int32(turn < tiles - 1)
                slots[turn % 2] = more  # handed over
                arch.mbarrier_arrive(full + turn % 2)
    if warp == 1:
        turn, more = Int32(0), Int32(1)
        while more != 0:
            if const_expr(how != 4):
                arch.mbarrier_wait(full + turn % 2, turn // 2 % 2)  # for a tile
            more = slots[turn % 2]  # taken
            arch.sync_warp()
            if const_expr(how != 1):
                with arch.elect_one():
                    arch.mbarrier_arrive(empty + turn % 2)
            (target + thread).store(turn)
            turn += 1


@cute.jit
def run_scheduled(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    scheduled(source, target, how).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


@cute.jit
def run_turns(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    turns(target, how).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


@cute.jit
def run_handover(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    handover(source, target, how).launch(grid=(4, 1, 1), block=(THREADS, 1, 1))


@cute.jit
def run_flags(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    flags(source, target, how).launch(grid=(4, 1, 1), block=(THREADS, 1, 1))


@cute.jit
def run_workspace(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    work = cute.make_tensor(source, cute.make_layout((TILE,)))
    workspace(work, target, how).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


@cute.jit
def run_peers(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    peers(target, how).launch(grid=(2, 1, 1), block=(THREADS, 1, 1), cluster=(2, 1, 1))


@cute.jit
def run_told(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    told(target, how).launch(grid=(2, 1, 1), block=(THREADS, 1, 1), cluster=(2, 1, 1))


@cute.jit
def run_neighbours(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    neighbours(source, target, how).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


@cute.jit
def run_in_place(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    in_place(source, target, how).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


@cute.jit
def run_overlapped(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    overlapped(source, target, how).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


@cute.jit
def run_stages(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    tile = cute.make_tensor(source, cute.make_layout((THREADS, 4), stride=(4, 1)))
    stages(tile, target, how).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


@cute.jit
def run_bulk(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    tile = cute.make_tensor(source, cute.make_layout((TILE,)))
    bulk(tile, target, how).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


@cute.jit
def run_store(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    tile = cute.make_tensor(target, cute.make_layout((TILE,)))
    store(tile, how).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


@cute.jit
def run_groups(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    groups(target, how).launch(grid=(1, 1, 1), block=(128, 1, 1))


@cute.jit
def run_multiply(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    import cutlass.utils.hopper_helpers as hopper

    row, major = cutlass.utils.LayoutEnum.ROW_MAJOR, cute.nvgpu.OperandMajorMode.K
    mma = hopper.make_trivial_tiled_mma(BFloat16, BFloat16, major, major, Float32, (1, 1, 1), (64, 64))
    la = hopper.make_smem_layout_a(row, (64, 64, 64), BFloat16, 1)
    lb = hopper.make_smem_layout_b(row, (64, 64, 64), BFloat16, 1)
    floats = cute.recast_ptr(target, dtype=Float32)
    multiply(floats, mma, la, lb, how).launch(grid=(1, 1, 1), block=(128, 1, 1))


@cute.kernel
def requests(source: cute.Tensor, target: cute.Tensor, how: Constexpr):
    """A row of flags for each warp that has a request, of which the host knows that there is one."""
    thread, warp, lane = arch.thread_idx()[0], arch.warp_idx(), arch.lane_idx()
    data, flags, more = buffer(THREADS), buffer(32), buffer(THREADS)
    if warp < source.shape[0]:
        flags[warp * 32 + lane] = source[warp, lane]
    data[thread] = source[0, thread]
    more[thread] = source[0, thread]
    arch.sync_threads()
    target[0, thread] = data[thread] + more[thread] + flags[thread % 32]


@cute.jit
def run_requests(source: cute.Tensor, target: cute.Tensor, how: Constexpr):
    requests(source, target, how).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


VARIANTS = {"neighbours": 3, "stages": 5, "bulk": 9, "store": 4, "groups": 3, "multiply": 6,
            "workspace": 3, "peers": 3, "told": 2, "handover": 5, "sized": 4, "strided": 2, "signals": 4,
            "turns": 2, "overlapped": 3, "scheduled": 5, "flags": 4, "requests": 1,
             "in_place": 4, "arrives": 5, "partial": 7, "parts": 5, "places": 7, "handed": 4,
             "settled": 3}  # fmt: skip

if __name__ == "__main__":
    for name in sys.argv[1:] or VARIANTS:
        for variant in range(VARIANTS[name]):
            pointers = [make_ptr(Int32, 1 << 24, cute.AddressSpace.gmem, assumed_align=128) for _ in range(2)]
            size = [Int32(1024)] if name == "sized" else []
            if name in ("strided", "requests"):
                pointers = [
                    make_fake_tensor(Int32, (cute.sym_int(), THREADS), (THREADS, 1)) for _ in range(2)
                ]
            cute.compile(globals()[f"run_{name}"], *pointers, *size, variant)
            print(name, variant, flush=True)
