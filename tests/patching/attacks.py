"""Working kernels and bugs in them, each with the line that an expert would write.

Plain vectors, a buffer of stages, an epilogue by stmatrix, operands by ldmatrix, TMA, ragged rows.
"""

from __future__ import annotations

from tests.patching.broken import HEAD

SCALE = (
    HEAD
    + """THREADS = 128
VEC = 4

@cute.kernel
def scale_kernel(gx: cute.Tensor, gy: cute.Tensor, tiled: cute.TiledCopy):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    x = gx[(None, None), bidx]
    y = gy[(None, None), bidx]
    thr = tiled.get_slice(tidx)
    tx, ty = thr.partition_S(x), thr.partition_D(y)
    frag = cute.make_fragment_like(tx)
    cute.copy(tiled, tx, frag)
    cute.copy(tiled, frag, ty)


@cute.jit
def scale(x: cute.Tensor, y: cute.Tensor):
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), x.element_type, num_bits_per_copy=VEC * 32)
    thr_layout = cute.make_ordered_layout((4, THREADS // 4), order=(1, 0))
    val_layout = cute.make_layout((1, VEC))
    tiled = cute.make_tiled_copy_tv(atom, thr_layout, val_layout)
    tiler = (4, THREADS)
    gx = cute.zipped_divide(x, tiler)
    gy = cute.zipped_divide(y, tiler)
    scale_kernel(gx, gy, tiled).launch(grid=[cute.size(gx, mode=[1]), 1, 1], block=[THREADS, 1, 1])


def fake(pitch=128, align=16):
    return make_fake_tensor(cutlass.Float32, (4, 128), stride=(pitch, 1), assumed_align=align)


cute.compile(scale, fake(), fake())
"""
)

STAGES = (
    HEAD
    + """
@cute.kernel
def load(src: cute.Tensor, dst: cute.Tensor, staged: cute.Layout, g2s: cute.TiledCopy, s2g: cute.TiledCopy):
    tidx, _, _ = cute.arch.thread_idx()
    smem = cutlass.memory.SmemAllocator()
    s_a = smem.allocate_tensor(cutlass.Float16, staged, byte_alignment=16)
    thr = g2s.get_slice(tidx)
    for stage in cutlass.range_constexpr(2):
        tile = cute.local_tile(src, (32, 64), (stage, 0))
        cute.copy(g2s, thr.partition_S(tile), thr.partition_D(s_a[None, None, stage]))
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    out = s2g.get_slice(tidx)
    for stage in cutlass.range_constexpr(2):
        part = out.partition_S(s_a[None, None, stage])
        regs = cute.make_fragment_like(part)
        cute.autovec_copy(part, regs)
        cute.copy(s2g, regs, out.partition_D(cute.local_tile(dst, (32, 64), (stage, 0))))


@cute.jit
def host(src: cute.Tensor, dst: cute.Tensor):
    pitch = 72
    staged = cute.make_layout((32, 64, 2), stride=(pitch, 1, 32 * pitch))
    thr = cute.make_layout((16, 8), stride=(8, 1))
    val = cute.make_layout((1, 8))
    load_atom = cute.make_copy_atom(cpasync.CopyG2SOp(), cutlass.Float16, num_bits_per_copy=128)
    g2s = cute.make_tiled_copy_tv(load_atom, thr, val)
    store_atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float16, num_bits_per_copy=128)
    s2g = cute.make_tiled_copy_tv(store_atom, thr, val)
    load(src, dst, staged, g2s, s2g).launch(grid=(1, 1, 1), block=(128, 1, 1))


def fake():
    return make_fake_tensor(cutlass.Float16, (64, 64), stride=(64, 1), assumed_align=16)


cute.compile(host, fake(), fake())
"""
)

