"""Products as users write them, each right (`how` 0) and with faults of operands, accumulators and epilogues.

python -m tests.provenance.users NAME HOW [HOW ...]      # compile these variants
"""

from __future__ import annotations

import sys

import cutlass
import cutlass.cute as cute
from cutlass import (
    BFloat16,
    Constexpr,
    Float4E2M1FN,
    Float8E4M3FN,
    Float8E8M0FNU,
    Float32,
    Int32,
    Int64,
    const_expr,
    pipeline,
)
from cutlass.cute.nvgpu import OperandMajorMode, cpasync, tcgen05, warp, warpgroup
from cutlass.cute.runtime import make_fake_tensor
from cutlass.memory import SmemAllocator
from cutlass.utils import LayoutEnum, blackwell_helpers, blockscaled_layout, hopper_helpers

arch = cute.arch
N = 128  # threads of warps that compute
# kernel -> what its variants from 1 on are told; "" if nothing, "not checked" if more is named than of 0
TOLD = {
    "warps": ("LC604", "LC100 LC257", "LC602", "LC603", "LC609", "LC612", "LC604", "LC604", "LC604",
              "LC604", "LC501 LC603", "LC604", "LC603", "LC602", "LC604", "note LC613", "LC604", "right",
              "right", "LC613", "LC613", "right", "not checked", "LC613", "LC613", "not checked", "",
              "right", "LC603", "right", "note LC613", "right", "note LC614",
              "not checked"),
    "groups": ("LC604", "LC603", "LC612", "LC612", "LC609", "LC501 LC502 LC603", "LC604", "LC604",
               "LC507", "not checked", "LC603", "LC604", "note LC203", "refused", "LC234 LC237 LC603",
               "LC603", "LC604", "right", "LC613"),
    "blocks": ("LC603", "LC612", "LC609", "LC612", "LC501 LC502 LC603", "LC610", "LC250", "LC604",
               "note LC203", "LC603", "LC604", "LC507", "LC604", "LC610", "right"),
    "scaled": ("LC612", "LC603", "LC604", "LC501 LC603", "LC501", "not checked", "not checked",
               "not checked", "not checked", "not checked", "not checked", "LC105", "not checked"),
    "scaled4": ("LC612", "LC603", "LC604"),
}  # fmt: skip
NAMED = {"scaled": "scale factors of", "scaled4": "scale factors of"}  # what is not checked


def bars(n):
    return SmemAllocator().allocate_array(Int64, n)


def grp(n=1):
    return pipeline.CooperativeGroup(pipeline.Agent.Thread, n)


def st(user, n):
    return pipeline.make_pipeline_state(getattr(pipeline.PipelineUserType, user), n)


def swizzled(rows, columns, bits=2):
    """A K-major tile of bf16 with a swizzle."""
    atom = cute.make_composed_layout(
        cute.make_swizzle(bits, 3, 3), 0, cute.make_layout((8, 32), stride=(32, 1))
    )
    return cute.tile_to_shape(atom, (rows, columns), (0, 1))


