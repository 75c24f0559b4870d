"""Kernels of cp.async, ldmatrix, named barriers and ordinary stores, in shapes that users give them: `how` 0
right, 1, 2, ... broken. `TOLD` says what each broken variant is told, with words of its two lines.

    python -m tests.order.outside [NAME ...]         # compile every variant
    python -m tests.order.outside NAME HOW           # run one: needs a GPU, fails where a result is wrong
"""

# ruff: noqa: SIM102 - what is known while tracing stands apart from what a run decides

from __future__ import annotations

import cutlass
import cutlass.cute as cute
from cutlass import BFloat16, Constexpr, Float32, Int32, const_expr
from cutlass.cute.nvgpu import cpasync, warp
from cutlass.memory import SmemAllocator

from tests.order.kernels import buffer, cp, put
from tests.order.pipelines import TURNS, rows
from tests.order.reported import THREADS, WORDS, get, program, quads

arch = cute.arch
K = 6
# kernel -> (code, words of the first line, of the second) of each variant from 1 on, threads, blocks
TOLD = {
    "multistage": ((("LC501", "# ahead", "# operand"), ("LC501", "# first", "# operand"),
                    ("LC504", "# operand", "# sums")), THREADS, 1),
    "keys_and_values": ((("LC501", "# values", "# of values"), ("LC501", "# values", "# of values"),
                         ("LC503", "# of keys", "# next keys")), THREADS, 1),
    "histogram": ((("LC504", "# cleared", "# counted"), ("LC504", "# counted", "# out")), THREADS, 1),
    "scan": ((("LC504", "# other", "# sum"), ("LC504", "# sum", "# other")), THREADS, 1),
    "bitonic": ((), THREADS, 1),
    "alternating": ((("LC504", "# all", "# partial"), ("LC504", "# partial", "# all")), THREADS, 1),
    "warp_tiles": ((("LC504", "# filled", "# taken"), ("LC524", "# filled", "# taken")), THREADS, 1),
    "matrices": ((("LC504", "# stored", "# loaded"), ("LC504", "# loaded", "# stored")), THREADS, 1),
    "sides": ((("LC504", "# left", "# right"), ("LC510", "# once more", "")), THREADS, 1),
    "leavers": ((("LC510", "# the others", ""), ("LC504", "# mine", "# theirs")), THREADS, 1),
    "round_robin": ((("LC504", "# read", "# next"), ("LC510", "# wait for it", ""),
            ("LC504", "# next", "# read")),
                    3 * 64, 1),
    "maxima": ((("LC504", "# maximum", "# scale"), ("LC504", "# scale", "# maximum")), 2 * THREADS, 1),
    "cp_then_store": ((("LC505", "# copied", "# sent"), ("LC501", "# copied", "# sent"),
                       ("LC502", "# sent", "# copied")), THREADS, 1),
    "partials": ((("LC504", "# to the first", "# summed"), ("LC513", "# to the first", "")), THREADS, 4),
    "all_pairs": ((("LC504", "# own", "# of peer"), ("LC504", "# of peer", "# own")), THREADS, 4),
    "tree": ((("LC504", "# added", "# added"), ("LC504", "# added", "# added")), THREADS, 1),
    "queue": ((("LC504", "# item", "# got"), ("LC504", "# got", "# item")), THREADS, 1),
}  # fmt: skip


