"""Copies of the last block of a grid, and kernels with more shared memory than a block has."""

from __future__ import annotations

from collections import Counter

import pytest

from layoutcheck.dsl.lowered.tensors import Tensor
from layoutcheck.gate import NO_GATE
from layoutcheck.reports.style import Style
from layoutcheck.reports.trace import render
from layoutcheck.sources.traced import SMALLER, LoweredFault
from layoutcheck.tracing import judge, status
from tests.dsl.lowered.conftest import Traced

pytest.importorskip("cutlass", reason="the CuTe DSL (nvidia-cutlass-dsl) is not installed")

# Tiles of 16 x 128 of (m, n) f32, four elements a vector, with a predicate for the first of each, or without.
TAILS = """
import cutlass
from cutlass import cute
from cutlass._mlir.dialects.gpu import GPUModuleOp
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import make_fake_tensor
written = []
GPUModuleOp.__str__ = lambda module: written.append(module) or ""
CASES = {
    "right": (1000, 1000), "whole": (992, 1024), "no_load": (1000, 1000), "no_store": (1000, 1000),
    "no_whole": (992, 1024),
    "rows": (1000, 1000), "odd": (1000, 1002), "async_right": (1000, 1000), "async_no": (1000, 1000),
    "argument": (1000, 1000), "dynamic": (None, None), "view": (1000, 1000), "promised": (4, 4),
    "kept": (16, 128), "narrow": (8, 8), "huge": (65536, 65536), "large": (32768, 65536),
}
@cute.kernel
def k(
    x: cute.Tensor, y: cute.Tensor, shape: cute.Shape, rows: cutlass.Int32, tc: cute.TiledCopy,
    case: cutlass.Constexpr,
):
    t = cute.arch.thread_idx()[0]
    bx, by, _ = cute.arch.block_idx()
    tiler = (16, 128)
    tx, ty = (tc.get_slice(t).partition_S(cute.local_tile(z, tiler, (by, bx))) for z in (x, y))
    tc_ = tc.get_slice(t).partition_S(cute.local_tile(cute.make_identity_tensor(x.shape), tiler, (by, bx)))
    pred = cute.make_rmem_tensor((tc_.shape[0][1], tc_.shape[1], tc_.shape[2]), cutlass.Boolean)
    for i in cutlass.range_constexpr(cute.size(pred, mode=[0])):
        for j in cutlass.range_constexpr(cute.size(pred, mode=[1])):
            for n in cutlass.range_constexpr(cute.size(pred, mode=[2])):
                c = tc_[(0, i), j, n]
                ok = cute.elem_less(c, shape)
                if cutlass.const_expr(case == "rows"):
                    ok = cute.elem_less(c[0], shape[0])
                if cutlass.const_expr(case == "argument"):
                    ok = c[0] < rows
                pred[i, j, n] = ok
    if cutlass.const_expr(case.startswith("async")):
        rows_of_128 = cute.make_layout(tiler, stride=(128, 1))
        s = cutlass.memory.SmemAllocator().allocate_tensor(cutlass.Float32, rows_of_128, 128)
        ts = tc.get_slice(t).partition_D(s)
        if cutlass.const_expr(case == "async_no"):
            cute.copy(tc, tx, ts)
        else:
            cute.copy(tc, tx, ts, pred=pred)
    else:
        r = cute.make_fragment_like(tx)
        whole = ("no_load", "no_whole", "whole", "dynamic", "kept", "view", "huge", "large")
        if cutlass.const_expr(case in whole):
            cute.copy(tc, tx, r)
        else:
            cute.copy(tc, tx, r, pred=pred)
        if cutlass.const_expr(case in ("no_store", "no_whole", "huge", "large")):
            cute.copy(tc, r, ty)
        else:
            cute.copy(tc, r, ty, pred=pred)
@cute.jit
def host(x: cute.Tensor, y: cute.Tensor, rows: cutlass.Int32, case: cutlass.Constexpr):
    op = cpasync.CopyG2SOp() if cutlass.const_expr(case.startswith("async")) else cute.nvgpu.CopyUniversalOp()
    atom = cute.make_copy_atom(op, cutlass.Float32, num_bits_per_copy=128)
    thr, val = cute.make_layout((4, 32), stride=(32, 1)), cute.make_layout((4, 4), stride=(4, 1))
    tc = cute.make_tiled_copy_tv(atom, thr, val)
    if cutlass.const_expr(case == "view"):  # of more memory than the tensor says: only its pointer is known
        more = cute.make_layout((cute.size(x, mode=[0]) + rows, 1000), stride=(1000, 1))
        x = cute.make_tensor(x.iterator, more)
    grid = (cute.ceil_div(cute.size(x, mode=[1]), 128), cute.ceil_div(cute.size(x, mode=[0]), 16), 1)
    k(x, y, x.shape, rows, tc, case).launch(grid=grid, block=(128, 1, 1))
def view(m, n):
    if m in (None, 4, 8, 16):
        pitch = (cute.sym_int if m == 8 else cute.sym_int64)(divisibility=4)
        m, n = cute.sym_int(divisibility=m if n == 128 else 1), cute.sym_int(divisibility=n or 1)
        return make_fake_tensor(cutlass.Float32, (m, n), stride=(pitch, 1), assumed_align=16)
    return make_fake_tensor(cutlass.Float32, (m, n), stride=(n, 1), assumed_align=16)
if __name__ == "__main__":
    for case, (m, n) in CASES.items():
        cute.compile(host, view(m, n), view(m, n), 1, case)
    assert len(written) == len(CASES)  # each module once, when nothing is in it
"""
BLOCK = "(7,62,0)"
OUTSIDE = {  # case: (side, byte, the tensor's bytes) of the first access outside
    "no_load": [("src", 4003584, 4000000)],
    "no_store": [("dst", 4003584, 4000000)],
    "rows": [("src", 4000000, 4000000), ("dst", 4000000, 4000000)],
    "odd": [("src", 4008000, 4008000), ("dst", 4008000, 4008000)],
    "huge": [
        ("src", -3932672, 17179869184),
        ("dst", -3932672, 17179869184),
    ],  # rows 65521 and on, 2^32 B less
    "async_no": [("src", 4003584, 4000000)],
}
BIG = """
import cutlass
from cutlass import cute
from cutlass.cute.runtime import make_fake_tensor
@cute.kernel
def k(a: cute.Tensor, columns: cutlass.Constexpr):
    s = cutlass.memory.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout((4, columns)), 128)
    t = cute.arch.thread_idx()[0]
    if cutlass.const_expr(columns == 14530):
        s[0, t] = a[0, t]
    else:
        cute.autovec_copy(a[None, t], s[None, t])
@cute.jit
def host(a: cute.Tensor, columns: cutlass.Constexpr):
    k(a, columns).launch(grid=[1, 1, 1], block=[128, 1, 1])
if __name__ == "__main__":
    a = make_fake_tensor(cutlass.Float32, (4, 4096), stride=(1, 4), assumed_align=16)
    for columns in (14528, 14529, 14530):
        cute.compile(host, a, columns)
"""