EPILOGUE = (
    HEAD
    + """
@cute.kernel
def epilogue(dst: cute.Tensor, layout: cute.Layout, mma: cute.TiledMma, store: cute.TiledCopy):
    tidx, _, _ = cute.arch.thread_idx()
    smem = cutlass.memory.SmemAllocator()
    s_c = smem.allocate_tensor(cutlass.BFloat16, layout, byte_alignment=128)
    acc = cute.make_rmem_tensor(mma.partition_shape_C((64, 64)), cutlass.Float32)
    acc.fill(1.0)
    half = cute.make_fragment_like(acc, cutlass.BFloat16)
    half.store(acc.load().to(cutlass.BFloat16))
    atom = cute.make_copy_atom(warp.StMatrix8x8x16bOp(False, 4), cutlass.BFloat16)
    r2s = cute.make_tiled_copy_C(atom, mma)
    thr = r2s.get_slice(tidx)
    cute.copy(r2s, thr.retile(half), thr.partition_D(s_c))
    cute.arch.sync_threads()
    out = store.get_slice(tidx)
    part = out.partition_S(s_c)
    regs = cute.make_fragment_like(part)
    cute.copy(store, part, regs)
    cute.copy(store, regs, out.partition_D(dst))


@cute.jit
def host(dst: cute.Tensor):
    layout = cute.make_layout((64, 64), stride=(72, 1))
    op = warp.MmaF16BF16Op(cutlass.BFloat16, cutlass.Float32, (16, 8, 16))
    mma = cute.make_tiled_mma(op, cute.make_layout((2, 2, 1)), permutation_mnk=(32, 32, 16))
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.BFloat16, num_bits_per_copy=128)
    store = cute.make_tiled_copy_tv(atom, cute.make_layout((16, 8), stride=(8, 1)), cute.make_layout((1, 8)))
    epilogue(dst, layout, mma, store).launch(grid=(1, 1, 1), block=(128, 1, 1))


cute.compile(host, make_fake_tensor(cutlass.BFloat16, (64, 64), stride=(64, 1), assumed_align=16))
"""
)

GEMM = (
    HEAD
    + """
@cute.kernel
def gemm(
    a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, la: cute.ComposedLayout, lb: cute.ComposedLayout,
    g2s: cute.TiledCopy, mma: cute.TiledMma,
):
    tidx, _, _ = cute.arch.thread_idx()
    smem = cutlass.memory.SmemAllocator()
    s_a = smem.allocate_tensor(cutlass.Float16, la, byte_alignment=128)
    s_b = smem.allocate_tensor(cutlass.Float16, lb, byte_alignment=128)
    thr = g2s.get_slice(tidx)
    cute.copy(g2s, thr.partition_S(a), thr.partition_D(s_a))
    cute.copy(g2s, thr.partition_S(b), thr.partition_D(s_b))
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    mine = mma.get_slice(tidx)
    r_a = mma.make_fragment_A(mine.partition_A(s_a))
    r_b = mma.make_fragment_B(mine.partition_B(s_b))
    acc = mma.make_fragment_C(mma.partition_shape_C((64, 64)))
    acc.fill(0.0)
    ld_a = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), cutlass.Float16)
    ld_b = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), cutlass.Float16)
    copy_a = cute.make_tiled_copy_A(ld_a, mma)
    copy_b = cute.make_tiled_copy_B(ld_b, mma)
    ta, tb = copy_a.get_slice(tidx), copy_b.get_slice(tidx)
    cute.copy(copy_a, ta.partition_S(s_a), ta.retile(r_a))
    cute.copy(copy_b, tb.partition_S(s_b), tb.retile(r_b))
    for k in cutlass.range_constexpr(cute.size(r_a, mode=[2])):
        cute.gemm(mma, acc, r_a[None, None, k], r_b[None, None, k], acc)
    part = mine.partition_C(c)
    for i in cutlass.range_constexpr(cute.size(acc)):
        part[i] = acc[i]


@cute.jit
def host(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    base = cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, cute.make_layout((8, 64), stride=(64, 1)))
    la = cute.tile_to_shape(base, (64, 64), (0, 1))
    lb = cute.tile_to_shape(base, (64, 64), (0, 1))
    op = warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16))
    mma = cute.make_tiled_mma(op, cute.make_layout((2, 2, 1)), permutation_mnk=(32, 32, 16))
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), cutlass.Float16, num_bits_per_copy=128)
    g2s = cute.make_tiled_copy_tv(atom, cute.make_layout((16, 8), stride=(8, 1)), cute.make_layout((1, 8)))
    gemm(a, b, c, la, lb, g2s, mma).launch(grid=(1, 1, 1), block=(128, 1, 1))


def fake(dtype=cutlass.Float16):
    return make_fake_tensor(dtype, (64, 64), stride=(64, 1), assumed_align=16)


cute.compile(host, fake(), fake(), fake(cutlass.Float32))
"""
)

