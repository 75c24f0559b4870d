"""Small kernels with the faults of public reports: `how` 0 as after the fix, 1 as before it.

Every kernel is our own; what it has of the report is the synchronisation. `REPORTS` says which report, and
what the check has to tell. Each writes what it computes to `target`, so that a GPU shows what becomes of
the fault:

    python -m tests.order.reported NAME HOW     # needs a GPU; fails where a result is wrong
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import cutlass
import cutlass.cute as cute
import numpy as np
from cutlass import Constexpr, Int32, const_expr
from cutlass._mlir.dialects import llvm
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import make_ptr
from cutlass.cutlass_dsl import dsl_user_op
from cutlass.memory import SmemAllocator

from tests.order.kernels import barriers, buffer, cp

arch = cute.arch
THREADS = 128
TURNS = 8
WORDS = 512  # of a tile


class Report(NamedTuple):
    """`told` are (code, words of the first line, words of the second line)."""

    where: str
    fault: str
    told: tuple[str, str, str]
    cluster: int = 1
    grid: int = 1


@dsl_user_op
def get(pointer, *, loc=None, ip=None):
    """A load from the shared memory of another block."""
    return Int32(llvm.load(Int32.mlir_type, pointer.to_llvm_ptr(loc=loc, ip=ip), loc=loc, ip=ip))


def flat(pointer, count):
    return cute.make_tensor(pointer, cute.make_layout((count,)))


def load(source, data, bar):
    """A bulk load, announced to its mbarrier, by one thread."""
    arch.mbarrier_arrive_and_expect_tx(bar, 4 * WORDS)
    cute.copy(cute.make_copy_atom(cpasync.CopyBulkG2SOp(), Int32), source, data, mbar_ptr=bar)


def store(data, target):
    cute.copy(cute.make_copy_atom(cpasync.CopyBulkS2GOp(), Int32), data, target)
    arch.cp_async_bulk_commit_group()


def quads(pointer, tiles=TURNS):
    """Four words for each thread, tile after tile."""
    layout = cute.make_layout((THREADS, 4, tiles), stride=(4, 1, 4 * THREADS))
    return cute.make_tensor(pointer, layout)


@cute.kernel
def reused_operand(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Partial sums go where the operand was: other warps may still read it."""
    thread, _, _ = arch.thread_idx()
    data = buffer(THREADS)
    for turn in cutlass.range(TURNS, unroll=1):
        data[thread] = (source + thread + turn * THREADS).load()
        arch.sync_threads()
        value = data[(thread + 32) % THREADS]  # the operand
        if const_expr(how == 0):
            arch.barrier(barrier_id=1, number_of_threads=THREADS)
        data[thread] = value * 2  # the partial sum
        arch.sync_threads()
        (target + thread + turn * THREADS).store(data[(thread + 64) % THREADS])
        arch.sync_threads()