# Longer names first: a kernel's ends with its case.
RIGHT = (
    "async_right",
    "right",
    "no_whole",
    "whole",
    "argument",
    "dynamic",
    "kept",
    "view",
    "promised",
    "narrow",
    "large",
)
CASES = (*OUTSIDE, *RIGHT)


def test_tails(traced: Traced) -> None:
    """Where the type says how large a tensor is; what rests on an argument is not told."""
    found = traced(TAILS)
    assert not found.failures, found.failures
    seen: dict[str, list[LoweredFault]] = {}
    for one in found.copies:
        case = next(name for name in CASES if one.kernel.endswith(f"_{name}"))
        seen.setdefault(case, []).extend(one.addresses.faults if one.addresses is not None else ())
    assert seen.keys() == set(CASES)
    for case, faults in seen.items():
        assert {fault.kind for fault in faults} <= {"beyond"}
        told = [(fault.side, fault.address, fault.other) for fault in faults]
        assert told == OUTSIDE.get(case, []), case
        assert all(fault.block == (BLOCK if case != "huge" else "(511,4095,0)") for fault in faults)
        assert all(fault.overflows == (case == "huge") for fault in faults)
    judged = judge(found)
    verdicts = judged.verdicts()
    unbounded = Counter(one.kernel.rpartition("_")[2] for one in found.copies if one.unbounded)
    assert unbounded == {"argument": 2, "view": 2}
    # A load without a predicate needs whole tiles, a store with one for each vector whole vectors.
    conditions = [one for one in found.copies if one.bounded_if]
    needed = {one.bounded_if.partition(":")[0] for one in conditions}
    few = "no tensor may have more than 2^31 elements (all dynamic extents below 46352)"
    assert {one.kernel.rpartition("_")[2] for one in conditions if few in one.bounded_if} == {"narrow"}
    multiples = ("of 16 in mode 0 and of 128 in mode 1", "of 4 in mode 1")
    assert needed == {few, SMALLER} | {f"the dynamic extents have to be multiples {one}" for one in multiples}
    # The store's predicate is made of the extents of what is loaded.
    others = {one.kernel.rpartition("_")[2] for one in conditions if one.bounded_if.startswith(SMALLER)}
    assert others == {"promised", "kept", "narrow"}
    others.add("dynamic")
    assert {one.kernel.rpartition("_")[2] for one in conditions} == others
    assert "with 1025 thread 0 of block (8,64,0) reads 16 B at byte 4214784 of 4214788" in {
        one.bounded_if.partition(": ")[2] for one in conditions
    }
    assert "not checked: bounds of" in render(judged, Style(width=100))
    assert "bounds of 1 copy rest on the caller" in render(judged, Style(width=100))
    assert verdicts["wrong"] == sum(len(faults) for faults in OUTSIDE.values())