@cute.kernel
def multistage(source: cute.Pointer, target: cute.Pointer, mma: cute.TiledMma, how: Constexpr):
    """A GEMM of 64 x 64 x 192 in three stages: 1 no barrier behind the wait, 2 the wait leaves one
    group more, 3 the sums go over the operands of other warps."""
    thread, _, _ = arch.thread_idx()
    given = cute.recast_ptr(source, dtype=BFloat16)
    flat = cute.make_layout((64, 32, K), stride=(32 * K, 1, 32))
    ga, gb = cute.make_tensor(given, flat), cute.make_tensor(given + 64 * 32 * K, flat)
    padded = cute.make_layout((64, 32, 3), stride=(40, 1, 64 * 40))
    allocator = SmemAllocator()
    sa = allocator.allocate_tensor(BFloat16, padded, byte_alignment=128)
    sb = allocator.allocate_tensor(BFloat16, padded, byte_alignment=128)
    every = cute.make_layout((32, 4), stride=(4, 1))
    load = cute.make_tiled_copy_tv(cp(BFloat16), every, cute.make_layout((1, 8))).get_slice(thread)
    fa, fb, ta, tb = load.partition_S(ga), load.partition_S(gb), load.partition_D(sa), load.partition_D(sb)
    mine = mma.get_slice(thread)
    ra, rb = mma.make_fragment_A(mine.partition_A(sa[None, None, 0])), mma.make_fragment_B(
        mine.partition_B(sb[None, None, 0]))  # fmt: skip
    atom = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), BFloat16)
    from_a, from_b = cute.make_tiled_copy_A(atom, mma), cute.make_tiled_copy_B(atom, mma)
    la, lb = from_a.get_slice(thread), from_b.get_slice(thread)
    pa, pb, qa, qb = la.partition_S(sa), lb.partition_S(sb), la.retile(ra), lb.retile(rb)
    out = cute.make_tensor(target, cute.make_layout((64, 64), stride=(64, 1)))
    sums = cute.make_rmem_tensor(mine.partition_C(out).shape, Float32)
    sums.fill(0.0)
    for ahead in cutlass.range_constexpr(2):
        cute.copy(load, fa[None, None, None, ahead], ta[None, None, None, ahead])  # first
        cute.copy(load, fb[None, None, None, ahead], tb[None, None, None, ahead])
        arch.cp_async_commit_group()
    for turn in cutlass.range(K, unroll=1):
        arch.cp_async_wait_group(2 if const_expr(how == 2) else 1)
        if const_expr(how != 1):
            arch.sync_threads()
        if turn + 2 < K:
            there = (turn + 2) % 3
            cute.copy(load, fa[None, None, None, turn + 2], ta[None, None, None, there])  # ahead
            cute.copy(load, fb[None, None, None, turn + 2], tb[None, None, None, there])
        arch.cp_async_commit_group()
        for k in cutlass.range_constexpr(2):
            cute.copy(from_a, pa[None, None, k, turn % 3], qa[None, None, k])  # operand
            cute.copy(from_b, pb[None, None, k, turn % 3], qb[None, None, k])
            cute.gemm(mma, sums, ra[None, None, k], rb[None, None, k], sums)
    arch.cp_async_wait_group(0)
    if const_expr(how != 3):
        arch.sync_threads()
    over = cute.make_tensor(
        cute.recast_ptr(sa.iterator, dtype=Int32), cute.make_layout((64, 64), stride=(68, 1))
    )
    part = mine.partition_C(over)
    for i in cutlass.range_constexpr(cute.size(part)):
        part[i] = sums[i].to(Int32)  # sums
    arch.sync_threads()
    for i in cutlass.range(thread, 64 * 64, THREADS, unroll=1):
        out[(i // 64, i % 64)] = over[(i // 64, i % 64)]


@cute.kernel
def keys_and_values(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Two buffers, loaded in turn while the other is used: 1 the wait for values leaves their group, 2 no
    barrier behind it, 3 the next keys before that barrier."""
    thread, _, _ = arch.thread_idx()
    given, taken = quads(source, TURNS), rows(target)
    keys, values = buffer(WORDS), buffer(WORDS)
    k, v = quads(keys.iterator, 1)[thread, None, 0], quads(values.iterator, 1)[thread, None, 0]
    cute.copy(cp(), given[thread, None, 0], k)
    arch.cp_async_commit_group()
    for turn in cutlass.range(TURNS, unroll=1):
        arch.cp_async_wait_group(0)
        arch.sync_threads()
        cute.copy(cp(), given[thread, None, TURNS - 1 - turn], v)  # values
        arch.cp_async_commit_group()
        value = keys[WORDS - 1 - thread]  # of keys
        if const_expr(how == 3):
            if turn + 1 < TURNS:
                cute.copy(cp(), given[thread, None, turn + 1], k)  # next keys
            arch.cp_async_commit_group()
        arch.cp_async_wait_group(1 if const_expr(how == 1) else 0)
        if const_expr(how != 2):
            arch.sync_threads()
        if const_expr(how != 3):
            if turn + 1 < TURNS:
                cute.copy(cp(), given[thread, None, turn + 1], k)
            arch.cp_async_commit_group()
        taken[(thread, turn)] = value * values[WORDS - 1 - thread]  # of values


@cute.kernel
def histogram(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Bins by atomics: 1 no barrier behind the clearing, 2 none before they go out."""
    thread, _, _ = arch.thread_idx()
    bins = buffer(64)
    for turn in cutlass.range(4, unroll=1):
        if thread < 64:
            bins[thread] = Int32(0)  # cleared
        if const_expr(how != 1):
            arch.sync_threads()
        at = (thread * 5 + turn) % 64
        arch.atomic_add(bins.iterator + at, (source + thread).load(), sem="relaxed", scope="cta")  # counted
        if const_expr(how != 2):
            arch.sync_threads()
        if thread >= 64:
            (target + turn * 64 + thread - 64).store(bins[thread - 64])  # out
        arch.sync_threads()


@cute.kernel
def scan(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Sums of all before: 1 no barrier between reads and writes of a step, 2 none behind the writes."""
    thread, _, _ = arch.thread_idx()
    data = buffer(THREADS)
    data[thread] = (source + thread).load()
    arch.sync_threads()
    for step in cutlass.range_constexpr(7):
        other = Int32(0)
        if thread >= 1 << step:
            other = data[thread - (1 << step)]  # other
        if const_expr(how != 1):
            arch.sync_threads()
        data[thread] = data[thread] + other  # sum
        if const_expr(how != 2):
            arch.sync_threads()
    (target + thread).store(data[thread])


@cute.kernel
def bitonic(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Pairs within a warp need sync_warp only, others the block's barrier; what is stored depends on the
    data, and is left out."""
    thread, _, _ = arch.thread_idx()
    data = buffer(THREADS)
    data[thread] = (source + thread * 37 % THREADS).load()
    arch.sync_threads()
    for size in cutlass.range_constexpr(1, 8):
        for step in cutlass.range_constexpr(size):
            apart = const_expr(1 << (size - 1 - step))
            mine, other = data[thread], data[thread ^ apart]
            if const_expr(apart >= 32):
                arch.sync_threads()
            else:
                arch.sync_warp()
            low = ((thread & apart) == 0) == ((thread & (1 << size)) == 0)
            if low == (other < mine):
                data[thread] = other
            if const_expr(apart >= 32 or size - 1 == step):
                arch.sync_threads()
            else:
                arch.sync_warp()
    (target + thread).store(data[thread])


@cute.kernel
def alternating(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Sums of warps in two buffers, one barrier a turn: 1 one buffer, 2 the barrier every other turn."""
    thread, _, _ = arch.thread_idx()
    warp_ = arch.make_warp_uniform(arch.warp_idx())
    data, taken = buffer(8), rows(target)
    for turn in cutlass.range(TURNS, unroll=1):
        half = Int32(0) if const_expr(how == 1) else turn % 2 * 4
        value = arch.warp_reduction_sum((source + turn * THREADS + thread).load())
        if thread % 32 == 0:
            data[half + warp_] = value  # partial
        if const_expr(how == 2):
            if turn % 2 == 0:
                arch.sync_threads()
        else:
            arch.sync_threads()
        taken[(thread, turn)] = data[half] + data[half + 1] + data[half + 2] + data[half + 3]  # all


@cute.kernel
def warp_tiles(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """A tile for each warp, sync_warp alone: 1 the tile of the next warp, 2 without it (a note)."""
    thread, _, _ = arch.thread_idx()
    data = buffer(4 * 33 * 32)
    lane, mine = thread % 32, thread // 32 * 33 * 32
    theirs = (thread // 32 + 1) % 4 * 33 * 32 if const_expr(how == 1) else mine
    for turn in cutlass.range(2, unroll=1):
        for i in cutlass.range_constexpr(8):
            word = (source + turn * 1024 + 256 * (thread // 32) + 32 * i + lane).load()
            data[mine + 33 * i + lane] = word  # filled
        if const_expr(how != 2):
            arch.sync_warp()
        for i in cutlass.range_constexpr(8):
            word = data[theirs + 33 * (lane % 8) + lane // 8 * 8 + i]  # taken
            (target + turn * 1024 + 8 * thread + i).store(word)
        arch.sync_warp()


@cute.kernel
def matrices(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """stmatrix by one warp, ldmatrix by the next: 1 no barrier between, 2 none before the next turn."""
    thread, _, _ = arch.thread_idx()
    row, lane = thread // 32, thread % 32
    data = SmemAllocator().allocate_tensor(
        BFloat16, cute.make_layout((8, 32, 4), stride=(1, 8, 256)), byte_alignment=128
    )
    put_ = cute.make_copy_atom(warp.StMatrix8x8x16bOp(False, 4), BFloat16)
    take = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), BFloat16)
    held = cute.make_rmem_tensor((8,), BFloat16)
    words = cute.recast_tensor(held, Int32)
    for turn in cutlass.range(4, unroll=1):
        for i in cutlass.range_constexpr(4):
            words[i] = (source + turn * 512 + 4 * thread + i).load()
        cute.copy(put_, held, data[None, lane, row])  # stored
        if const_expr(how != 1):
            arch.sync_threads()
        cute.copy(take, data[None, lane, (row + 1) % 4], held)  # loaded
        if const_expr(how != 2):
            arch.sync_threads()
        for i in cutlass.range_constexpr(4):
            (target + turn * 512 + 4 * thread + i).store(words[i])


@cute.kernel
def sides(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """One barrier at two places, each for half of the warps: 1 one for each half, 2 one side once more."""
    thread, _, _ = arch.thread_idx()
    warp_ = arch.make_warp_uniform(arch.warp_idx())
    data = buffer(THREADS)
    if warp_ < 2:
        data[thread] = (source + thread).load()  # left
        if const_expr(how == 1):
            arch.barrier(barrier_id=2, number_of_threads=64)
        else:
            arch.barrier(barrier_id=1, number_of_threads=THREADS)
        (target + thread).store(data[thread + 64])
        if const_expr(how == 2):
            arch.barrier(barrier_id=1, number_of_threads=THREADS)  # once more
    else:
        data[thread] = (source + 2 * thread).load()
        if const_expr(how == 1):
            arch.barrier(barrier_id=1, number_of_threads=64)
        else:
            arch.barrier(barrier_id=1, number_of_threads=THREADS)
        (target + thread).store(data[thread - 64])  # right


@cute.kernel
def leavers(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """The last warp leaves at once: 1 a barrier counts it, 2 it leaves its words without one."""
    thread, _, _ = arch.thread_idx()
    data = buffer(THREADS)
    if thread < 96:
        data[thread] = (source + thread).load()
        if const_expr(how == 1):
            arch.barrier(barrier_id=1, number_of_threads=THREADS)  # the others
        else:
            arch.barrier(barrier_id=1, number_of_threads=96)
        (target + thread).store(data[(thread + 32) % (THREADS if const_expr(how == 2) else 96)])  # theirs
    elif const_expr(how == 2):
        data[thread] = (source + thread).load()  # mine


@cute.kernel
def round_robin(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Three groups of two warps take turns with one buffer, a barrier for each: 1 handed on before the read,
    2 handed to the wrong group, 3 the first waits for nobody."""
    thread, _, _ = arch.thread_idx()
    which, lane = thread // 64, thread % 64
    data, taken = buffer(64), rows(target)
    if which == 2:
        arch.barrier_arrive(barrier_id=1, number_of_threads=THREADS)
    for turn in cutlass.range(4, unroll=1):
        if const_expr(how != 3):
            arch.barrier(barrier_id=1 + which, number_of_threads=THREADS)  # wait for it
        elif which > 0:
            arch.barrier(barrier_id=1 + which, number_of_threads=THREADS)
        data[lane] = (source + turn * 256 + thread).load()  # next
        arch.barrier(barrier_id=4 + which, number_of_threads=64)
        if const_expr(how == 1):
            if which < 2 or turn < 3:
                arch.barrier_arrive(barrier_id=1 + (which + 1) % 3, number_of_threads=THREADS)
        taken[(thread, turn)] = data[63 - lane]  # read
        if const_expr(how != 1):
            if which < 2 or turn < 3:
                if const_expr(how == 2):
                    arch.barrier_arrive(barrier_id=1 + (which + 2) % 3, number_of_threads=THREADS)
                else:
                    arch.barrier_arrive(barrier_id=1 + (which + 1) % 3, number_of_threads=THREADS)


@cute.kernel
def maxima(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """One warpgroup finds maxima, the other scales by them: 1 announced before they are written, 2 the next
    turn does not wait for the readers."""
    thread, _, _ = arch.thread_idx()
    lane = thread % THREADS
    data, given, taken = buffer(THREADS), rows(source), rows(target)
    if thread < THREADS:
        for turn in cutlass.range(TURNS, unroll=1):
            if const_expr(how != 2):
                arch.barrier(barrier_id=2, number_of_threads=2 * THREADS)
            if const_expr(how == 1):
                arch.barrier_arrive(barrier_id=1, number_of_threads=2 * THREADS)
            data[lane] = arch.warp_reduction_max(given[(lane, turn)])  # maximum
            if const_expr(how == 0):
                arch.barrier_arrive(barrier_id=1, number_of_threads=2 * THREADS)
            if const_expr(how == 2):
                arch.barrier(barrier_id=1, number_of_threads=2 * THREADS)
    else:
        if const_expr(how != 2):
            arch.barrier_arrive(barrier_id=2, number_of_threads=2 * THREADS)
        for turn in cutlass.range(TURNS, unroll=1):
            arch.barrier(barrier_id=1, number_of_threads=2 * THREADS)
            taken[(lane, turn)] = data[THREADS - 1 - lane] * 3  # scale
            if const_expr(how != 2):
                if turn < TURNS - 1:
                    arch.barrier_arrive(barrier_id=2, number_of_threads=2 * THREADS)


@cute.kernel
def cp_then_store(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """cp.async in, a bulk store out: 1 no proxy fence, 2 no wait for the group, 3 the next copy while it is
    read."""
    thread, _, _ = arch.thread_idx()
    given, taken, data = quads(source, TURNS), rows(target), buffer(WORDS)
    mine = quads(data.iterator, 1)[thread, None, 0]
    for turn in cutlass.range(TURNS, unroll=1):
        cute.copy(cp(), given[thread, None, turn], mine)  # copied
        arch.cp_async_commit_group()
        if const_expr(how != 2):
            arch.cp_async_wait_group(0)
        if const_expr(how != 1):
            arch.fence_proxy("async.shared", space="cta")
        arch.sync_threads()
        if thread == 0:
            cute.copy(cute.make_copy_atom(cpasync.CopyBulkS2GOp(), Int32), data, taken[(None, turn)])  # sent
            arch.cp_async_bulk_commit_group()
            if const_expr(how != 3):
                arch.cp_async_bulk_wait_group(0, read=True)
        arch.sync_threads()
    if thread == 0:
        arch.cp_async_bulk_wait_group(0, read=True)


@cute.kernel
def partials(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Every block sends its sums to the first one: 1 a relaxed arrival behind it, 2 the first leaves
    before they come."""
    thread, _, _ = arch.thread_idx()
    rank = arch.block_idx_in_cluster()
    slots = buffer(4 * THREADS)
    arch.cluster_arrive()
    arch.cluster_wait()
    slot = arch.map_dsmem_ptr(slots.iterator + rank * THREADS + thread, 0)
    put(slot, (source + rank * THREADS + thread).load())  # to the first
    if const_expr(how == 1):
        arch.cluster_arrive_relaxed()
    else:
        arch.cluster_arrive()
    if const_expr(how != 2):
        arch.cluster_wait()
        if rank == 0:
            total = Int32(0)
            for i in cutlass.range_constexpr(4):
                total += slots[i * THREADS + thread]  # summed
            (target + thread).store(total)
    elif rank != 0:
        arch.cluster_wait()


@cute.kernel
def all_pairs(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Every block reads the words of all others, two turns: 1 the block's barrier alone behind the writes,
    2 no barrier of the cluster before the next turn."""
    thread, _, _ = arch.thread_idx()
    rank = arch.block_idx_in_cluster()
    data = buffer(THREADS)
    for turn in cutlass.range(2, unroll=1):
        data[thread] = (source + (2 * rank + turn) * THREADS + thread).load()  # own
        if const_expr(how == 1):
            arch.sync_threads()
        else:
            arch.cluster_arrive()
            arch.cluster_wait()
        total = Int32(0)
        for i in cutlass.range_constexpr(4):
            total += get(arch.map_dsmem_ptr(data.iterator + thread, i))  # of peer
        (target + (2 * rank + turn) * THREADS + thread).store(total)
        if const_expr(how != 2):
            arch.cluster_arrive()
            arch.cluster_wait()
    arch.cluster_arrive()
    arch.cluster_wait()


@cute.kernel
def tree(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Halves are added: 1 no barrier behind the first step, 2 in place one step on."""
    thread, _, _ = arch.thread_idx()
    data = buffer(THREADS)
    data[thread] = (source + thread).load()
    arch.sync_threads()
    for step in cutlass.range_constexpr(7):
        half = const_expr(64 >> step)
        if thread < half if const_expr(how != 2) else thread < 2 * half:
            data[thread] = data[thread] + data[(thread + half) % THREADS]  # added
        if const_expr(how != 1 or half < 64):
            arch.sync_threads()
    if thread == 0:
        (target).store(data[0])


@cute.kernel
def queue(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """One warp hands numbers to all through one word: 1 no barrier behind it, 2 none before the next."""
    thread, _, _ = arch.thread_idx()
    word = buffer(4)
    at = Int32(0)
    turn = Int32(0)
    while turn < 6:
        if thread == 96:
            word[0] = turn + 1  # item
        if const_expr(how != 1):
            arch.sync_threads()
        at = word[0]  # got
        if const_expr(how != 2):
            arch.sync_threads()
        (target + turn * THREADS + thread).store((source + thread).load() * at)
        turn += 1


@cute.jit
def run(source: cute.Pointer, target: cute.Pointer, name: Constexpr, how: Constexpr):
    _, threads, blocks = TOLD[name]
    if const_expr(name == "multistage"):
        op = warp.MmaF16BF16Op(BFloat16, Float32, (16, 8, 16))
        mma = cute.make_tiled_mma(op, cute.make_layout((2, 2, 1)), permutation_mnk=(32, 32, 16))
        made = multistage(source, target, mma, how)
    else:
        made = globals()[name](source, target, how)
    made.launch(grid=(blocks, 1, 1), block=(threads, 1, 1), cluster=(blocks, 1, 1))


if __name__ == "__main__":
    program(run, {name: len(told[0]) + 1 for name, told in TOLD.items()})