@cute.kernel
def warps(
    a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, mma: cute.TiledMma, other: cute.TiledMma,
    turns: Int32, how: Constexpr,
):  # fmt: skip
    """C = A B^T by cp.async, ldmatrix and mma.sync, two stages. 1 fragments of A from B's tile and the
    other way; 2 ldmatrix of B transposes; 3 B's tile read without its swizzle; 4 B's k-block is the next;
    5 accumulators not zeroed; 6 zeroed in each k-tile; 7 C at exchanged coordinates; 8 C's tile of block
    (x, x); 9 C's slice of thread t ^ 1; 10 B's fragment filled for another tiled MMA; 11 reads the other
    stage; 12 B's tile of block x; 13 B's k-tile is the next; 14 A's copy is B's; 15 C partitioned by the
    other MMA; 16 the last k-tile is left out; 17 A's slice of the lane; 18 each k-tile begins with what the
    warp thinks of the one before (right); 19 zeroed in each k-tile, behind a printf (right); 20 k-block 0 in
    the place of all; 21 the ring brings each k-tile again, of dynamic extents; 22 these, the next k-block
    first (right); 23 an extent of A's rows says which k-tile is loaded: right where it is 64; 24 the last
    turn is left out, its tile is loaded; 25 the same of dynamic extents; 26 an integer says how many turns
    there are: right where it is that of the k-tiles; 27 the last turn is left out, and its tile of A alone is
    loaded; 28 the last turn has a loop of its own (right); 29 k-tiles from the ninth
    on have a statement of their own, which loads B's k-tile before; 30 the right one (right); 31 the last
    k-tile is left out, of dynamic extents; 32 adds column 0 of B (right); 33 that of the tile of x; 34 the
    second half of the results is added to that before it"""
    t, (bx, by, _) = arch.thread_idx()[0], arch.block_idx()
    K, S = 32, 2
    al = SmemAllocator()
    raw = [
        al.allocate_tensor(
            BFloat16,
            cute.append(cute.make_layout((64, K), stride=(K, 1)), cute.make_layout(S, stride=64 * K)),
            1024,
        )
        for _ in "ab"
    ]
    sa, sb = (
        cute.make_tensor(one.iterator, cute.tile_to_shape(swizzled(8, K), (64, K, S), (0, 1, 2)))
        for one in raw
    )
    ga = cute.local_tile(a, (64, K), (bx, None))
    gb = cute.local_tile(b, (64, K), (bx if const_expr(how == 12) else by, None))
    gc = cute.local_tile(c, (64, 64), (bx, bx) if const_expr(how == 8) else (bx, by))
    fill = cute.make_tiled_copy_tv(
        cute.make_copy_atom(cpasync.CopyG2SOp(), BFloat16, num_bits_per_copy=128),
        cute.make_layout((32, 4), stride=(4, 1)), cute.make_layout((1, 8)),
    )  # fmt: skip
    mine = fill.get_slice(t)
    fa, ta, fb, tb = mine.partition_S(ga), mine.partition_D(sa), mine.partition_S(gb), mine.partition_D(sb)
    thread = mma.get_slice(t)
    ra = mma.make_fragment_A(thread.partition_A(sa[None, None, 0]))
    rb = mma.make_fragment_B(thread.partition_B(sb[None, None, 0]))
    gc = cute.make_tensor(gc.iterator, cute.select(gc.layout, mode=[1, 0])) if const_expr(how == 7) else gc
    stored = other if const_expr(how == 15) else mma
    out = stored.get_slice(t ^ 1 if const_expr(how == 9) else t).partition_C(gc)
    total = cute.make_rmem_tensor(thread.partition_C(gc).shape, Float32)
    if const_expr(how != 5):
        total.fill(0.0)
    atom_a = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), BFloat16)
    atom_b = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(how == 2, 4), BFloat16)
    make_a = cute.make_tiled_copy_B if const_expr(how == 14) else cute.make_tiled_copy_A
    copy_a = make_a(atom_a, mma)
    copy_b = cute.make_tiled_copy_B(atom_b, other if const_expr(how == 10) else mma)
    thread_a, thread_b = copy_a.get_slice(t % 32 if const_expr(how == 17) else t), copy_b.get_slice(t)
    view_b = sb
    if const_expr(how == 3):
        view_b = cute.make_tensor(raw[1].iterator, cute.make_layout((64, K, S), stride=(K, 1, 64 * K)))
    first, second = (view_b, sa) if const_expr(how == 1) else (sa, view_b)
    la, lb = thread_a.partition_S(first), thread_b.partition_S(second)
    ma, mb = thread_a.retile(ra), thread_b.retile(rb)
    tiles = cute.size(ga, mode=[2])
    if const_expr(how in (16, 31)):
        tiles -= 1
    cute.copy(fill, fa[None, None, None, 0], ta[None, None, None, 0])
    cute.copy(fill, fb[None, None, None, 1 if const_expr(how == 13) else 0], tb[None, None, None, 0])
    arch.cp_async_commit_group()
    last = (
        turns // 64 if const_expr(how == 26) else tiles - 1 if const_expr(how in (24, 25, 27, 28)) else tiles
    )
    for k in cutlass.range(last, unroll=1):
        nxt = k + 1
        if nxt < tiles:
            ka = k if const_expr(how == 21) else nxt
            if const_expr(how == 23):
                ka = nxt // (a.shape[0] // 64)
            kb = (nxt + 1) % tiles if const_expr(how == 13) else ka
            if const_expr(how in (29, 30)):
                if nxt > 8:
                    cute.copy(fill, fa[None, None, None, nxt], ta[None, None, None, nxt % S])
                    kb = nxt - 1 if const_expr(how == 29) else nxt
                    cute.copy(fill, fb[None, None, None, kb], tb[None, None, None, nxt % S])
                else:
                    cute.copy(fill, fa[None, None, None, nxt], ta[None, None, None, nxt % S])
                    cute.copy(fill, fb[None, None, None, nxt], tb[None, None, None, nxt % S])
            else:
                cute.copy(fill, fa[None, None, None, ka], ta[None, None, None, nxt % S])
            if const_expr(how in (29, 30)):
                pass
            elif const_expr(how != 27) or nxt < last:
                cute.copy(fill, fb[None, None, None, kb], tb[None, None, None, nxt % S])
        arch.cp_async_commit_group()
        arch.cp_async_wait_group(1)
        arch.sync_threads()
        if const_expr(how == 19):
            cute.printf("{}", total[0])
        if const_expr(how in (6, 19)):
            total.fill(0.0)
        if const_expr(how == 18):
            total.fill(1.0 if arch.vote_any_sync(total[0] > 4.0) else 0.0)
        stage = k % S
        other_stage = (k + 1) % S if const_expr(how == 11) else stage
        cute.copy(copy_a, la[None, None, None, stage], ma)
        cute.copy(copy_b, lb[None, None, None, other_stage], mb)
        blocks = cute.size(ra, mode=[2])
        for i in cutlass.range_constexpr(blocks):
            i = 0 if const_expr(how == 20) else (i + 1) % blocks if const_expr(how == 22) else i
            j = (i + 1) % blocks if const_expr(how == 4) else i
            cute.gemm(mma, total, ra[None, None, i], rb[None, None, j], total)
        arch.sync_threads()
    if const_expr(how == 28):
        arch.cp_async_wait_group(0)
        arch.sync_threads()
        cute.copy(copy_a, la[None, None, None, last % S], ma)
        cute.copy(copy_b, lb[None, None, None, last % S], mb)
        cute.gemm(mma, total, ra, rb, total)
    at = thread.partition_C(cute.make_identity_tensor((64, 64)))
    for i in cutlass.range_constexpr(cute.size(total)):
        if const_expr(how in (32, 33)):
            total[i] += b[64 * (by if const_expr(how == 32) else bx) + at[i][1], 0].to(Float32)
        if const_expr(how == 34 and i >= cute.size(total) // 2):
            total[i] += total[i - cute.size(total) // 2]
        out[i] = total[i].to(BFloat16)


@cute.jit
def run_warps(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, turns: Int32, how: Constexpr):
    op = warp.MmaF16BF16Op(BFloat16, Float32, (16, 8, 16))
    mma = cute.make_tiled_mma(op, (2, 2, 1), permutation_mnk=(32, 32, 16))
    rows = cute.make_layout((8, 2, 2), stride=(1, 16, 8))
    other = cute.make_tiled_mma(op, (2, 2, 1), permutation_mnk=(32, rows, 16))
    grid = (a.shape[0] // 64, b.shape[0] // 64, 1)
    warps(a, b, c, mma, other, turns, how).launch(grid=grid, block=(N, 1, 1))


@cute.kernel
def groups(
    aa: cute.CopyAtom, ta: cute.Tensor, ab: cute.CopyAtom, tb: cute.Tensor, c: cute.Tensor,
    mma: cute.TiledMma, la: cute.ComposedLayout, lb: cute.ComposedLayout, how: Constexpr,
):  # fmt: skip
    """C = A B^T by TMA and wgmma, two warpgroups of rows. 1 A's descriptors are B's; 2 no k-step in B's;
    3 the accumulate flag is never set; 4 it is cleared in each k-tile; 5 it is set at once, nothing
    zeroed; 6 B's stage is the next; 7 C's tile of (x, x); 8 both warpgroups store the first one's rows; 9
    TMA of A by B's descriptor; 10 coordinates of A's tile exchanged; 11 B's k-tile is the next; 12 both
    warpgroups multiply the first one's rows; 13 C transposed; 14 A's major is MN for the MMA alone; 15
    B's tile is written by another swizzle; 16 k-block of A and B from the end and from the begin; 17 B's
    tile of x; 18 k-blocks of both from the end (right); 19 the last k-block of each tile is left out"""
    t, (bx, by, _) = arch.thread_idx()[0], arch.block_idx()
    w = arch.make_warp_uniform(arch.warp_idx())
    S = 2
    al = SmemAllocator()
    a = al.allocate_tensor(BFloat16, la.outer, byte_alignment=1024, swizzle=la.inner)
    b = al.allocate_tensor(BFloat16, lb.outer, byte_alignment=1024, swizzle=lb.inner)
    pipe = pipeline.PipelineTmaAsync.create(
        num_stages=S, producer_group=grp(), consumer_group=grp(8), tx_count=(128 + 64) * 64 * 2,
        barrier_storage=bars(2 * S), cta_layout_vmnk=cute.make_layout((1, 1, 1, 1)),
    )  # fmt: skip
    one = cute.make_layout(1)
    at = (None, bx) if const_expr(how == 10) else (bx, None)
    ga = cute.local_tile(ta, (128, 64), at)
    gb = cute.local_tile(tb, (64, 64), (bx if const_expr(how == 17) else by, None))
    sa, ga = cpasync.tma_partition(aa, 0, one, cute.group_modes(a, 0, 2), cute.group_modes(ga, 0, 2))
    sb, gb = cpasync.tma_partition(ab, 0, one, cute.group_modes(b, 0, 2), cute.group_modes(gb, 0, 2))
    tiles = 3
    if w == 8:
        p = st("Producer", S)
        for k in cutlass.range(tiles, unroll=1):
            pipe.producer_acquire(p)
            kb = (k + 1) % tiles if const_expr(how == 11) else k
            first = ab if const_expr(how == 9) else aa
            cute.copy(first, ga[None, k], sa[None, p.index], tma_bar_ptr=pipe.producer_get_barrier(p))
            cute.copy(ab, gb[None, kb], sb[None, p.index], tma_bar_ptr=pipe.producer_get_barrier(p))
            pipe.producer_commit(p)
            p.advance()
        pipe.producer_tail(p)
    else:
        who = t // 128 * 128
        thr = mma.get_slice(0 if const_expr(how == 12) else who)
        ra, rb = mma.make_fragment_A(thr.partition_A(a)), mma.make_fragment_B(thr.partition_B(b))
        gc = cute.local_tile(c, (128, 64), (bx, bx) if const_expr(how == 7) else (bx, by))
        if const_expr(how == 13):
            gc = cute.local_tile(
                cute.make_tensor(c.iterator, cute.select(c.layout, mode=[1, 0])), (128, 64), (bx, by)
            )
        mine = mma.get_slice(t % 128 if const_expr(how == 8) else t).partition_C(gc)
        acc = cute.make_rmem_tensor(mine.shape, Float32)
        mma.set(warpgroup.Field.ACCUMULATE, how == 5)
        q = st("Consumer", S)
        for _k in cutlass.range(tiles, unroll=1):
            pipe.consumer_wait(q)
            warpgroup.fence()
            if const_expr(how == 4):
                mma.set(warpgroup.Field.ACCUMULATE, False)
            blocks = cute.size(ra, mode=[2])
            for i in cutlass.range_constexpr(blocks - 1 if const_expr(how == 19) else blocks):
                i = blocks - 1 - i if const_expr(how == 18) else i
                j = 0 if const_expr(how == 2) else blocks - 1 - i if const_expr(how == 16) else i
                s = (q.index + 1) % S if const_expr(how == 6) else q.index
                if const_expr(how == 1):
                    cute.gemm(mma, acc, rb[None, None, i, q.index], rb[None, None, i, q.index], acc)
                else:
                    cute.gemm(mma, acc, ra[None, None, i, q.index], rb[None, None, j, s], acc)
                if const_expr(how != 3):
                    mma.set(warpgroup.Field.ACCUMULATE, True)
            warpgroup.commit_group()
            warpgroup.wait_group(0)
            pipe.consumer_release(q)
            q.advance()
        for i in cutlass.range_constexpr(cute.size(acc)):
            mine[i] = acc[i].to(BFloat16)


@cute.jit
def run_groups(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, how: Constexpr):
    K, MN = OperandMajorMode.K, OperandMajorMode.MN
    mma = hopper_helpers.make_trivial_tiled_mma(
        BFloat16, BFloat16, MN if const_expr(how == 14) else K, K, Float32, (2, 1, 1), (64, 64)
    )
    la = hopper_helpers.make_smem_layout_a(LayoutEnum.ROW_MAJOR, (128, 64, 64), BFloat16, 2)
    lb = hopper_helpers.make_smem_layout_b(LayoutEnum.ROW_MAJOR, (128, 64, 64), BFloat16, 2)
    tile_b = cute.slice_(lb, (None, None, 0))
    if const_expr(how == 15):
        kind = warpgroup.SmemLayoutAtomKind.K_SW64
        tile_b = cute.tile_to_shape(warpgroup.make_smem_layout_atom(kind, BFloat16), (64, 64), (0, 1))
    op = cpasync.CopyBulkTensorTileG2SOp()
    aa, ta = cpasync.make_tiled_tma_atom(op, a, cute.slice_(la, (None, None, 0)), (128, 64))
    ab, tb = cpasync.make_tiled_tma_atom(op, b, tile_b, (64, 64))
    grid = (a.shape[0] // 128, b.shape[0] // 64, 1)
    groups(aa, ta, ab, tb, c, mma, la, lb, how).launch(grid=grid, block=(2 * N + 32, 1, 1))


@cute.kernel
def blocks(
    aa: cute.CopyAtom, ta: cute.Tensor, ab: cute.CopyAtom, tb: cute.Tensor, c: cute.Tensor,
    mma: cute.TiledMma, la: cute.ComposedLayout, lb: cute.ComposedLayout, how: Constexpr,
):  # fmt: skip
    """C = A B^T by TMA and tcgen05, results in tensor memory. 1 no k-step in B's descriptors; 2 the flag
    is never set; 3 it is set at once; 4 cleared in each k-tile; 5 B's stage is the next; 6 the epilogue
    reads 64 columns further; 7 the slice of the lane; 8 C's tile of (x, x); 9 C transposed; 10 B's k-tile
    is the next; 11 B's tile of x; 12 A's descriptor is B's for TMA; 13 the columns in order from the end;
    14 the accumulators of the next stage"""
    t, (bx, by, _) = arch.thread_idx()[0], arch.block_idx()
    w = arch.make_warp_uniform(arch.warp_idx())
    S, tiles = 2, 3
    al = SmemAllocator()
    hold = al.allocate_array(Int32, 1)
    a = al.allocate_tensor(BFloat16, la.outer, byte_alignment=1024, swizzle=la.inner)
    b = al.allocate_tensor(BFloat16, lb.outer, byte_alignment=1024, swizzle=lb.inner)
    loads = pipeline.PipelineTmaUmma.create(
        num_stages=S,
        producer_group=grp(),
        consumer_group=grp(),
        tx_count=(128 + 64) * 64 * 2,
        barrier_storage=bars(2 * S),
    )
    done = pipeline.PipelineUmmaAsync.create(
        num_stages=1, producer_group=grp(), consumer_group=grp(N), barrier_storage=bars(2)
    )
    if w == 0:
        arch.alloc_tmem(256, hold)
    arch.sync_threads()
    acc = mma.make_fragment_C(cute.append(mma.partition_shape_C((128, 64)), 2))
    mem = cute.make_tensor(arch.retrieve_tmem_ptr(Float32, 16, hold), acc.layout)
    thr, one = mma.get_slice(0), cute.make_layout(1)
    ga = thr.partition_A(cute.local_tile(ta, (128, 64), (bx, None)))
    gb = thr.partition_B(cute.local_tile(tb, (64, 64), (bx if const_expr(how == 11) else by, None)))
    sa, ga = cpasync.tma_partition(aa, 0, one, cute.group_modes(a, 0, 3), cute.group_modes(ga, 0, 3))
    sb, gb = cpasync.tma_partition(ab, 0, one, cute.group_modes(b, 0, 3), cute.group_modes(gb, 0, 3))
    ra, rb = mma.make_fragment_A(a), mma.make_fragment_B(b)
    if w == 5:
        p = st("Producer", S)
        for k in cutlass.range(tiles, unroll=1):
            loads.producer_acquire(p)
            kb = (k + 1) % tiles if const_expr(how == 10) else k
            cute.copy(
                ab if const_expr(how == 12) else aa,
                ga[None, k],
                sa[None, p.index],
                tma_bar_ptr=loads.producer_get_barrier(p),
            )
            cute.copy(ab, gb[None, kb], sb[None, p.index], tma_bar_ptr=loads.producer_get_barrier(p))
            p.advance()
        loads.producer_tail(p)
    elif w == 4:
        q, o = st("Consumer", S), st("Producer", 1)
        done.producer_acquire(o)
        mma.set(tcgen05.Field.ACCUMULATE, how == 3)
        for _k in cutlass.range(tiles, unroll=1):
            loads.consumer_wait(q)
            if const_expr(how == 4):
                mma.set(tcgen05.Field.ACCUMULATE, False)
            elif const_expr(how == 15):
                mma.set(tcgen05.Field.ACCUMULATE, _k != 0)
            for i in cutlass.range_constexpr(cute.size(ra, mode=[2])):
                s = (q.index + 1) % S if const_expr(how == 5) else q.index
                d = mem[None, None, None, 0]
                cute.gemm(
                    mma, d, ra[None, None, i, q.index], rb[None, None, 0 if const_expr(how == 1) else i, s], d
                )
                if const_expr(how != 2):
                    mma.set(tcgen05.Field.ACCUMULATE, True)
            loads.consumer_release(q)
            q.advance()
        done.producer_commit(o)
        o.advance()
        done.producer_tail(o)
    else:
        q = st("Consumer", 1)
        done.consumer_wait(q)
        d = mem[None, None, None, 1 if const_expr(how == 14) else 0]
        move = 32 if const_expr(how == 6) else 0
        flat = cute.make_tensor(d.iterator + move, cute.make_layout((128, 64), stride=(65536, 1)))
        if const_expr(how == 13):
            flat = cute.make_tensor(d.iterator, cute.make_layout((128, (32, 2)), stride=(65536, (1, 32))))
        load = cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x32), Float32)
        mine = tcgen05.make_tmem_copy(load, flat).get_slice(t % 32 if const_expr(how == 7) else t)
        gc = cute.local_tile(c, (128, 64), (bx, bx) if const_expr(how == 8) else (bx, by))
        if const_expr(how == 9):
            gc = cute.local_tile(
                cute.make_tensor(c.iterator, cute.select(c.layout, mode=[1, 0])), (128, 64), (bx, by)
            )
        there = mine.partition_D(gc)
        held = cute.make_rmem_tensor(there.shape, Float32)
        cute.copy(mine, mine.partition_S(flat), held)
        arch.fence_view_async_tmem_load()
        done.consumer_release(q)
        count = cute.size(held)
        for i in cutlass.range_constexpr(count):
            there[i] = held[count - 1 - i if const_expr(how == 13) else i].to(BFloat16)
    arch.sync_threads()
    if w == 0:
        arch.relinquish_tmem_alloc_permit()
        arch.dealloc_tmem(mem.iterator, 256)


@cute.jit
def run_blocks(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, how: Constexpr):
    K = tcgen05.OperandMajorMode.K
    mma = cute.make_tiled_mma(
        tcgen05.MmaF16BF16Op(
            BFloat16, Float32, (128, 64, 16), tcgen05.CtaGroup.ONE, tcgen05.OperandSource.SMEM, K, K
        )
    )
    sh = (128, 64, 64)
    la = blackwell_helpers.make_smem_layout_a(mma, sh, BFloat16, 2)
    lb = blackwell_helpers.make_smem_layout_b(mma, sh, BFloat16, 2)
    op = cpasync.CopyBulkTensorTileG2SOp(tcgen05.CtaGroup.ONE)
    aa, ta = cute.nvgpu.make_tiled_tma_atom_A(op, a, cute.select(la, mode=[0, 1, 2]), sh, mma)
    ab, tb = cute.nvgpu.make_tiled_tma_atom_B(op, b, cute.select(lb, mode=[0, 1, 2]), sh, mma)
    grid = (a.shape[0] // 128, b.shape[0] // 64, 1)
    blocks(aa, ta, ab, tb, c, mma, la, lb, how).launch(grid=grid, block=(192, 1, 1))


@cute.kernel
def scaled(
    aa: cute.CopyAtom, ta: cute.Tensor, ab: cute.CopyAtom, tb: cute.Tensor, ac: cute.CopyAtom,
    tc: cute.Tensor, ad: cute.CopyAtom, td: cute.Tensor, c: cute.Tensor, mma: cute.TiledMma,
    la: cute.ComposedLayout, lb: cute.ComposedLayout, lc: cute.Layout, ld: cute.Layout, kind: Constexpr,
    scale: Constexpr, vec: Constexpr, how: Constexpr,
):  # fmt: skip
    """C = (A SFA) (B SFB)^T. 1 the flag is never set; 2 B's k-block is 0; 3 C's tile of (x, x); 4 A's
    stage is the next; 5 the scales' stage is the next; 6 SFB's k-tile is the next; 7 the scales of
    k-block 0 for all; 8 SFA and SFB exchanged; 9 SFB's tensor memory begins where SFA's does; 10 SFA's
    tile of the block y; 11 scales of B lie on the accumulators"""
    t, (bx, by, _) = arch.thread_idx()[0], arch.block_idx()
    w = arch.make_warp_uniform(arch.warp_idx())
    S, tiles = 2, 2
    shape = (128, 128, 128 if kind.width == 8 else 256)
    al = SmemAllocator()
    hold = al.allocate_array(Int32, 1)
    a = al.allocate_tensor(kind, la.outer, byte_alignment=1024, swizzle=la.inner)
    b = al.allocate_tensor(kind, lb.outer, byte_alignment=1024, swizzle=lb.inner)
    sfa, sfb = (
        al.allocate_tensor(scale, lc, byte_alignment=1024),
        al.allocate_tensor(scale, ld, byte_alignment=1024),
    )
    bytes_ = sum(
        cute.size_in_bytes(of, cute.slice_(one, (None, None, None, 0)))
        for of, one in ((kind, la), (kind, lb), (scale, lc), (scale, ld))
    )
    loads = pipeline.PipelineTmaUmma.create(
        num_stages=S, producer_group=grp(), consumer_group=grp(), tx_count=bytes_, barrier_storage=bars(2 * S)
    )
    done = pipeline.PipelineUmmaAsync.create(
        num_stages=1, producer_group=grp(), consumer_group=grp(N), barrier_storage=bars(2)
    )
    if w == 0:
        arch.alloc_tmem(512, hold)
    arch.sync_threads()
    base = arch.retrieve_tmem_ptr(Float32, 16, hold)
    acc = cute.make_tensor(base, mma.make_fragment_C(mma.partition_shape_C(shape[:2])).layout)
    thr, one = mma.get_slice(0), cute.make_layout(1)
    parts = []
    for atom, tensor, mem, which in ((aa, ta, a, 0), (ab, tb, b, 1), (ac, tc, sfa, 0), (ad, td, sfb, 1)):
        row = bx if which == 0 else by
        if const_expr(how == 10 and mem is sfa):
            row = by
        tile = cute.local_tile(tensor, (128, shape[2]), (row, None))
        g = thr.partition_A(tile) if const_expr(which == 0) else thr.partition_B(tile)
        s, g = cpasync.tma_partition(atom, 0, one, cute.group_modes(mem, 0, 3), cute.group_modes(g, 0, 3))
        parts.append((atom, cute.filter_zeros(s), cute.filter_zeros(g)))
    ra, rb = mma.make_fragment_A(a), mma.make_fragment_B(b)
    ma = blockscaled_layout.make_tmem_layout_sfa(mma, shape, vec, cute.slice_(lc, (None, None, None, 0)))
    mb = blockscaled_layout.make_tmem_layout_sfb(mma, shape, vec, cute.slice_(ld, (None, None, None, 0)))
    at_a = base + tcgen05.find_tmem_tensor_col_offset(acc)
    ka = cute.make_tensor(cute.recast_ptr(at_a, dtype=scale), ma)
    at_b = at_a + tcgen05.find_tmem_tensor_col_offset(ka)
    if const_expr(how == 9):
        at_b = at_a
    elif const_expr(how == 11):
        at_b = base
    kb = cute.make_tensor(cute.recast_ptr(at_b, dtype=scale), mb)
    moves = []
    for mem, to in ((sfa, ka), (sfb, kb)):
        source, to = cute.filter_zeros(mem), cute.filter_zeros(to)
        s2t = tcgen05.make_s2t_copy(
            cute.make_copy_atom(tcgen05.Cp4x32x128bOp(tcgen05.CtaGroup.ONE), scale), to
        )
        part = s2t.get_slice(0)
        moves.append(
            (s2t, tcgen05.get_s2t_smem_desc_tensor(s2t, part.partition_S(source)), part.partition_D(to))
        )
    if w == 5:
        p = st("Producer", S)
        for k in cutlass.range(tiles, unroll=1):
            loads.producer_acquire(p)
            for number in cutlass.range_constexpr(4):
                kk = (k + 1) % tiles if const_expr(how == 6 and number == 3) else k
                cute.copy(
                    parts[number][0], parts[number][2][None, kk], parts[number][1][None, p.index],
                    tma_bar_ptr=loads.producer_get_barrier(p),
                )  # fmt: skip
            p.advance()
        loads.producer_tail(p)
    elif w == 4:
        q, o = st("Consumer", S), st("Producer", 1)
        done.producer_acquire(o)
        mma.set(tcgen05.Field.ACCUMULATE, False)
        for _k in cutlass.range(tiles, unroll=1):
            loads.consumer_wait(q)
            for n in cutlass.range_constexpr(2):
                stage = (q.index + 1) % S if const_expr(how == 5) else q.index
                cute.copy(moves[n][0], moves[n][1][None, None, None, None, stage], moves[n][2])
            for i in cutlass.range_constexpr(cute.size(ra, mode=[2])):
                n = 0 if const_expr(how == 7) else i
                first, second = (kb, ka) if const_expr(how == 8) else (ka, kb)
                mma.set(tcgen05.Field.SFA, first[None, None, n].iterator)
                mma.set(tcgen05.Field.SFB, second[None, None, n].iterator)
                held = (q.index + 1) % S if const_expr(how == 4) else q.index
                cute.gemm(
                    mma,
                    acc,
                    ra[None, None, i, held],
                    rb[None, None, 0 if const_expr(how == 2) else i, q.index],
                    acc,
                )
                if const_expr(how != 1):
                    mma.set(tcgen05.Field.ACCUMULATE, True)
            loads.consumer_release(q)
            q.advance()
        done.producer_commit(o)
        o.advance()
        done.producer_tail(o)
    else:
        q = st("Consumer", 1)
        done.consumer_wait(q)
        flat = cute.make_tensor(acc.iterator, cute.make_layout((128, 128), stride=(65536, 1)))
        load = cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x64), Float32)
        mine = tcgen05.make_tmem_copy(load, flat).get_slice(t)
        there = mine.partition_D(
            cute.local_tile(c, (128, 128), (bx, bx) if const_expr(how == 3) else (bx, by))
        )
        held = cute.make_rmem_tensor(there.shape, Float32)
        cute.copy(mine, mine.partition_S(flat), held)
        arch.fence_view_async_tmem_load()
        done.consumer_release(q)
        for i in cutlass.range_constexpr(cute.size(held)):
            there[i] = held[i].to(BFloat16)
    arch.sync_threads()
    if w == 0:
        arch.relinquish_tmem_alloc_permit()
        arch.dealloc_tmem(base, 512)


@cute.jit
def run_scaled(
    a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, d: cute.Tensor, e: cute.Tensor, how: Constexpr
):
    """`d` and `e` are the scales. 12 their vectors are of the other size; 13 SFB's tensor has A's
    rows."""
    kind, K = a.element_type, OperandMajorMode.K
    one = tcgen05.CtaGroup.ONE
    if const_expr(kind.width == 8):
        op = tcgen05.MmaMXF8Op(kind, (128, 128, 32), one, tcgen05.OperandSource.SMEM, K, K)
        scale, vec, shape = Float8E8M0FNU, 32, (128, 128, 128)
    else:
        op = tcgen05.MmaMXF4NVF4Op(Float8E4M3FN, (128, 128, 64), one, tcgen05.OperandSource.SMEM)
        scale, vec, shape = Float8E4M3FN, 16, (128, 128, 256)
    mma = cute.make_tiled_mma(op)
    said = (16 if vec == 32 else 32) if how == 12 else vec
    sf = [
        cute.make_tensor(
            cute.recast_ptr(one.iterator, dtype=scale),
            blockscaled_layout.tile_atom_to_shape_SF((*of.shape, 1), said),
        )
        for one, of in ((d, a), (e, a if how == 13 else b))
    ]
    sf = [one[None, None, 0] for one in sf]
    la = blackwell_helpers.make_smem_layout_a(mma, shape, kind, 2)
    lb = blackwell_helpers.make_smem_layout_b(mma, shape, kind, 2)
    lc = blockscaled_layout.make_smem_layout_sfa(mma, shape, vec, 2)
    ld = blockscaled_layout.make_smem_layout_sfb(mma, shape, vec, 2)
    op = cpasync.CopyBulkTensorTileG2SOp(one)
    made = []
    for tensor, layout, which, seen in (
        (a, la, 0, None),
        (b, lb, 1, None),
        (sf[0], lc, 0, cutlass.Int16),
        (sf[1], ld, 1, cutlass.Int16),
    ):
        make = cute.nvgpu.make_tiled_tma_atom_A if which == 0 else cute.nvgpu.make_tiled_tma_atom_B
        more = {} if seen is None else {"internal_type": seen}
        made += make(op, tensor, cute.slice_(layout, (None, None, None, 0)), shape, mma, **more)
    grid = (a.shape[0] // 128, b.shape[0] // 128, 1)
    scaled(*made, c, mma, la, lb, lc, ld, kind, scale, vec, how).launch(grid=grid, block=(192, 1, 1))


ARCHS = {"warps": "sm_80", "blocks": "sm_100a", "scaled": "sm_100a", "scaled4": "sm_100a"}


def tensor(kind, rows, columns):
    return make_fake_tensor(kind, (rows, columns), (columns, 1), assumed_align=128)


def build(name, how):
    if name == "warps":
        m, n, k = (
            (cute.sym_int(divisibility=64) for _ in "mnk")
            if 20 < how < 24 or 24 < how < 32
            else (128, 192, 128)
        )
        cute.compile(run_warps, *(tensor(BFloat16, *one) for one in ((m, k), (n, k), (m, n))), Int32(4), how)
    elif name == "groups":
        cute.compile(
            run_groups,
            tensor(BFloat16, 256, 192),
            tensor(BFloat16, 192, 192),
            tensor(BFloat16, 256, 192),
            how,
        )
    elif name == "blocks":
        cute.compile(
            run_blocks,
            tensor(BFloat16, 256, 192),
            tensor(BFloat16, 192, 192),
            tensor(BFloat16, 256, 192),
            how,
        )
    else:
        kind, depth = (Float4E2M1FN, 512) if name == "scaled4" else (Float8E4M3FN, 256)
        parts = [tensor(kind, 256, depth), tensor(kind, 384, depth), tensor(BFloat16, 256, 384)]
        scales = [
            tensor(cutlass.Int8, rows, depth // (16 if name == "scaled4" else 32)) for rows in (256, 384)
        ]
        cute.compile(run_scaled, *parts, *scales, how)


if __name__ == "__main__":
    name, *hows = sys.argv[1:]
    for how in map(int, hows):
        build(name, how)