def test_more_shared_memory_than_a_block_has(traced: Traced) -> None:
    found = traced(BIG)
    copied, alone = found.failures  # 227 KiB are right, 16 B more are not; the last has no copy
    for failure, taken in ((copied, 232464), (alone, 232480)):
        assert failure.kind == "uncompiled" and f"allocates {taken} B of shared memory" in failure.message
    judged = judge(found)
    assert judged.verdicts() == {"legal": 1, "unknown": 1} and status(judged, False, NO_GATE) == 1


# Four of eight warps, by a condition that a loaded number has a part in, store tiles of 64 columns and of 32.
ROLES = """
import cutlass
from cutlass import cute
from cutlass.cute.runtime import make_fake_tensor
@cute.kernel
def k(n: cute.Tensor, tiled: cute.TiledCopy, columns: cutlass.Constexpr):
    t = cute.arch.thread_idx()[0]
    s = cutlass.memory.SmemAllocator().allocate_tensor(
        cutlass.BFloat16, cute.make_layout((64, columns, 2), stride=(columns, 1, 64 * columns)), 128
    )
    part = tiled.get_slice(t).partition_D(s)
    role = cute.arch.make_warp_uniform(t // 32) + n[0] * 0
    if role < 4:
        f = cute.make_rmem_tensor(part[None, None, None, 0].shape, cutlass.BFloat16)
        f.fill(0.0)
        cute.copy(tiled, f, part[None, None, None, 0])
@cute.jit
def host(n: cute.Tensor, columns: cutlass.Constexpr):
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.BFloat16, num_bits_per_copy=128)
    tiled = cute.make_tiled_copy_tv(
        atom, cute.make_ordered_layout((64, 2), (0, 1)), cute.make_ordered_layout((1, 32), (0, 1))
    )
    k(n, tiled, columns).launch(grid=[1, 1, 1], block=[256, 1, 1])
@cute.kernel
def threads(x: cute.Tensor, tiled: cute.TiledCopy, who: cutlass.Constexpr):
    t, (low, high, less) = cute.arch.thread_idx()[0], who
    s = cutlass.memory.SmemAllocator().allocate_tensor(cutlass.Float16, x.layout, 128)
    if t >= low and t < high:
        mine = tiled.get_slice(t - less)
        cute.copy(tiled, mine.partition_S(x), mine.partition_D(s))
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    x[t % 32, t // 32] = s[t % 32, t // 32]
@cute.jit
def of_64(x: cute.Tensor, who: cutlass.Constexpr):
    atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), cutlass.Float16, num_bits_per_copy=128)
    tiled = cute.make_tiled_copy_tv(atom, cute.make_layout((8, 8), stride=(8, 1)), cute.make_layout((1, 8)))
    threads(x, tiled, who).launch(grid=[1, 1, 1], block=[256, 1, 1])
if __name__ == "__main__":
    n = make_fake_tensor(cutlass.Int32, (256,), stride=(1,), assumed_align=4)
    for columns in (64, 32):
        cute.compile(host, n, columns)
    x = make_fake_tensor(cutlass.Float16, (32, 64), stride=(64, 1), assumed_align=16)
    for who in ((0, 64, 0), (0, 128, 0), (32, 96, 32), (32, 96, 0), (128, 160, 128)):
        cute.compile(of_64, x, who)
"""
# Threads of a tiled copy of 64, by kernel: from, to, what is taken from the index; and what is told.
OF_64 = {
    "0640": set(),
    "01280": {"LC212", "LC204"},
    "329632": set(),
    "32960": {"LC203", "LC204"},
    "128160128": {"LC203"},
}


