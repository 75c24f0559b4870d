"""Tiles of C that are those of other rows of A or columns of B, and sums that go on with the next tile."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutcheck.dsl.trace import trace_script
from layoutcheck.provenance import AGAIN, RUNNING, check_products
from layoutcheck.provenance.plain import GIVEN, WEIGHED
from tests.lowering import SharedLowering

# A tile of 16 x 8 a warp, and the same C in each batch. `how`: 0 right, 1 the coordinate of A's tile for B's,
# 2 C at (n, m), 3 one row of tiles of C for all, 4 accumulators that are cleared once. Right as well: 5 a sum
# over tiles of A, 6 C and its mirror image, 7 a sum that each block adds to C, 8 two tiles of C for one of B,
# 9 every other tile of C in its second half. `scan` adds tile after tile up and stores each sum: 0 rows of A,
# by steps of its own, and 1 by the grid's, which is a fault; 2 a triangle for A, whose last row goes on; 3
# the tiles of both turns at one place, which is a fault.
# Right: 4 another block takes each before the next comes; 5 all are kept elsewhere, too; 6 some tiles at one
# place, as by a stride that is made up; 7 the same of two blocks. `windows`: a block's sum begins at its own
# k (0), B's part of it at the first block's (1). `again` takes half of k twice: 0 is a fault; right are 1 two
# parts of numbers, by a statement for each, 2 other rows, 3 more turns than there are k; nothing is said of 4
# A times one half, 5 the sums times one half, 6 the last tile again, times 0, 7 tiles that an integer counts;
# 8 the same by a number, and 9 the first tile twice, and half of the sums, which are faults.
KERNELS = """
import cutlass
from cutlass import BFloat16, Constexpr, Float32, Int32, const_expr, cute
from cutlass.cute import arch
from cutlass.cute.nvgpu import warp
from cutlass.cute.runtime import make_fake_tensor

@cute.jit
def one(mma, a, b, c, acc, m, n, clear: Constexpr):
    thr = mma.get_slice(arch.thread_idx()[0])
    left = thr.partition_A(cute.local_tile(a, (16, 16), (m[0], None)))
    right = thr.partition_B(cute.local_tile(b, (8, 16), (n[0], None)))
    ra = mma.make_fragment_A(left[None, None, None, 0])
    rb = mma.make_fragment_B(right[None, None, None, 0])
    if const_expr(clear):
        acc.fill(0.0)
    for k in cutlass.range_constexpr(2):
        cute.autovec_copy(left[None, None, None, k], ra)
        cute.autovec_copy(right[None, None, None, k], rb)
        cute.gemm(mma, acc, ra[None, None, 0], rb[None, None, 0], acc)
    cute.autovec_copy(acc, thr.partition_C(cute.local_tile(c, (16, 8), (m[1], n[1]))))

@cute.jit
def sums(mma, a, b, c, acc, m, n):
    acc.fill(0.0)
    for i in cutlass.range_constexpr(2):
        one(mma, a, b, c, acc, (m + 2 * i, m), (n, n), False)

@cute.kernel
def tile(mma: cute.TiledMma, a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, how: Constexpr):
    m, n, l = arch.block_idx()
    acc = cute.make_rmem_tensor(mma.partition_shape_C((16, 8)), Float32)
    to = (m, n)
    if const_expr(how == 2):
        to = (n, m)
    elif const_expr(how == 3 or how == 7):
        to = (0, n)
    if const_expr(how == 5):
        sums(mma, a, b, c[None, None, l], acc, m, n)
    elif const_expr(how == 7):
        old = cute.make_fragment_like(acc)
        thr = mma.get_slice(arch.thread_idx()[0])
        cute.autovec_copy(thr.partition_C(cute.local_tile(c[None, None, l], (16, 8), to)), old)
        acc.store(old.load())
        one(mma, a, b, c[None, None, l], acc, (m, to[0]), (n, to[1]), False)
    else:
        right = m if const_expr(how == 1) else n // 2 if const_expr(how == 8) else n
        one(mma, a, b, c[None, None, l], acc, (m, to[0]), (right, to[1]), True)
    if const_expr(how == 6):
        thr = mma.get_slice(arch.thread_idx()[0])
        mirrored = cute.make_tensor(c.iterator, cute.select(c.layout, mode=[1, 0]))
        cute.autovec_copy(acc, thr.partition_C(cute.local_tile(mirrored, (16, 8), (m, n))))