TMA = (
    HEAD
    + """
@cute.kernel
def tma_copy(
    load: cute.CopyAtom, gsrc: cute.Tensor, store: cute.CopyAtom, gdst: cute.Tensor,
    layout: cute.ComposedLayout,
):
    tidx, _, _ = cute.arch.thread_idx()
    smem = cutlass.memory.SmemAllocator()
    bar = smem.allocate_array(cutlass.Int64, 1)
    tile = smem.allocate_tensor(cutlass.BFloat16, layout.outer, byte_alignment=1024, swizzle=layout.inner)
    g = cute.local_tile(gsrc, (64, 64), (0, 0))
    o = cute.local_tile(gdst, (64, 64), (0, 0))
    whole = cute.group_modes(tile, 0, 2)
    s_part, g_part = cpasync.tma_partition(load, 0, cute.make_layout(1), whole, cute.group_modes(g, 0, 2))
    s_out, g_out = cpasync.tma_partition(store, 0, cute.make_layout(1), whole, cute.group_modes(o, 0, 2))
    if tidx == 0:
        cute.arch.mbarrier_init(bar, 1)
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    if tidx == 0:
        cute.arch.mbarrier_arrive_and_expect_tx(bar, 64 * 64 * 2)
    if tidx < 32:
        cute.copy(load, g_part, s_part, tma_bar_ptr=bar)
    cute.arch.mbarrier_wait(bar, 0)
    if tidx < 32:
        cute.copy(store, s_out, g_out)
        cute.arch.cp_async_bulk_commit_group()
        cute.arch.cp_async_bulk_wait_group(0)


@cute.jit
def host(src: cute.Tensor, dst: cute.Tensor):
    plain = cute.make_layout((64, 64), stride=(64, 1))
    layout = cute.make_composed_layout(cute.make_swizzle(3, 4, 3), 0, plain)
    load, gsrc = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), src, layout, (64, 64))
    store, gdst = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), dst, layout, (64, 64))
    tma_copy(load, gsrc, store, gdst, layout).launch(grid=(1, 1, 1), block=(128, 1, 1))


def fake(stride=(256, 1), align=16):
    return make_fake_tensor(cutlass.BFloat16, (256, 256), stride=stride, assumed_align=align)


cute.compile(host, fake(), fake())
"""
)

RAGGED = (
    HEAD
    + """N = 100

@cute.kernel
def ragged(x: cute.Tensor, y: cute.Tensor, tiled: cute.TiledCopy, shape: cute.Shape):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    ident = cute.make_identity_tensor(shape)
    tile = (16, 64)
    gx, gy, cx = (cute.local_tile(t, tile, (0, bidx)) for t in (x, y, ident))
    thr = tiled.get_slice(tidx)
    tx, ty, tc = thr.partition_S(gx), thr.partition_D(gy), thr.partition_S(cx)
    rows, columns = cute.size(tx, mode=[1]), cute.size(tx, mode=[2])
    order = cute.make_layout((1, rows, columns), stride=(0, columns, 1))
    pred = cute.make_rmem_tensor(order, cutlass.Boolean)
    for m in cutlass.range_constexpr(cute.size(tx, mode=[1])):
        for n in cutlass.range_constexpr(cute.size(tx, mode=[2])):
            pred[0, m, n] = cute.elem_less(tc[(0, 0), m, n], shape)
    frag = cute.make_fragment_like(tx)
    cute.copy(tiled, tx, frag, pred=pred)
    cute.copy(tiled, frag, ty, pred=pred)


@cute.jit
def host(x: cute.Tensor, y: cute.Tensor):
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.BFloat16, num_bits_per_copy=64)
    tiled = cute.make_tiled_copy_tv(atom, cute.make_layout((8, 16), stride=(16, 1)), cute.make_layout((1, 4)))
    ragged(x, y, tiled, x.shape).launch(grid=(2, 1, 1), block=(128, 1, 1))


def fake():
    return make_fake_tensor(cutlass.BFloat16, (16, N), stride=(N, 1), assumed_align=16)


cute.compile(host, fake(), fake())
"""
)