def test_warps_that_the_lowering_knows_are_the_tiled_copys_threads(traced: Traced) -> None:
    """As in quack before c8ec317: a store of half a tile by the tiled copy of the whole one."""
    found = traced(ROLES)
    assert not found.failures, found.failures
    judged = judge(found)
    given = [(one, report) for one, report in judged.reports if report is not None]
    for name, codes in OF_64.items():
        told = [report for one, report in given if any(kernel.endswith(f"_{name}") for kernel in one.kernels)]
        seen = {finding.code for report in told for finding in report.findings if finding.severity == "wrong"}
        assert told and seen == codes, name
    of_256 = [one for one in given if any("_host_" in kernel for kernel in one[0].kernels)]
    ((whole, right), (half, wrong)) = sorted(of_256, key=lambda one: one[1].verdict)
    assert right.verdict == "slow" and wrong.verdict == "wrong"
    assert [finding.code for finding in wrong.findings if finding.severity == "wrong"] == ["LC211"]
    assert whole.first.address_source == half.first.address_source == "threads"
    assert half.first.warps == (0, 32, 64, 96, -1, -1, -1, -1)
    assert half.first.copy is not None and half.first.copy.tiling is not None
    assert half.first.copy.tiling.block_threads == 128


# A tile of 64 x 64 bf16 beside an array of 36 numbers, each an allocation of its own.
PLACES = """
import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import make_fake_tensor
@cute.kernel
def k(a: cute.Tensor, o: cute.Tensor, tc: cute.TiledCopy, case: cutlass.Constexpr):
    t = cute.arch.thread_idx()[0]
    memory = cutlass.memory.SmemAllocator()
    if cutlass.const_expr(case != "alone"):
        flags = memory.allocate_tensor(cutlass.Int32, cute.make_layout(36), byte_alignment=16)
        flags[t % 36] = t % 36
    swizzle = cute.make_swizzle(3, 4, 3)
    if cutlass.const_expr(case in ("past", "inside")):
        swizzle = None
    align = 128 if cutlass.const_expr(case == "pattern") else 16
    tile = cute.make_layout((64, 64), stride=(64, 1))
    s = memory.allocate_tensor(cutlass.BFloat16, tile, align, swizzle=swizzle)
    thr = tc.get_slice(t)
    if cutlass.const_expr(case in ("past", "inside")):
        rows = 8 if cutlass.const_expr(case == "past") else 0
        s = cute.make_tensor(s.iterator + 64 * rows, s.layout)
    cute.copy(tc, thr.partition_S(a), thr.partition_D(s))
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    o[t, 0] = s[t % 64, 0]
    if cutlass.const_expr(case != "alone"):
        o[t, 1] = flags[t % 36].to(cutlass.BFloat16)
@cute.jit
def host(a: cute.Tensor, o: cute.Tensor, case: cutlass.Constexpr):
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), cutlass.BFloat16, num_bits_per_copy=128)
    tc = cute.make_tiled_copy_tv(atom, cute.make_layout((16, 8), stride=(8, 1)), cute.make_layout((1, 8)))
    k(a, o, tc, case).launch(grid=(1, 1, 1), block=(128, 1, 1))
if __name__ == "__main__":
    a, o = (make_fake_tensor(cutlass.BFloat16, (m, 64), stride=(64, 1), assumed_align=16) for m in (64, 128))
    for case in ("shifted", "pattern", "alone", "past", "inside"):
        cute.compile(host, a, o, case)
"""
# (side, byte, the allocation's bytes, bytes past a multiple of 1024) of the first access that leaves.
LEFT = {"shifted": [("dst", -16, 8192, 144)], "past": [("dst", 8192, 8192, 0)]}


