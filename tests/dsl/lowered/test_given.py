"""Tensors as a kernel is given them: generic pointers, TMA descriptors beside them, bulk copies, cp.async."""

from __future__ import annotations

import pytest

from layoutcheck.dsl.lowered.grid import RUN_TIME
from layoutcheck.dsl.lowered.judged_blocks import NOT_MET
from layoutcheck.dsl.lowered.shared_bounds import IN_SHARED
from layoutcheck.judge import judge_traced
from tests.dsl.lowered.conftest import Traced

pytest.importorskip("cutlass", reason="the CuTe DSL (nvidia-cutlass-dsl) is not installed")

PROGRAM = """
import cutlass
from cutlass import Float32, Int32, Int64, const_expr, cute
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import make_fake_tensor, make_ptr
N = 1000

@cute.kernel
def scaled(x: cute.Tensor, y: cute.Tensor, guarded: cutlass.Constexpr):
    i = cute.arch.block_idx()[0] * 128 + cute.arch.thread_idx()[0]
    if const_expr(not guarded) or i < N:
        y[i] = x[i] * 2.0

@cute.jit
def generic(p: cute.Pointer, q: cute.Pointer, guarded: cutlass.Constexpr):
    x, y = (cute.make_tensor(one, cute.make_layout(N)) for one in (p, q))
    scaled(x, y, guarded).launch(grid=(8, 1, 1), block=(128, 1, 1))

@cute.kernel
def stored(atom: cute.CopyAtom, out: cute.Tensor, x: cute.Tensor, y: cute.Tensor, guarded: cutlass.Constexpr):
    t, b = cute.arch.thread_idx()[0], cute.arch.block_idx()[0]
    rows = cute.make_layout((2, 64), stride=(64, 1))
    s = cutlass.memory.SmemAllocator().allocate_tensor(Float32, rows, 128)
    i = b * 128 + t
    s[t // 64, t % 64] = Float32(0.0)
    if const_expr(not guarded) or i < N:
        s[t // 64, t % 64] = x[i] + y[i]
    cute.arch.fence_view_async_shared()
    cute.arch.sync_threads()
    part, tile = cpasync.tma_partition(
        atom, 0, cute.make_layout(1), cute.group_modes(s, 0, 2),
        cute.group_modes(cute.local_tile(out, (2, 64), (b, 0)), 0, 2),
    )
    if cute.arch.warp_idx() == 0:
        cute.copy(atom, part, tile)
        cute.arch.cp_async_bulk_commit_group()
        cute.arch.cp_async_bulk_wait_group(0, read=True)

@cute.jit
def by_tma(x: cute.Tensor, out: cute.Tensor, guarded: cutlass.Constexpr):
    tile = cute.make_layout((2, 64), stride=(64, 1))
    atom, view = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), out, tile, (2, 64))
    flat = cute.make_tensor(out.iterator, cute.make_layout(N))
    stored(atom, view, x, flat, guarded).launch(grid=(8, 1, 1), block=(128, 1, 1))

@cute.kernel
def rows(x: cute.Tensor, y: cute.Tensor, inside: cutlass.Constexpr, step: cutlass.Constexpr):
    t, b = cute.arch.thread_idx()[0], cute.arch.block_idx()[0]
    memory = cutlass.memory.SmemAllocator()
    s, bar = memory.allocate_tensor(Float32, cute.make_layout(256), 128), memory.allocate_array(Int64, 1)
    if t == 0:
        cute.arch.mbarrier_init(bar, 1)
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    g = cute.local_tile(x if const_expr(inside) else cute.domain_offset((4,), x), (256,), (b,))
    if const_expr(step):
        g = cute.make_tensor(x.iterator + b * step, cute.make_layout(256))
    if t == 0:
        cute.arch.mbarrier_arrive_and_expect_tx(bar, 1024)
        cute.copy(cute.make_copy_atom(cpasync.CopyBulkG2SOp(), Float32), g, s, mbar_ptr=bar)
    cute.arch.mbarrier_wait(bar, 0)
    y[b * 128 + t] = s[t]

@cute.jit
def in_bulk(x: cute.Tensor, y: cute.Tensor, inside: cutlass.Constexpr, step: cutlass.Constexpr):
    rows(x, y, inside, step).launch(grid=(4, 1, 1), block=(128, 1, 1))

@cute.kernel
def staged(x: cute.Tensor, y: cute.Tensor, reduced: cutlass.Constexpr):
    t, b = cute.arch.thread_idx()[0], cute.arch.block_idx()[0]
    s = cutlass.memory.SmemAllocator().allocate_tensor(Float32, cute.make_layout((128, 2)), 128)
    stage = b % 2 if const_expr(reduced) else cute.arch.block_idx_in_cluster()
    s[t, stage] = x[b * 128 + t]
    cute.arch.sync_threads()
    y[b * 128 + t] = s[127 - t, b % 2]

@cute.jit
def by_stage(x: cute.Tensor, y: cute.Tensor, reduced: cutlass.Constexpr):
    staged(x, y, reduced).launch(grid=(4, 1, 1), block=(128, 1, 1), cluster=(4, 1, 1))

@cute.kernel
def seldom(y: cute.Tensor, inside: cutlass.Constexpr):
    t, b = cute.arch.thread_idx()[0], cute.arch.block_idx()[0]
    s = cutlass.memory.SmemAllocator().allocate_tensor(Float32, cute.make_layout(128), 128)
    s[t] = Float32(t)
    cute.arch.sync_threads()
    if b % 7 == 3:
        y[b * 128 + t] = s[t if const_expr(inside) else t + 1]

@cute.jit
def by_few(y: cute.Tensor, inside: cutlass.Constexpr, blocks: cutlass.Constexpr):
    seldom(y, inside).launch(grid=(blocks, 1, 1), block=(128, 1, 1))

@cute.kernel
def row(x: cute.Tensor, number: Int32):
    x[number * 128 + cute.arch.thread_idx()[0]] = Float32(0.0)

@cute.jit
def by_host(x: cute.Tensor):
    for number in cutlass.range(8):
        row(x, number - 1).launch(grid=(1, 1, 1), block=(128, 1, 1))

@cute.kernel
def counted(x: cute.Tensor, count: cute.Tensor, y: cute.Tensor, tc: cute.TiledCopy):
    t, b = cute.arch.thread_idx()[0], cute.arch.block_idx()[0]
    s = cutlass.memory.SmemAllocator().allocate_tensor(Float32, cute.make_layout(128), 128)
    part = tc.get_slice(t).partition_S(cute.local_tile(x, (128,), (b,)))
    pred = cute.make_rmem_tensor((1, 1), cutlass.Boolean)
    pred[0, 0] = b * 128 + t < count[0]
    cute.copy(tc, part, tc.get_slice(t).partition_D(s), pred=pred)
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    y[b * 128 + t] = s[t]

@cute.jit
def loaded(x: cute.Tensor, count: cute.Tensor, y: cute.Tensor):
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), Float32, num_bits_per_copy=32)
    tc = cute.make_tiled_copy_tv(atom, cute.make_layout(128), cute.make_layout(1))
    counted(x, count, y, tc).launch(grid=(8, 1, 1), block=(128, 1, 1))

@cute.kernel
def flat(x: cutlass.Array, y: cutlass.Array, guarded: cutlass.Constexpr):
    i = cute.arch.block_idx()[0] * 128 + cute.arch.thread_idx()[0]
    if const_expr(not guarded) or i < N:
        y[i] = x[i] * 2.0

@cute.jit
def as_array(x: cutlass.Array, y: cutlass.Array, guarded: cutlass.Constexpr):
    flat(x, y, guarded).launch(grid=(8, 1, 1), block=(128, 1, 1))

if __name__ == "__main__":
    def fake(*shape, dtype=Float32):
        stride = (shape[1], 1) if len(shape) == 2 else (1,)
        return make_fake_tensor(dtype, shape, stride=stride, assumed_align=16)
    for right in (False, True):
        given = [make_ptr(Float32, 1 << 20, cute.AddressSpace.generic, assumed_align=16) for _ in range(2)]
        cute.compile(generic, *given, right)
        cute.compile(by_tma, fake(N), fake(16, 64), right)
        cute.compile(in_bulk, fake(1024), fake(512), right, 0)
        cute.compile(by_stage, fake(512), fake(512), right)
    cute.compile(loaded, fake(N), fake(1, dtype=Int32), fake(1024))
    for step in (256, 254):
        cute.compile(in_bulk, fake(1024), fake(512), True, step)
    for inside, blocks in ((False, 40), (True, 40), (False, 1000)):
        cute.compile(by_few, fake(128000), inside, blocks)
    cute.compile(by_host, fake(1024))
    for right in (False, True):
        cute.compile(as_array, fake(N), fake(N), right)
"""