ATTACKS: dict[str, tuple[str, str, str, str]] = {
    "launch of twice the threads": (SCALE, "block=[THREADS,", "block=[2 * THREADS,", "block=[THREADS,"),
    "values across the rows": (
        SCALE,
        "make_layout((1, VEC))",
        "make_layout((VEC, 1))",
        "make_layout((1, VEC))",
    ),
    "no alignment promised": (SCALE, "align=16):", "align=4):", "fake(align=16), fake(align=16)"),
    "pitch of a stage": (STAGES, "pitch = 72", "pitch = 70", "pitch = 72"),
    "stages at odd addresses": (STAGES, "32 * pitch))", "32 * pitch + 4))", "32 * pitch + 8))"),
    "stages by columns": (STAGES, "(pitch, 1, 32 * pitch)", "(1, 32, 64 * 32)", "stride=(64, 1, 64 * 32))"),
    "cp.async of 16 bits": (
        STAGES,
        "CopyG2SOp(), cutlass.Float16, num_bits_per_copy=128",
        "CopyG2SOp(), cutlass.Float16, num_bits_per_copy=16",
        "CopyG2SOp(), cutlass.Float16, num_bits_per_copy=128",
    ),
    "stages half aligned": (STAGES, "byte_alignment=16", "byte_alignment=8", "byte_alignment=16"),
    "stages overlap": (STAGES, "32 * pitch))", "31 * pitch))", ""),
    "vectors, a pitch of 130": (SCALE, "pitch=128", "pitch=130", "num_bits_per_copy=64"),
    "vectors in rows of an odd length": (
        SCALE, "(4, 128), stride=(pitch, 1)", "(4, 101), stride=(101, 1)", "cute.elem_less(guard[i], extents)"
    ),
    "vectors of two threads": (SCALE, "((1, VEC))", "((1, VEC // 2))", "((1, 4)"),
    "stmatrix into columns": (EPILOGUE, "stride=(72, 1)", "stride=(1, 72)", "stride=(72, 1)"),
    "stmatrix, pitch 68": (EPILOGUE, "stride=(72, 1)", "stride=(68, 1)", "stride=(72, 1)"),
    "stmatrix transposes": (EPILOGUE, "8x8x16bOp(False", "8x8x16bOp(True", "8x8x16bOp(False, 4)"),
    "stmatrix of a fragment as it is": (EPILOGUE, "thr.retile(half)", "half", "thr.retile(half)"),
    "ldmatrix transposes": (
        GEMM,
        "ld_b = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False",
        "ld_b = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(True",
        "LdMatrix8x8x16bOp(False, 4)",
    ),
    "the copy of A for B": (
        GEMM,
        "make_tiled_copy_B(ld_b",
        "make_tiled_copy_A(ld_b",
        "make_tiled_copy_B(ld_b, mma)",
    ),
    "ldmatrix of a fragment as it is": (GEMM, "ta.retile(r_a)", "r_a", "ta.retile(r_a)"),
    "a swizzle of 8 bytes": (
        GEMM, "make_swizzle(3, 3, 3)", "make_swizzle(3, 2, 3)", "make_swizzle(3, 3, 3)"
    ),
    "half the warps of an MMA": (GEMM, "block=(128", "block=(64", "block=(128, 1, 1)"),
    "a swizzle that TMA does not have": (
        TMA,
        "make_swizzle(3, 4, 3)",
        "make_swizzle(3, 3, 3)",
        "make_swizzle(3, 4, 3)",
    ),
    "a padded box": (TMA, "stride=(64, 1))", "stride=(72, 1))", "stride=(64, 1))"),
    "a box by columns": (TMA, "stride=(64, 1))", "stride=(1, 64))", "stride=(64, 1))"),
    "half of the bytes expected": (TMA, "64 * 64 * 2)", "64 * 64)", "(bar, 8192)"),
    "load without its predicate": (RAGGED, "tx, frag, pred=pred)", "tx, frag)", "tx, frag, pred=pred)"),
    "store without its predicate": (RAGGED, "frag, ty, pred=pred)", "frag, ty)", "frag, ty, pred=pred)"),
    "predicate of one mode": (
        RAGGED,
        "m, n], shape)",
        "m, n][0], shape[0])",
        "cute.elem_less(guard[i], x.shape)",
    ),
}  # fmt: skip
"""A kernel, what of it is written otherwise and how, and what the line of the repair holds; "" for none."""