def test_accesses_that_leave_their_own_allocation(traced: Traced) -> None:
    """Past its end; or by a swizzle whose pattern does not begin where the compiler puts the tile."""
    found = traced(PLACES)
    assert not found.failures, found.failures
    judged = judge(found)
    seen = set()
    for one, report in judged.reports:
        for kernel in one.kernels:
            case = kernel.rpartition("_")[2]
            seen.add(case)
            faults = one.first.addresses.faults if one.first.addresses is not None else ()
            told = [(fault.side, fault.address, fault.other, fault.base) for fault in faults]
            assert told == LEFT.get(case, []), case
            wrong = [finding.code for finding in report.findings if finding.severity == "wrong"]
            assert wrong == ["LC204"] * len(told)
    assert seen == {"shifted", "pattern", "alone", "past", "inside"}


# One row of a tile of four: the first warp of four stores the row that it has summed (quack's rmsnorm_bwd).
ONE_ROW = """
import cutlass
from cutlass import cute
from cutlass.cute.runtime import make_fake_tensor
@cute.kernel
def k(n: cute.Tensor, out: cute.Tensor, tiled: cute.TiledCopy):
    t = cute.arch.thread_idx()[0]
    part = tiled.get_slice(t).partition_D(out)
    role = cute.arch.make_warp_uniform(t // 32) + n[0] * 0
    if role == 0:
        f = cute.make_rmem_tensor(part.shape, cutlass.Float32)
        f.fill(0.0)
        cute.copy(tiled, f, part)
@cute.jit
def host(n: cute.Tensor, out: cute.Tensor):
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=128)
    tiled = cute.make_tiled_copy_tv(
        atom, cute.make_ordered_layout((4, 32), (1, 0)), cute.make_ordered_layout((1, 4), (1, 0))
    )
    k(n, out, tiled).launch(grid=[1, 1, 1], block=[128, 1, 1])
if __name__ == "__main__":
    n = make_fake_tensor(cutlass.Int32, (256,), stride=(1,), assumed_align=4)
    cute.compile(host, n, make_fake_tensor(cutlass.Float32, (1, 256), stride=(256, 1), assumed_align=16))
"""


def test_a_part_of_a_tiled_copys_threads_is_known_by_its_addresses(traced: Traced) -> None:
    found = traced(ONE_ROW)
    assert not found.failures, found.failures
    ((copy, report),) = judge(found).reports
    assert report.verdict in ("legal", "slow"), report.findings
    assert copy.first.address_source == "lowered"