@cute.kernel
def all_tiles(mma: cute.TiledMma, a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, how: Constexpr):
    many = cute.ceil_div(c.shape[1], 8)
    acc = cute.make_rmem_tensor(mma.partition_shape_C((16, 8)), Float32)
    acc.fill(0.0)
    tiles = cute.ceil_div(c.shape[0], 16) * many
    for i in cutlass.range(arch.block_idx()[0], tiles, arch.grid_dim()[0], unroll=1):
        m, n = i // many, i % many
        to = n // 2 + n % 2 * (many // 2) if const_expr(how == 9) else n
        one(mma, a, b, c[None, None, 0], acc, (m, m), (n, to), how != 4)

@cute.kernel
def scan(mma: cute.TiledMma, a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, d: cute.Tensor, how: Constexpr):
    x, lane = arch.block_idx()[0], arch.thread_idx()[0]
    acc = cute.make_rmem_tensor(mma.partition_shape_C((16, 8)), Float32)
    acc.fill(0.0)
    if const_expr(how == 0):
        for t in cutlass.range(c.shape[0] // 16, unroll=1):
            one(mma, a, b, c, acc, (t, t), (x, x), False)
    elif const_expr(how == 1):
        for t in cutlass.range(x, c.shape[0] // 16, arch.grid_dim()[0], unroll=1):
            one(mma, a, b, c, acc, (t, t), (0, 0), False)
    elif const_expr(how == 7):
        one(mma, a, b, cute.make_tensor(c.iterator + 16 * x, c.layout), acc, (x, 0), (0, 0), True)
    elif const_expr(how == 6):
        for t in cutlass.range(4, unroll=1):
            one(mma, a, b, c, acc, (t, t - t // 2), (x, x), True)
    elif const_expr(3 <= how <= 5):
        for t in cutlass.range(2, unroll=1):
            one(mma, a, b, c, acc, (x, x), (t, 0), True)
            if const_expr(how == 4):
                arch.fence_acq_rel_gpu()
            if const_expr(how == 5):
                cute.autovec_copy(acc, mma.get_slice(lane).partition_C(cute.local_tile(d, (16, 8), (x, t))))
    else:
        thr = mma.get_slice(lane)
        left = thr.partition_A(cute.local_tile(a, (16, 16), (0, 0)))
        ra = mma.make_fragment_A(left)
        cute.autovec_copy(left, ra)
        for t in cutlass.range(b.shape[1] // 16, unroll=1):
            right = thr.partition_B(cute.local_tile(b, (8, 16), (x, t)))
            rb = mma.make_fragment_B(right)
            cute.autovec_copy(right, rb)
            cute.gemm(mma, acc, ra[None, None, 0], rb[None, None, 0], acc)
            cute.autovec_copy(acc, thr.partition_C(cute.local_tile(c, (16, 8), (t, x))))
            for j in cutlass.range_constexpr(2):
                acc[j] = acc[2 + j] = arch.shuffle_sync(acc[2 + j], 28 + lane % 4)

@cute.kernel
def windows(mma: cute.TiledMma, a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, how: Constexpr):
    m = arch.block_idx()[0]
    thr = mma.get_slice(arch.thread_idx()[0])
    left = thr.partition_A(cute.local_tile(a, (16, 16), (m, None)))
    right = thr.partition_B(cute.local_tile(b, (8, 16), (0, None)))
    ra = mma.make_fragment_A(left[None, None, None, 0])
    rb = mma.make_fragment_B(right[None, None, None, 0])
    acc = cute.make_rmem_tensor(mma.partition_shape_C((16, 8)), Float32)
    acc.fill(0.0)
    cute.autovec_copy(right[None, None, None, m if const_expr(how == 0) else 0], rb)
    for k in cutlass.range(m, m + 2, unroll=1):
        cute.autovec_copy(left[None, None, None, k], ra)
        cute.gemm(mma, acc, ra[None, None, 0], rb[None, None, 0], acc)
        cute.autovec_copy(right[None, None, None, m + 1], rb)
    cute.autovec_copy(acc, thr.partition_C(cute.local_tile(c, (16, 8), (m, 0))))

@cute.kernel
def again(
    mma: cute.TiledMma, a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, each: Int32, how: Constexpr
):
    m, tiles = arch.block_idx()[0], a.shape[1] // 16
    thr = mma.get_slice(arch.thread_idx()[0])
    left, right = (cute.local_tile(x, (rows, 16), (None, None)) for x, rows in ((a, 16), (b, 8)))
    ra = mma.make_fragment_A(thr.partition_A(left[None, None, 0, 0]))
    rb = mma.make_fragment_B(thr.partition_B(right[None, None, 0, 0]))
    acc = cute.make_rmem_tensor(mma.partition_shape_C((16, 8)), Float32)
    acc.fill(0.0)
    for i in cutlass.range((tiles, tiles // 2, tiles // 2, 2 * tiles, *[tiles] * 6)[how], unroll=1):
        own = cutlass.min(i, tiles - 3), i // each, i // 2, cutlass.max(i - 1, 0)
        k = own[how - 6] if const_expr(how > 5) else i % (tiles // 2)
        cute.autovec_copy(thr.partition_B(right[None, None, 0, k]), rb)
        for row in cutlass.range_constexpr(2 if how == 2 else 1):
            cute.autovec_copy(thr.partition_A(left[None, None, m + 2 * row, k]), ra)
            if const_expr(how in (4, 6)):
                part = Float32(0.5) if how == 4 else Float32(i == k)
                ra.store((ra.load().to(Float32) * part).to(BFloat16))
            cute.gemm(mma, acc, ra[None, None, 0], rb[None, None, 0], acc)
        if const_expr(how == 1):
            ra.store((ra.load().to(Float32) - 1.0).to(BFloat16))
            cute.gemm(mma, acc, ra[None, None, 0], rb[None, None, 0], acc)
    if const_expr(how == 5):
        acc.store(acc.load() * 0.5)
    if const_expr(how == 9):
        half = cute.make_fragment_like(acc)
        half.store(acc.load() * 0.5)
        acc = half
    cute.autovec_copy(acc, thr.partition_C(cute.local_tile(c, (16, 8), (m, 0))))

@cute.jit
def run_along(
    a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, each: Int32, kernel: Constexpr, how: Constexpr
):
    mma = cute.make_tiled_mma(warp.MmaF16BF16Op(BFloat16, Float32, (16, 8, 16)))
    more = () if const_expr(kernel is windows) else (each,)
    kernel(mma, a, b, c, *more, how).launch(grid=(2, 1, 1), block=(32, 1, 1))

@cute.jit
def run(
    a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, d: cute.Tensor, how: Constexpr, several: Constexpr
):
    mma = cute.make_tiled_mma(warp.MmaF16BF16Op(BFloat16, Float32, (16, 8, 16)))
    if const_expr(several is None):
        scan(mma, a, b, c[None, None, 0], d, how).launch(grid=(2, 1, 1), block=(32, 1, 1))
    elif const_expr(several):
        all_tiles(mma, a, b, c, how).launch(grid=(64, 1, 1), block=(32, 1, 1))
    else:
        tiles = (*cute.ceil_div((c.shape[0], c.shape[1]), (16, 8)), c.shape[2])
        tile(mma, a, b, c, how).launch(grid=tiles, block=(32, 1, 1))

def compile(how, several, shape):
    m, n, l = shape
    a = make_fake_tensor(BFloat16, (m, 32), (32, 1), assumed_align=16)
    b = make_fake_tensor(BFloat16, (n // 2 if how == 8 else n, 32), (32, 1), assumed_align=16)
    row, batch = (cute.sym_int64(divisibility=8) if l != 2 else n * one for one in (1, 64))
    c = make_fake_tensor(Float32, (m, n, l), (row, 1, batch), assumed_align=16)
    d = make_fake_tensor(Float32, (64, 16), (16, 1), assumed_align=16)
    cute.compile(run, a, b, c, d, how, several)

for how, several in ((0, False), (1, False), (2, False), (3, False), (0, True), (4, True)):
    compile(how, several, (64, 64, 2))
for how, several in ((5, False), (6, False), (7, False), (8, False), (9, True)):
    compile(how, several, (64, 64 if how != 9 else 32, 2))
compile(1, False, [cute.sym_int(divisibility=32) for _ in range(3)])
for how in range(8):
    compile(how, None, (64, 16, 2))
for kernel, how in ((windows, 0), (windows, 1), *((again, how) for how in range(10))):
    known = kernel is windows
    k, row = (128, 128) if known else (cute.sym_int(divisibility=64), cute.sym_int64(divisibility=8))
    a, b = (make_fake_tensor(BFloat16, (n, k), (row, 1), assumed_align=16) for n in (64, 8))
    c = make_fake_tensor(Float32, (64, 8), (8, 1), assumed_align=16)
    cute.compile(run_along, a, b, c, Int32(2), kernel, how)
"""
TOLD = [
    [],
    ["LC604 one result is stored at two places of C"],
    ["LC604 C is stored under another m than its row of A"],
    ["LC604 two results are stored at one place of C"],
    [],
    ["LC602 rows of B are added to sums of other rows"],
]
TWICE = "LC613 a sum takes some k of A and B twice, and others never"


def test_tiles_are_compared_with_one_another(tmp_path: Path) -> None:
    """Each block's, or each turn's, own tile is right in all of them."""
    pytest.importorskip("cutlass", reason="kernels are traced through the installed DSL")
    script = tmp_path / "kernels.py"
    script.write_text(KERNELS)
    with SharedLowering(copies=False, products=check_products) as lowering:
        traced = trace_script(str(script), launch=False, arch="sm_80", lowering=lowering)
    found = traced.operands
    assert not traced.failures, traced.failures
    told = [[f"{x.code} {x.title}" for x in one.findings] for one in found]
    scans = [[], ["LC602 rows of A are added to sums of other rows"], [], TOLD[3], [], [], [], []]
    along = [[], ["LC603 a product pairs different k of A and B"], [TWICE], *[[]] * 7, [TWICE], [TWICE]]
    assert told == [*TOLD, *[[]] * 6, *scans, *along]
    assert [one.unchecked for one in found[:5]] == [()] * 5
    assert "set ACCUMULATE to False" in found[5].findings[0].message
    assert [AGAIN in "".join(one.unchecked) for one in found[6:12]] == [
        False,
        False,
        False,
        True,
        False,
        True,
    ]
    running = [RUNNING in "".join(one.unchecked) for one in found]
    assert running == [False] * 12 + [True] + [False] * 19
    meant = [[one.split(", where ")[1] for one in each.unchecked if ", where " in one] for each in found[26:]]
    weighed, given = (one.split(", where ")[1] for one in (WEIGHED, GIVEN))
    assert meant == [[weighed], [weighed], [weighed], [given], [], []]
    assert all(one.followed == one.products for one in found[15:])
    assert found[22].findings[0].evidence["twice"] == [0, 127]
    assert found[15].findings[0].evidence["over"] == [0, 8]
    assert found[15].findings[0].message.startswith("Two turns of a block store at C[0, 0]")
    assert found[14].followed == found[14].products == 1