def test_what_a_kernel_is_given(traced: Traced) -> None:
    """The last of 8 blocks has 104 elements of 128; the bulk copy that begins 4 elements late ends late."""
    found = traced(PROGRAM)
    assert not found.failures, found.failures
    faults: dict[int, list[object]] = {number: [] for number in range(17)}
    unchecked: dict[int, list[str]] = {number: [] for number in range(17)}
    for number, kernel in enumerate(found.kernels):
        for module in (one for one in found.elements if one.kernel == kernel.name):
            unchecked[number] += [why for why, _ in module.unchecked]
            beyond = [one for one in module.findings if one.code == "LC204"]
            faults[number] += [(one.evidence["block"], one.evidence["thread"]) for one in beyond]
    names = [kernel.name for kernel in found.kernels]
    assert len(set(names)) == len(names) == 17
    assert [len(faults[i]) for i in (0, 1, 3, 4, 5, 7)] == [1, 1, 1, 0, 0, 0]
    assert faults[0] == faults[1] == [("(7,0,0)", 104)]
    assert faults[15] == [("(7,0,0)", 104)] and faults[16] == unchecked[16] == []
    assert faults[3] == [("(2,0,0)", 0)]  # the first block whose stage is beyond the ring
    assert [faults[i] for i in (11, 12, 13, 14)] == [[("(3,0,0)", 127)], [], [], []]
    assert [[why.partition(" (")[0] for why in unchecked[i]] for i in (11, 12, 13, 14)] == [
        [], [], [f"bounds {IN_SHARED}{NOT_MET}"], [f"bounds in global memory: {RUN_TIME}"]
    ]  # fmt: skip
    told = []
    for one in found.copies:
        faults_of = one.addresses.faults if one.addresses is not None else ()
        told += [(f.block, f.thread, f.address, f.width_bytes) for f in faults_of]
    assert told == [("(3,0,0)", 0, 3088, 1024)]
    (unbounded,) = [one.unbounded for one in found.copies if one.unbounded]
    assert unbounded == "addresses or predicates known at run time"
    bulk = [judge_traced(one) for one in found.copies if one.where.function.startswith("rows")]
    reports = [report for report in bulk if report is not None]
    assert [report.verdict for report in reports] == ["wrong", "legal", "legal", "wrong"]
    assert [one.code for one in reports[-1].findings if one.severity == "wrong"] == ["LC220"]