DIVIDED = """
import cutlass
from cutlass import cute
from cutlass.cute.runtime import make_fake_tensor

CASES = ("right", "swapped", "wraps", "reads", "columns", "triple", "flat")

@cute.kernel
def tile(tiles: cute.Tensor, tc: cute.TiledCopy):
    block = tiles[(None, None), (cute.arch.block_idx()[0], 0)]
    part = tc.get_slice(cute.arch.thread_idx()[0]).partition_S(block)
    cute.copy(tc, part, cute.make_fragment_like(part))

@cute.kernel
def k(a: cute.Tensor, other: cute.Tensor, case: cutlass.Constexpr):
    t, (bx, by, _) = cute.arch.thread_idx()[0], cute.arch.block_idx()
    (m, n), row, column = a.shape, by * 4 + t // 32, bx * 32 + t % 32
    ok = row < m and column < n
    if cutlass.const_expr(case == "triple"):
        ok = row < m - 1 and column < other.shape[1]
        column = 3 * column + 2
    if cutlass.const_expr(case == "swapped"):
        ok = row < n and column < m
    if cutlass.const_expr(case == "columns"):
        ok = row < m - 1 and column < n + 1
    if ok:
        if cutlass.const_expr(case == "wraps"):
            if row > 0:
                a[row, column - 1] = 1.0
        elif cutlass.const_expr(case == "reads"):
            if row > 0 and row < m - 1:
                a[row, column] = a[row, column + 1]
        else:
            a[row, column] = 1.0

@cute.kernel
def flat(a: cute.Tensor):
    i, count = cute.arch.block_idx()[0] * 128 + cute.arch.thread_idx()[0], cute.size(a)
    whole = cute.make_tensor(a.iterator, cute.make_layout(count))
    if i < count:
        whole[i] = 1.0

@cute.jit
def host(a: cute.Tensor, other: cute.Tensor, case: cutlass.Constexpr):
    if cutlass.const_expr(case == "divided"):
        atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=32)
        thr, values = cute.make_layout((4, 32), stride=(32, 1)), cute.make_layout((4, 4))
        tiles = cute.zipped_divide(a, (16, 128))
        tc = cute.make_tiled_copy_tv(atom, thr, values)
        tile(tiles, tc).launch(grid=[cute.size(tiles, mode=[1, 0]), 1, 1], block=[128, 1, 1])
    elif cutlass.const_expr(case == "flat"):
        flat(a).launch(grid=[cute.ceil_div(cute.size(a), 128), 1, 1], block=[128, 1, 1])
    else:
        grid = [cute.ceil_div(a.shape[1], 32), cute.ceil_div(a.shape[0], 4), 1]
        k(a, other, case).launch(grid=grid, block=[128, 1, 1])

if __name__ == "__main__":
    for case in ("divided", *CASES):
        shape = (cute.sym_int(), cute.sym_int())
        a = make_fake_tensor(cutlass.Float32, shape, stride=(cute.sym_int64(), 1))
        other = make_fake_tensor(cutlass.Float32, shape[:1], stride=(1,)) if case == "swapped" else a
        if case == "triple":
            shape = (cute.sym_int(), cute.sym_int())
            other = make_fake_tensor(cutlass.Float32, shape, stride=(cute.sym_int64(), 1))
        cute.compile(host, a, other, case)
"""
# What is told of each case besides offsets of 32 bits; a kernel's name ends with its case.
MODES = {
    "right": "",
    "swapped": "equal: with 1025 x 513 thread 1 of block (16,128,0) writes 4 B at index 513 of mode 1",
    "wraps": "index -1 of mode 1, which has 16384, with all dynamic extents",
    "reads": "with 1024 thread 31 of block (31,255,0) reads 4 B at index 1024 of mode 1, which has 1024",
    "columns": "with 1025 thread 1 of block (32,255,0) writes 4 B at index 1025 of mode 1, which has 1025",
    "triple": "how the dynamic extents relate is not known: with 1024",
    "flat": "",
}


def test_tiles_that_the_host_divided_and_modes_of_its_tensor(traced: Traced) -> None:
    """The type of the tiles says whole ones; the tensor that the host is given has a tail.

    In a tensor's memory one mode's end is told where its strides are dynamic, unless the kernel flattens it.
    """
    found = traced(DIVIDED)
    assert not found.failures, found.failures
    (one,) = found.copies
    assert one.bounded_if.startswith("the dynamic extents have to be multiples of 16 in mode 0")
    for module, (case, expected) in zip(found.elements, MODES.items(), strict=True):
        assert case == "flat" or module.kernel.endswith(f"_{case}")
        told = [one.message for one in module.findings if one.code == "LC204"]
        assert bool(told) == (case == "wraps")
        told += [why for why, _ in module.unchecked if "rest on the caller: no tensor may" not in why]
        assert len(told) == bool(expected) and expected in "".join(told), (case, told)