@cute.kernel
def peers_half(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """A block reads the half that its peer loads, and has waited for its own half only."""
    thread, _, _ = arch.thread_idx()
    rank = arch.block_idx_in_cluster()
    data, bar = buffer(WORDS), barriers(1)
    data[thread] = Int32(-1)
    if thread == 0:
        arch.mbarrier_init(bar, 1)
    arch.mbarrier_init_fence()
    arch.fence_proxy("async.shared", space="cta")
    arch.cluster_arrive()
    arch.cluster_wait()
    if thread == 0:
        load(flat(source + rank * WORDS, WORDS), data, bar)  # each its half
    arch.mbarrier_wait(bar, 0)
    if const_expr(how == 0):
        arch.cluster_arrive()
        arch.cluster_wait()
    there = arch.map_dsmem_ptr(data.iterator, rank ^ 1)
    (target + rank * THREADS + thread).store(get(there + thread))  # the peer's half
    arch.cluster_arrive()
    arch.cluster_wait()


@cute.kernel
def never_initialised(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Bytes are announced to an mbarrier that nobody has initialised."""
    thread, _, _ = arch.thread_idx()
    data, bar = buffer(WORDS), barriers(1)
    if const_expr(how == 0) and thread == 0:
        arch.mbarrier_init(bar, 1)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    if thread == 0:
        load(flat(source, WORDS), data, bar)
    arch.mbarrier_wait(bar, 0)
    (target + thread).store(data[thread])


@cute.kernel
def peers_mbarrier(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """A block signals its peer before that has initialised its mbarrier."""
    thread, _, _ = arch.thread_idx()
    rank = arch.block_idx_in_cluster()
    bar = barriers(1)
    if thread == 0:
        arch.mbarrier_init(bar, 1)  # its own
    arch.mbarrier_init_fence()
    if const_expr(how == 0):
        arch.cluster_arrive()
        arch.cluster_wait()
    else:
        arch.sync_threads()
    if thread == 0:
        arch.mbarrier_arrive(bar, rank ^ 1)  # the peer's
    arch.mbarrier_wait(bar, 0)
    (target + rank * THREADS + thread).store((source + thread).load())
    arch.cluster_arrive()
    arch.cluster_wait()


@cute.kernel
def leaders_scalar(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """All threads read what the leader has published; the leader publishes the next."""
    thread, _, _ = arch.thread_idx()
    data = buffer(4)
    for turn in cutlass.range(TURNS, unroll=1):
        if thread == 0:
            data[0] = (source + turn).load()  # published
        arch.sync_threads()
        (target + thread + turn * THREADS).store(data[0])
        if const_expr(how == 0):
            arch.sync_threads()


@cute.kernel
def staged_rows(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Each thread puts its part of a tile into shared memory; others bring it to global memory."""
    thread, _, _ = arch.thread_idx()
    data = buffer(4 * THREADS)
    for i in cutlass.range_constexpr(4):
        data[4 * thread + i] = (source + 4 * thread + i).load()  # from registers
    if const_expr(how == 0):
        arch.sync_threads()
    for i in cutlass.range_constexpr(4):
        (target + i * THREADS + thread).store(data[i * THREADS + thread])  # rows


@cute.kernel
def staged_store(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Ordinary stores, a barrier, and a bulk store: the proxy fence is missing."""
    thread, _, _ = arch.thread_idx()
    data = buffer(WORDS)
    for i in cutlass.range(thread, WORDS, THREADS, unroll=1):
        data[i] = (source + i).load()
    if const_expr(how == 0):
        arch.fence_proxy("async.shared", space="cta")
    arch.sync_threads()
    if thread == 0:
        store(data, flat(target, WORDS))
        arch.cp_async_bulk_wait_group(0, read=True)


@cute.kernel
def converted_state(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """A tile that came in bulk is changed in place and stored in bulk again."""
    thread, _, _ = arch.thread_idx()
    data, bar = buffer(WORDS), barriers(1)
    if thread == 0:
        arch.mbarrier_init(bar, 1)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    for turn in cutlass.range(TURNS, unroll=1):
        if thread == 0:
            load(flat(source + turn * WORDS, WORDS), data, bar)
        arch.mbarrier_wait(bar, turn & 1)
        for i in cutlass.range(thread, WORDS, THREADS, unroll=1):
            data[i] = data[i] + 1  # in place
        if const_expr(how == 0):
            arch.fence_proxy("async.shared", space="cta")
        arch.sync_threads()
        if thread == 0:
            store(data, flat(target + turn * WORDS, WORDS))
            arch.cp_async_bulk_wait_group(0, read=True)
        arch.sync_threads()


@cute.kernel
def reloaded_stage(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Two stages, loaded and stored in bulk: a stage is loaded again before it has been stored."""
    thread, _, _ = arch.thread_idx()
    data, bar = (
        SmemAllocator().allocate_tensor(Int32, cute.make_layout((WORDS, 2)), byte_alignment=128),
        barriers(2),
    )
    if thread == 0:
        for stage in cutlass.range_constexpr(2):
            arch.mbarrier_init(bar + stage, 1)
        arch.mbarrier_init_fence()
        for stage in cutlass.range_constexpr(2):
            load(flat(source + stage * WORDS, WORDS), data[None, stage], bar + stage)
        for turn in cutlass.range(TURNS, unroll=1):
            stage = turn % 2
            arch.mbarrier_wait(bar + stage, turn // 2 & 1)
            store(data[None, stage], flat(target + turn * WORDS, WORDS))
            if turn + 2 < TURNS:
                arch.cp_async_bulk_wait_group(0 if const_expr(how == 0) else 1, read=True)
                load(flat(source + (turn + 2) * WORDS, WORDS), data[None, stage], bar + stage)
        arch.cp_async_bulk_wait_group(0, read=True)


@cute.kernel
def read_then_loaded(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Ordinary loads of a tile, and the bulk load of the next one over it."""
    thread, _, _ = arch.thread_idx()
    data, bar = buffer(WORDS), barriers(1)
    if thread == 0:
        arch.mbarrier_init(bar, 1)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    for turn in cutlass.range(TURNS, unroll=1):
        if thread == 0:
            load(flat(source + turn * WORDS, WORDS), data, bar)
        arch.mbarrier_wait(bar, turn & 1)
        (target + thread + turn * THREADS).store(data[3 * thread])  # read
        if const_expr(how == 0):
            arch.fence_proxy("async.shared", space="cta")
        arch.sync_threads()


@cute.kernel
def arrived_twice(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Three warps signal a fourth, tile after tile, and do not wait for it."""
    thread, _, _ = arch.thread_idx()
    data = buffer(THREADS)
    for turn in cutlass.range(TURNS, unroll=1):
        if thread < 96:
            data[thread] = (source + thread + turn * THREADS).load()
            if const_expr(how == 0):
                arch.barrier(barrier_id=1, number_of_threads=THREADS)
                arch.barrier(barrier_id=2, number_of_threads=THREADS)
            else:
                arch.barrier_arrive(barrier_id=1, number_of_threads=THREADS)  # and on
        else:
            arch.barrier(barrier_id=1, number_of_threads=THREADS)
            (target + thread + turn * THREADS).store(data[thread - 32])
            if const_expr(how == 0):
                arch.barrier(barrier_id=2, number_of_threads=THREADS)


@cute.kernel
def leaders_release(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """One warp gives a stage back for all that read it."""
    thread, _, _ = arch.thread_idx()
    warp = arch.make_warp_uniform(arch.warp_idx())
    data, full, empty = buffer(WORDS), barriers(1), barriers(1)
    if thread == 0:
        arch.mbarrier_init(full, 1)
        arch.mbarrier_init(empty, 1)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    if warp == 0:
        for turn in cutlass.range(TURNS, unroll=1):
            arch.mbarrier_wait(empty, turn & 1 ^ 1)
            with arch.elect_one():
                load(flat(source + turn * WORDS, WORDS), data, full)  # the next
    else:
        for turn in cutlass.range(TURNS, unroll=1):
            arch.mbarrier_wait(full, turn & 1)
            (target + thread + turn * THREADS).store(data[thread * 3])  # each warp
            if const_expr(how == 0):
                arch.barrier(barrier_id=1, number_of_threads=96)
            if warp == 1:
                with arch.elect_one():
                    arch.mbarrier_arrive(empty)


@cute.kernel
def partial_warp(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """48 threads exchange values; a barrier wants whole warps, and was left out."""
    thread, _, _ = arch.thread_idx()
    data = buffer(64)
    if thread < (64 if const_expr(how == 0) else 48):
        data[thread] = (source + thread).load()
        if const_expr(how == 0):
            arch.barrier(barrier_id=1, number_of_threads=64)
        (target + thread).store(data[47 - thread] if thread < 48 else 0)


@cute.kernel
def shared_operand(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """All threads stage an operand that two groups of warps read; the next turn stages over it."""
    thread, _, _ = arch.thread_idx()
    data = buffer(4 * THREADS)
    here = quads(data.iterator, 1)[thread, None, 0]
    for turn in cutlass.range(TURNS, unroll=1):
        cute.copy(cp(), quads(source)[thread, None, turn], here)  # staged
        arch.cp_async_commit_group()
        arch.cp_async_wait_group(0)
        arch.sync_threads()
        if thread < 64:
            (target + thread + turn * THREADS).store(data[4 * (THREADS - 1 - thread)])  # one group
        else:
            (target + thread + turn * THREADS).store(data[4 * (THREADS - 1 - thread) + 1])
        if const_expr(how == 0):
            arch.sync_threads()


@cute.kernel
def barrier_for_wait(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """One warp copies by cp.async; the barrier behind it does not wait for the copy."""
    thread, _, _ = arch.thread_idx()
    data = buffer(THREADS)
    here = quads(data.iterator, 1)[thread, None, 0]
    data[thread] = Int32(-1)
    arch.sync_threads()
    if thread < 32:
        cute.copy(cp(), quads(source)[thread, None, 0], here)  # copied
        arch.cp_async_commit_group()
        if const_expr(how == 0):
            arch.cp_async_wait_group(0)
    arch.sync_threads()
    (target + thread).store(data[thread])  # read


@cute.kernel
def everyones_sum(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """A sum in shared memory that every thread adds to, and one should."""
    thread, _, _ = arch.thread_idx()
    data = buffer(4)
    if thread == 0:
        data[0] = Int32(0)
    arch.sync_threads()
    for turn in cutlass.range(TURNS, unroll=1):
        if const_expr(how == 1) or thread == 0:
            data[0] = data[0] + (source + turn).load()  # added
        arch.sync_threads()
    (target + thread).store(data[0])


@cute.kernel
def warps_sums(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Mean and variance go through one buffer of sums, one for each warp."""
    thread, _, _ = arch.thread_idx()
    data = buffer(4)
    value = (source + thread).load()
    if thread % 32 == 0:
        data[thread // 32] = value  # the first
    arch.sync_threads()
    mean = data[0] + data[1] + data[2] + data[3]  # read
    if const_expr(how == 0):
        arch.sync_threads()
    if thread % 32 == 0:
        data[thread // 32] = value * mean  # the second
    arch.sync_threads()
    (target + thread).store(mean + data[0] + data[1] + data[2] + data[3])


@cute.kernel
def second_tile(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Three turns for each tile; the phase is turned over behind two of the three waits."""
    thread, _, _ = arch.thread_idx()
    data, full, empty = buffer(WORDS), barriers(1), barriers(1)
    if thread == 0:
        arch.mbarrier_init(full, 1)
        arch.mbarrier_init(empty, 96)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    if thread < 32:
        for turn in cutlass.range(6, unroll=1):
            arch.mbarrier_wait(empty, turn & 1 ^ 1)
            if thread == 0:
                load(flat(source + turn * WORDS, WORDS), data, full)  # each turn
    else:
        phase = Int32(0)
        for tile in cutlass.range(2, unroll=1):
            for turn in cutlass.range(3, unroll=1):
                arch.mbarrier_wait(full, phase)
                (target + thread + (3 * tile + turn) * THREADS).store(data[thread])  # read
                arch.mbarrier_arrive(empty)
                if const_expr(how == 0) or turn < 2:
                    phase ^= 1


@cute.kernel
def foreign_tail(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """A warp waits for the end of a pipeline that it has put nothing into."""
    thread, _, _ = arch.thread_idx()
    data, full, empty = buffer(THREADS), barriers(1), barriers(1)
    if thread == 0:
        arch.mbarrier_init(full, 32)
        arch.mbarrier_init(empty, 32)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    if thread < 32:
        data[thread] = (source + thread).load()
        arch.mbarrier_arrive(full)
        arch.mbarrier_wait(empty, 0)
    elif thread < 64:
        arch.mbarrier_wait(full, 0)
        (target + thread).store(data[thread - 32])
        arch.mbarrier_arrive(empty)
    elif const_expr(how == 1):
        arch.mbarrier_wait(empty, 1)
        arch.mbarrier_wait(empty, 0)
        arch.mbarrier_wait(empty, 1)  # of a second tile


@cute.kernel
def relaxed_spin(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """A block spins until another has written its line; what it spins on acquires nothing."""
    thread, _, _ = arch.thread_idx()
    block, _, _ = arch.block_idx()
    lines, flags = target + 1024, target + 4096
    after = (block + 1) % 4
    (lines + thread + block * THREADS).store((source + thread + block * THREADS).load())  # its line
    arch.sync_threads()
    if thread == 0:
        order = ("release", "acquire") if const_expr(how == 0) else ("relaxed", "relaxed")
        arch.store(flags + block, Int32(1), sem=order[0], scope="gpu")
        seen = Int32(0)
        while seen != 1:
            seen = arch.load(flags + after, Int32, sem=order[1], scope="gpu")
    arch.sync_threads()
    (target + thread + block * THREADS).store((lines + thread + after * THREADS).load())  # the next


@cute.kernel
def skipped_handshake(source: cute.Pointer, target: cute.Pointer, how: Constexpr):
    """Staging slots by the parity of a tile's own turns: an odd tile's last slot is the next tile's first."""
    thread, _, _ = arch.thread_idx()
    data = buffer(2 * THREADS)
    for tile in cutlass.range(2, unroll=1):
        for turn in cutlass.range(3, unroll=1):
            slot = (turn if const_expr(how == 1) else 3 * tile + turn) % 2
            data[slot * THREADS + thread] = (source + thread + (3 * tile + turn) * THREADS).load()  # staged
            arch.sync_threads()
            other = data[slot * THREADS + (thread + 32) % THREADS]  # read
            (target + thread + (3 * tile + turn) * THREADS).store(other)


@cute.jit
def run(source: cute.Pointer, target: cute.Pointer, name: Constexpr, how: Constexpr):
    report = REPORTS[name]
    globals()[name](source, target, how).launch(
        grid=(report.grid * report.cluster, 1, 1), block=(THREADS, 1, 1), cluster=(report.cluster, 1, 1)
    )


REPORTS = {
    "reused_operand": Report(
        "sgl-project/sglang#37287", "sums stored over an operand that other warps still read",
        ("LC504", "# the operand", "# the partial sum")),
    "peers_half": Report(
        "NVIDIA/cutlass#3647 (#3643)", "the peer's load is read, and nobody has waited for it",
        ("LC501", "CopyBulkG2SOp", "llvm.load"), cluster=2),
    "never_initialised": Report(
        "NVIDIA/cutlass#2364", "bytes announced to an mbarrier without initialisation",
        ("LC506", "expect_tx", "")),
    "peers_mbarrier": Report(
        "NVIDIA/cutlass#3316", "a peer is signalled before its mbarrier is initialised",
        ("LC506", "# its own", "# the peer's"), cluster=2),
    "leaders_scalar": Report(
        "NVIDIA/TensorRT-LLM#18339", "a published scalar is rewritten before all have read it",
        ("LC504", "store(data[0])", "# published")),
    "staged_rows": Report(
        "Dao-AILab/flash-attention#1344", "rows leave shared memory before all warps have written them",
        ("LC504", "# from registers", "# rows")),
    "staged_store": Report(
        "MoonshotAI/FlashKDA#24", "ordinary stores and a TMA store with a barrier, but no proxy fence",
        ("LC505", "data[i] =", "CopyBulkS2GOp")),
    "converted_state": Report(
        "inclusionAI/cuLA#114", "a tile changed in place is stored by TMA without a proxy fence",
        ("LC505", "# in place", "CopyBulkS2GOp")),
    "reloaded_stage": Report(
        "deepseek-ai/DeepEP#660 (#657, #674)", "the store of the stage that is loaded again is left open",
        ("LC502", "CopyBulkS2GOp", "CopyBulkG2SOp")),
    "read_then_loaded": Report(
        "deepseek-ai/DeepEP#642 (#621, #632)", "ordinary reads and a TMA load, no proxy fence (a note)",
        ("LC522", "# read", "CopyBulkG2SOp")),
    "arrived_twice": Report(
        "vllm-project/vllm#26026", "bar.arrive in a loop, with nothing that waits for the other side",
        ("LC509", "# and on", "# and on")),
    "leaders_release": Report(
        "triton-lang/triton#10035", "one warp releases a stage before the others have read it",
        ("LC503", "# each warp", "CopyBulkG2SOp")),
    "partial_warp": Report(
        "tile-ai/tilelang#2556 (#2679)", "the barrier of 48 threads was dropped",
        ("LC504", "data[thread] = (source", "47 - thread")),
    "shared_operand": Report(
        "tile-ai/tilelang#2613", "no barrier between the last reads and the next turn's copies",
        ("LC503", "# one group", "# staged")),
    "barrier_for_wait": Report(
        "NVIDIA/Fuser#3438", "a barrier stands for cp.async.wait_all",
        ("LC501", "# copied", "# read")),
    "everyones_sum": Report(
        "fla-org/flash-linear-attention#890", "every thread adds to one sum",
        ("LC504", "# added", "# added")),
    "warps_sums": Report(
        "flashinfer-ai/flashinfer#3607", "sums of the variance over sums of the mean that are still read",
        ("LC504", "# read", "# the second")),
    "second_tile": Report(
        "pytorch/helion#3621", "the last wait of a tile does not turn the phase over",
        ("LC503", "# read", "CopyBulkG2SOp")),
    "foreign_tail": Report(
        "flashinfer-ai/flashinfer#3581", "the tail of a pipeline by a warp that is not its producer",
        ("LC510", "# of a second tile", "")),
    "relaxed_spin": Report(
        "NVIDIA/cutlass#3117 (#3118)", "a flag is polled with relaxed loads",
        ("LC514", "# its line", "# the next"), grid=4),
    "skipped_handshake": Report(
        "pytorch/helion#3621", "staging slots begin anew with each tile",
        ("LC504", "# read", "# staged")),
}  # fmt: skip


def pointers():
    return [make_ptr(Int32, 1 << 24, cute.AddressSpace.gmem, assumed_align=128) for _ in range(2)]


def on_gpu(name: str, how: int, run) -> None:
    """Run the fixed kernel once and the asked variant twenty times; fails where they differ."""
    from cuda.bindings import driver

    def call(name, *arguments):
        status, *values = getattr(driver, name)(*arguments)
        if int(status):
            sys.exit(f"{name}: {status.name}")
        return values[0] if values else None

    call("cuInit", 0)
    call("cuCtxSetCurrent", call("cuDevicePrimaryCtxRetain", call("cuDeviceGet", 0)))
    words, blank = np.arange(1, 1 << 14, dtype=np.int32), np.full(1 << 13, -7, np.int32)
    source, target = (int(call("cuMemAlloc", one.nbytes)) for one in (words, blank))
    call("cuMemcpyHtoD", source, words, words.nbytes)
    given = [make_ptr(Int32, at, cute.AddressSpace.gmem, assumed_align=128) for at in (source, target)]

    def result(function):
        call("cuMemcpyHtoD", target, blank, blank.nbytes)
        function(*given)
        call("cuCtxSynchronize")
        found = np.empty_like(blank)
        call("cuMemcpyDtoH", found, target, found.nbytes)
        return found

    wanted = result(cute.compile(run, *given, name, 0))
    tried = cute.compile(run, *given, name, how)
    wrong = [int((result(tried) != wanted).sum()) for _ in range(20)]
    if any(wrong):
        sys.exit(f"{sum(map(bool, wrong))} of {len(wrong)} runs differ, by up to {max(wrong)} words")


def program(run, variants) -> None:
    """Compile the named kernels, or all, each in its variants; `NAME HOW` runs one on a GPU."""
    if len(sys.argv) == 3 and sys.argv[2].isdecimal():
        on_gpu(sys.argv[1], int(sys.argv[2]), run)
        return
    for name in [word for word in sys.argv[1:] if word in variants] or variants:
        for how in range(variants[name]):
            cute.compile(run, *pointers(), name, how)


if __name__ == "__main__":
    program(run, dict.fromkeys(REPORTS, 2))
