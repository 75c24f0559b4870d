"""Decode attention in two forms: one query a request, grouped KV heads, f16 in and out.

`tensor`  tensor cores, as a prefill kernel run with one query: the group's queries padded to a 16-row tile,
          S = Q K^T and O = P V by `mma.sync`, P rounded to f16 in between (FlashInfer issue 703's suspect).
          With `split_p` P goes in as two f16 numbers, P and what rounding it lost: the same kernel
          without that rounding. The row sum is taken from the P that is multiplied.
`scalar`  FP32 on the CUDA cores: sixteen threads a key, eight elements of the head each, all four queries
          of the group at once; nothing is rounded before the output.

Q is (requests, heads, 128), K and V are (requests, keys, KV heads, 128), O like Q. Four queries a KV head;
the number of keys is a multiple of 64. Softmax in base 2, with the running maximum, in f32.
"""

from __future__ import annotations

import cutlass
import cutlass.cute as cute
from cutlass import utils
from cutlass.cute.nvgpu import cpasync, warp

from layoutcheck.gpu.mma import pointer

HEAD, GROUP, KEYS, STAGES, THREADS, WARPS = 128, 4, 64, 2, 128, 4
UNROLL = 4  # keys a thread of the scalar kernel has in flight
_F16, _F32 = cutlass.Float16, cutlass.Float32
_LOWEST = -1.0e30


def _exp2(x):
    return cute.math.exp2(x, fastmath=True)


@cute.jit
def _across(value, lanes: cutlass.Constexpr, maximum: cutlass.Constexpr):
    """The sum, or the maximum, over neighbouring `lanes` lanes."""
    offset = lanes // 2
    while cutlass.const_expr(offset > 0):
        other = cute.arch.shuffle_sync_bfly(value, offset=offset)
        if cutlass.const_expr(maximum):  # noqa: SIM108  the DSL stages statements
            value = cute.arch.fmax(value, other)
        else:
            value = value + other
        offset = offset // 2
    return value