# Each block writes 512 numbers of the last mode, as a kernel does that was compiled for rows of 512, or
# 128 rows of 256 numbers.
ROWS_OF_512 = """
import sys
import cutlass
from cutlass import cute
from cutlass.cute.runtime import make_fake_tensor
@cute.kernel
def rows(x: cute.Tensor, below: cutlass.Constexpr):
    t, (h, s, b) = cute.arch.thread_idx()[0], cute.arch.block_idx()
    for i in cutlass.range_constexpr(4):
        x[b, s, h, t * 4 + i - below] = 1.0
@cute.kernel
def tile(x: cute.Tensor):
    t, (h, m, b) = cute.arch.thread_idx()[0], cute.arch.block_idx()
    for i in cutlass.range_constexpr(2):
        x[b, m * 128 + t, h, i * 255] = 1.0
@cute.jit
def host(x: cute.Tensor, other: cute.Tensor, below: cutlass.Constexpr):
    if cutlass.const_expr(below is None or below == "view"):
        if cutlass.const_expr(below == "view"):  # whose columns the other tensor says
            x = cute.make_tensor(x.iterator, cute.make_layout(other.shape, stride=x.stride))
        tile(x).launch(grid=[x.shape[2], cute.ceil_div(x.shape[1], 128), x.shape[0]], block=[128, 1, 1])
    else:
        rows(x, below).launch(grid=[x.shape[2], x.shape[1], x.shape[0]], block=[128, 1, 1])
if __name__ == "__main__":
    shape = tuple(cute.sym_int() for _ in range(4))
    for below in (0, 1, None, "view"):
        x = make_fake_tensor(cutlass.Float32, shape, stride=(*(cute.sym_int64() for _ in range(3)), 1))
        cute.compile(host, x, x, below)
"""


def test_rows_of_a_number_that_the_kernel_was_compiled_for(traced: Traced) -> None:
    """A tensor of four modes is small in each: 512 columns leave it unless few modes alone are made large."""
    whole, before, *tiles = traced(ROWS_OF_512).elements
    for tile in tiles:
        assert not [one for one in tile.findings if one.code == "LC204"] and tile.unchecked
    assert not [one for one in whole.findings if one.code == "LC204"]
    assert "128 thread 32 of block (127,127,127)" in whole.unchecked[0][0]
    (told,) = {one.message.partition(". ")[0] for one in before.findings if one.code == "LC204"}
    assert told.startswith("Thread 65 of block (255,255,255) writes 4 B at byte 17179869196 of a tensor")


INTERLEAVED = """
import cutlass
from cutlass import cute
from cutlass.cute.runtime import make_fake_tensor
@cute.kernel
def k(a: cute.Tensor, b: cute.Tensor, o: cute.Tensor, off: cutlass.Constexpr):
    t, z = cute.arch.thread_idx()[0], cute.arch.block_idx()[2]
    o[t, z] = a[0, t, z] + b[1, t, z]
@cute.jit
def f(x: cute.Tensor, o: cute.Tensor, off: cutlass.Constexpr):
    b = cute.make_tensor(x.iterator + off, x.layout)
    k(x, b, o, off).launch(grid=[1, 1, 4], block=[32, 1, 1])
for off in (2, 4):
    x = make_fake_tensor(cutlass.Float32, (2, 32, 4), stride=(1, 4, 128), assumed_align=16)
    cute.compile(f, x, make_fake_tensor(cutlass.Float32, (32, 4), stride=(1, 32), assumed_align=16), off)
"""


def test_an_interleaved_tensor_of_which_the_host_is_given_the_first(traced: Traced) -> None:
    """Two complex numbers side by side: the second tensor begins between elements of the first.

    One that begins at an element of it, a row on, leaves it in the last row.
    """
    found = traced(INTERLEAVED)
    told = [[one.message for one in module.findings if one.code == "LC204"] for module in found.elements]
    assert told[0] == [] and len(told[1]) == 1
    assert "reads 4 B at byte 2052 of a tensor of 2040 B" in told[1][0]


def test_where_the_elements_of_a_strided_tensor_begin() -> None:
    pairs = Tensor(32, (2, 3), (1, 4), ("0", "1"))  # elements 0 1 4 5 8 9 of 4 B
    begin = [offset for offset in range(48) if pairs.begins_one(offset)]
    assert begin == [0, 4, 16, 20, 32, 36, *range(40, 48)]
    assert Tensor(32, (2, 3), (0, 1), ("0", "1")).begins_one(8)