@cute.kernel
def _tensor(
    q: cute.Pointer, k: cute.Pointer, v: cute.Pointer, o: cute.Pointer,
    keys: cutlass.Int32, kv_heads: cutlass.Int32, scale: cutlass.Float32, split_p: cutlass.Constexpr,
):  # fmt: skip
    thread, _, _ = cute.arch.thread_idx()
    head, request, _ = cute.arch.block_idx()
    lane, warp_index = thread % 32, cute.arch.make_warp_uniform(thread // 32)
    pitch = cute.assume(kv_heads * HEAD, divby=HEAD)
    queries = cute.assume((cutlass.Int64(request) * kv_heads + head) * (GROUP * HEAD), divby=GROUP * HEAD)
    start = cute.assume(cutlass.Int64(request) * keys * pitch + head * HEAD, divby=HEAD)
    tiles = keys // KEYS
    view = cute.make_layout((KEYS, HEAD, tiles), stride=(pitch, 1, KEYS * pitch))
    gk, gv = cute.make_tensor(k + start, view), cute.make_tensor(v + start, view)

    smem = utils.SmemAllocator()
    # Rows of 128 bytes, two a key: their eight 16-byte units are permuted by the three low bits of the key.
    # The swizzle goes onto the pointer, so it counts in bytes: S<3,4,3>.
    atom = cute.make_composed_layout(cute.make_swizzle(3, 4, 3), 0, cute.make_layout((8, 64), stride=(64, 1)))
    tile_kv = cute.tile_to_shape(atom, (KEYS, HEAD, STAGES), order=(0, 1, 2))
    tile_q = cute.tile_to_shape(atom, (16, HEAD), order=(0, 1))
    sk = smem.allocate_tensor(_F16, tile_kv.outer, byte_alignment=128, swizzle=tile_kv.inner)
    sv = smem.allocate_tensor(_F16, tile_kv.outer, byte_alignment=128, swizzle=tile_kv.inner)
    sq = smem.allocate_tensor(_F16, tile_q.outer, byte_alignment=128, swizzle=tile_q.inner)
    partial = smem.allocate_tensor(
        _F32, cute.make_layout((WARPS, GROUP, HEAD), stride=(GROUP * HEAD, HEAD, 1))
    )
    largest = smem.allocate_tensor(_F32, cute.make_layout((WARPS, GROUP), stride=(GROUP, 1)))
    sums = smem.allocate_tensor(_F32, cute.make_layout((WARPS, GROUP), stride=(GROUP, 1)))

    load = cute.make_copy_atom(cpasync.CopyG2SOp(), _F16, num_bits_per_copy=128)
    spread = cute.make_layout((THREADS // 16, 16), stride=(16, 1))
    into_smem = cute.make_tiled_copy_tv(load, spread, cute.make_layout((1, 8))).get_slice(thread)
    from_k, to_k = into_smem.partition_S(gk), into_smem.partition_D(sk)
    from_v, to_v = into_smem.partition_S(gv), into_smem.partition_D(sv)
    for stage in cutlass.range_constexpr(STAGES - 1):
        cute.copy(into_smem, from_k[None, None, None, stage], to_k[None, None, None, stage])
        cute.copy(into_smem, from_v[None, None, None, stage], to_v[None, None, None, stage])
        cute.arch.cp_async_commit_group()

    gq = cute.make_tensor(q + queries, cute.make_layout((GROUP, HEAD), stride=(HEAD, 1)))
    for row in cutlass.range_constexpr(16):
        value = _F16(0.0)
        if cutlass.const_expr(row < GROUP):
            value = gq[row, thread]
        sq[row, thread] = value
    cute.arch.sync_threads()

    mma = cute.make_tiled_mma(warp.MmaF16BF16Op(_F16, _F32, (16, 8, 16)), permutation_mnk=(16, 16, 16))
    mine = mma.get_slice(lane)
    matrices = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), _F16)
    turned = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(True, 4), _F16)
    read_q, read_k = cute.make_tiled_copy_A(matrices, mma), cute.make_tiled_copy_B(matrices, mma)
    read_v = cute.make_tiled_copy_B(turned, mma)

    rq = mma.make_fragment_A(mine.partition_A(sq))
    tsq = read_q.get_slice(lane).partition_S(sq)
    cute.copy(read_q, tsq, read_q.get_slice(lane).retile(rq))

    # A warp's sixteen keys of each tile: K as (keys, head), V as (head, keys).
    mine_k = cute.local_tile(sk, (16, HEAD, STAGES), (warp_index, 0, 0))
    mine_v = cute.local_tile(sv, (16, HEAD, STAGES), (warp_index, 0, 0))
    turned_v = cute.make_tensor(mine_v.iterator, cute.select(mine_v.layout, mode=[1, 0, 2]))
    rk = mma.make_fragment_B(mine.partition_B(mine_k[None, None, 0]))
    rv = mma.make_fragment_B(mine.partition_B(turned_v[None, None, 0]))
    tsk, trk = read_k.get_slice(lane).partition_S(mine_k), read_k.get_slice(lane).retile(rk)
    tsv, trv = read_v.get_slice(lane).partition_S(turned_v), read_v.get_slice(lane).retile(rv)
    s = cute.make_rmem_tensor(mma.partition_shape_C((16, 16)), _F32)
    out = cute.make_rmem_tensor(mma.partition_shape_C((16, HEAD)), _F32)
    rp = cute.make_rmem_tensor(mma.partition_shape_A((16, 16)), _F16)
    rest = cute.make_rmem_tensor(mma.partition_shape_A((16, 16)), _F16)
    out.fill(0.0)
    top, total = cute.make_rmem_tensor(2, _F32), cute.make_rmem_tensor(2, _F32)
    top.fill(_LOWEST)
    total.fill(0.0)

    for tile in cutlass.range(tiles):
        cute.arch.cp_async_wait_group(STAGES - 2)
        cute.arch.sync_threads()
        stage, ahead = tile % STAGES, tile + STAGES - 1
        if ahead < tiles:
            into = ahead % STAGES
            cute.copy(into_smem, from_k[None, None, None, ahead], to_k[None, None, None, into])
            cute.copy(into_smem, from_v[None, None, None, ahead], to_v[None, None, None, into])
        cute.arch.cp_async_commit_group()
        s.fill(0.0)
        for part in cutlass.range_constexpr(HEAD // 16):
            cute.copy(read_k, tsk[None, None, part, stage], trk[None, None, part])
            cute.gemm(mma, s, rq[None, None, part], rk[None, None, part], s)
        cute.copy(read_v, tsv[None, None, None, stage], trv)
        for half in cutlass.range_constexpr(2):  # rows lane / 4 and lane / 4 + 8 of the tile
            new = top[half]
            for i in cutlass.range_constexpr(4):
                new = cute.arch.fmax(new, s[i % 2 + 2 * half + 4 * (i // 2)] * scale)
            new = _across(new, 4, True)
            shrink = _exp2(top[half] - new)
            top[half] = new
            here = _F32(0.0)
            for i in cutlass.range_constexpr(4):
                at = i % 2 + 2 * half + 4 * (i // 2)
                p = _exp2(s[at] * scale - new)
                rp[at] = p.to(_F16)
                used = rp[at].to(_F32)
                rest[at] = (p - used).to(_F16)
                if cutlass.const_expr(split_p):
                    used = used + rest[at].to(_F32)
                here = here + used
            total[half] = total[half] * shrink + here
            for i in cutlass.range_constexpr(HEAD // 4):
                at = i % 2 + 2 * half + 4 * (i // 2)
                out[at] = out[at] * shrink
        cute.gemm(mma, out, rp, rv, out)
        if cutlass.const_expr(split_p):
            cute.gemm(mma, out, rest, rv, out)

    # Rows 0 to 3 are the real queries: lanes 0 to 15, lower halves.
    whole = _across(total[0], 4, False)
    if lane < 4 * GROUP:
        for i in cutlass.range_constexpr(HEAD // 4):
            partial[warp_index, lane // 4, i // 2 * 8 + lane % 4 * 2 + i % 2] = out[i % 2 + 4 * (i // 2)]
        largest[warp_index, lane // 4] = top[0]
        sums[warp_index, lane // 4] = whole
    cute.arch.sync_threads()
    go = cute.make_tensor(o + queries, cute.make_layout((GROUP, HEAD), stride=(HEAD, 1)))
    for query in cutlass.range_constexpr(GROUP):
        best = _F32(_LOWEST)
        for part in cutlass.range_constexpr(WARPS):
            best = cute.arch.fmax(best, largest[part, query])
        value, weight = _F32(0.0), _F32(0.0)
        for part in cutlass.range_constexpr(WARPS):
            share = _exp2(largest[part, query] - best)
            value = value + share * partial[part, query, thread]
            weight = weight + share * sums[part, query]
        go[query, thread] = (value / weight).to(_F16)


@cute.kernel
def _scalar(
    q: cute.Pointer, k: cute.Pointer, v: cute.Pointer, o: cute.Pointer,
    keys: cutlass.Int32, kv_heads: cutlass.Int32, scale: cutlass.Float32,
):  # fmt: skip
    thread, _, _ = cute.arch.thread_idx()
    head, request, _ = cute.arch.block_idx()
    column, team = thread % 16, thread // 16
    teams = THREADS // 16
    pitch = cute.assume(kv_heads * HEAD, divby=HEAD)
    queries = cute.assume((cutlass.Int64(request) * kv_heads + head) * (GROUP * HEAD), divby=GROUP * HEAD)
    start = cute.assume(cutlass.Int64(request) * keys * pitch + head * HEAD + column * 8, divby=8)
    view = cute.make_layout((8, keys), stride=(1, pitch))
    gk, gv = cute.make_tensor(k + start, view), cute.make_tensor(v + start, view)
    gq = cute.make_tensor(
        q + cute.assume(queries + column * 8, divby=8), cute.make_layout((8, GROUP), stride=(1, HEAD))
    )
    smem = utils.SmemAllocator()
    partial = smem.allocate_tensor(
        _F32, cute.make_layout((teams, GROUP, HEAD), stride=(GROUP * HEAD, HEAD, 1))
    )
    largest = smem.allocate_tensor(_F32, cute.make_layout((teams, GROUP), stride=(GROUP, 1)))
    sums = smem.allocate_tensor(_F32, cute.make_layout((teams, GROUP), stride=(GROUP, 1)))

    mine = cute.make_rmem_tensor(cute.make_layout((8, GROUP)), _F16)
    cute.autovec_copy(gq, mine)
    query = cute.make_rmem_tensor(cute.make_layout((8, GROUP)), _F32)
    query.store(mine.load().to(_F32))
    out = cute.make_rmem_tensor(cute.make_layout((8, GROUP)), _F32)
    out.fill(0.0)
    top, total = cute.make_rmem_tensor(GROUP, _F32), cute.make_rmem_tensor(GROUP, _F32)
    top.fill(_LOWEST)
    total.fill(0.0)
    rk = cute.make_rmem_tensor(cute.make_layout((8, UNROLL)), _F16)
    rv = cute.make_rmem_tensor(cute.make_layout((8, UNROLL)), _F16)
    fk = cute.make_rmem_tensor(cute.make_layout((8, UNROLL)), _F32)
    fv = cute.make_rmem_tensor(cute.make_layout((8, UNROLL)), _F32)
    score = cute.make_rmem_tensor(cute.make_layout((UNROLL, GROUP)), _F32)

    for base in cutlass.range(team * UNROLL, keys, teams * UNROLL):
        for i in cutlass.range_constexpr(UNROLL):
            cute.autovec_copy(gk[None, base + i], rk[None, i])
            cute.autovec_copy(gv[None, base + i], rv[None, i])
        fk.store(rk.load().to(_F32))
        fv.store(rv.load().to(_F32))
        for g in cutlass.range_constexpr(GROUP):
            new = top[g]
            for i in cutlass.range_constexpr(UNROLL):
                dot = _F32(0.0)
                for e in cutlass.range_constexpr(8):
                    dot = dot + query[e, g] * fk[e, i]
                dot = _across(dot, 16, False) * scale
                score[i, g] = dot
                new = cute.arch.fmax(new, dot)
            shrink = _exp2(top[g] - new)
            top[g] = new
            total[g] = total[g] * shrink
            for e in cutlass.range_constexpr(8):
                out[e, g] = out[e, g] * shrink
            for i in cutlass.range_constexpr(UNROLL):
                p = _exp2(score[i, g] - new)
                total[g] = total[g] + p
                for e in cutlass.range_constexpr(8):
                    out[e, g] = out[e, g] + p * fv[e, i]

    for g in cutlass.range_constexpr(GROUP):
        for e in cutlass.range_constexpr(8):
            partial[team, g, column * 8 + e] = out[e, g]
        if column == 0:
            largest[team, g] = top[g]
            sums[team, g] = total[g]
    cute.arch.sync_threads()
    go = cute.make_tensor(o + queries, cute.make_layout((GROUP, HEAD), stride=(HEAD, 1)))
    for g in cutlass.range_constexpr(GROUP):
        best = _F32(_LOWEST)
        for part in cutlass.range_constexpr(teams):
            best = cute.arch.fmax(best, largest[part, g])
        value, weight = _F32(0.0), _F32(0.0)
        for part in cutlass.range_constexpr(teams):
            share = _exp2(largest[part, g] - best)
            value = value + share * partial[part, g, thread]
            weight = weight + share * sums[part, g]
        go[g, thread] = (value / weight).to(_F16)


@cute.jit
def _launch(
    q: cute.Pointer, k: cute.Pointer, v: cute.Pointer, o: cute.Pointer,
    requests: cutlass.Int32, keys: cutlass.Int32, kv_heads: cutlass.Int32, scale: cutlass.Float32,
    form: cutlass.Constexpr,
):  # fmt: skip
    grid, block = (kv_heads, requests, 1), (THREADS, 1, 1)
    if cutlass.const_expr(form == "scalar"):
        _scalar(q, k, v, o, keys, kv_heads, scale).launch(grid=grid, block=block)
    else:
        _tensor(q, k, v, o, keys, kv_heads, scale, form == "tensor, P in two").launch(grid=grid, block=block)


FORMS = ("scalar", "tensor", "tensor, P in two")


def compile_decode(form: str):
    """The launcher `run(q, k, v, o, requests, keys, kv_heads, scale)`, addresses as integers. Needs no GPU.

    `scale` multiplies S before the softmax in base 2: log2(e) / sqrt(128) for the usual one.
    """
    pointers = [pointer(_F16) for _ in range(4)]
    compiled = cute.compile(_launch, *pointers, 1, KEYS, 1, 1.0, form)

    def run(*arguments) -> None:
        compiled(*(pointer(_F16, address) for address in arguments[:4]), *arguments[4:])

    run.compiled = compiled
    return run
