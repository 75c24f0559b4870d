"""What a kernel does with shared memory, without the places: which write each read finds."""

from __future__ import annotations

from functools import partial

import pytest

from layoutcheck.dsl.trace import trace_script
from layoutcheck.order.uses import check_with_uses
from layoutcheck.sources.shared_uses import EARLY, LOST, OVER, SharedReport, SharedUses
from tests.lowering import SharedLowering

HOWS = ("plain", "moved", "another's", "another's in the last block", "by memory")
RINGS = ("ring", "of fewer stages", "ahead", "of the stage before", "too soon", "read in part")
STORED = ("stored by turns", "stored beside", "the last one is read")
TWICE = ("twice", "cleared", "read between", "twice in part", "by other warps", *STORED)
KERNELS = """\
import cutlass, cutlass.cute as cute
from cutlass import Constexpr, Int32, const_expr
from cutlass.cute.runtime import make_fake_tensor
@cute.kernel
def kernel(src: cute.Tensor, dst: cute.Tensor, how: Constexpr):
    thread, block = cute.arch.thread_idx()[0], cute.arch.block_idx()[0]
    data = cutlass.memory.SmemAllocator().allocate_tensor(Int32, cute.make_layout(64), 16)
    put = 63 - thread if const_expr(how == 1) else thread
    taken = put
    if const_expr(how == 2):
        taken = thread ^ 1
    if const_expr(how == 3):
        taken = thread ^ (block // 3)
    data[put] = src[64 * block + thread]
    if const_expr(how == 4):
        if src[0] > 0:
            cute.arch.sync_threads()
    cute.arch.sync_threads()
    dst[64 * block + thread] = data[taken]
@cute.jit
def run(src: cute.Tensor, dst: cute.Tensor, how: Constexpr):
    kernel(src, dst, how).launch(grid=(4, 1, 1), block=(64, 1, 1))
rows = make_fake_tensor(Int32, (256,), (1,), assumed_align=16)
for how in range(5):
    cute.compile(run, rows, rows, how)
@cute.kernel
def ring(src: cute.Tensor, dst: cute.Tensor, stages: Constexpr, ahead: Constexpr, few: Constexpr):
    thread = cute.arch.thread_idx()[0]
    data = cutlass.memory.SmemAllocator().allocate_tensor(Int32, cute.make_layout((64, 3)), 16)
    atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), Int32, num_bits_per_copy=32)
    for turn in cutlass.range(6, unroll=1):
        part = cute.make_tensor(src.iterator + 32 * turn + thread, cute.make_layout(1))
        cute.copy(atom, part, cute.make_tensor(data.iterator + turn % 3 * 64 + thread, cute.make_layout(1)))
        cute.arch.cp_async_commit_group()
        cute.arch.cp_async_wait_group(0)
        if turn >= ahead:
            dst[64 * turn + thread] = data[thread ^ (thread % few), (turn - ahead) % stages]
@cute.jit
def rings(src: cute.Tensor, dst: cute.Tensor, stages: Constexpr, ahead: Constexpr, few: Constexpr):
    ring(src, dst, stages, ahead, few).launch(grid=(1, 1, 1), block=(64, 1, 1))
for numbers in (3, 0, 1), (2, 0, 1), (3, 1, 1), (3, -1, 1), (1, 0, 1), (3, 0, 4):
    cute.compile(rings, rows, rows, *numbers)
@cute.kernel
def twice(src: cute.Tensor, dst: cute.Tensor, how: Constexpr):
    thread = cute.arch.thread_idx()[0]
    data = cutlass.memory.SmemAllocator().allocate_tensor(Int32, cute.make_layout(96), 16)
    there = 95 - thread if const_expr(how == 3) else 63 - thread
    for turn in cutlass.range(2, unroll=1):
        mine = Int32(0) if const_expr(how == 1) else src[thread]
        data[thread] = mine
        cute.arch.sync_threads()
        if const_expr(how == 2):
            dst[128 + thread] = data[63 - thread]
            cute.arch.sync_threads()
        data[there] = src[64 + thread]
        cute.arch.sync_threads()
        dst[64 * turn + thread] = data[thread]
        cute.arch.sync_threads()
@cute.kernel
def stored(src: cute.Tensor, dst: cute.Tensor, how: Constexpr):
    thread = cute.arch.thread_idx()[0]
    data = cutlass.memory.SmemAllocator().allocate_tensor(Int32, cute.make_layout(128), 16)
    for turn in cutlass.range(4, unroll=1):
        place = turn % 2 * 64 if const_expr(how < 7) else Int32(0)
        data[place + thread] = src[64 * turn + thread] + turn
        cute.arch.sync_threads()
        if const_expr(how == 5):
            dst[64 * turn + thread] = data[place + 63 - thread]
        if const_expr(how == 6):
            dst[64 * turn + thread] = data[63 - thread]
        cute.arch.sync_threads()
    if const_expr(how == 7):
        dst[thread] = data[63 - thread]
@cute.kernel
def handed(src: cute.Tensor, dst: cute.Tensor):
    thread = cute.arch.thread_idx()[0]
    data = cutlass.memory.SmemAllocator().allocate_tensor(Int32, cute.make_layout(32), 16)
    if thread < 32:
        for turn in cutlass.range(3, unroll=1):
            data[thread] = src[32 * turn + thread]
            cute.arch.barrier(barrier_id=1, number_of_threads=64)
            cute.arch.barrier(barrier_id=2, number_of_threads=64)
    else:
        for turn in cutlass.range(3, unroll=1):
            cute.arch.barrier(barrier_id=1, number_of_threads=64)
            dst[32 * turn + thread] = data[63 - thread]
            cute.arch.barrier(barrier_id=2, number_of_threads=64)
@cute.jit
def others(src: cute.Tensor, dst: cute.Tensor, how: Constexpr):
    if const_expr(how < 4):
        twice(src, dst, how).launch(grid=(1, 1, 1), block=(64, 1, 1))
    elif const_expr(how > 4):
        stored(src, dst, how).launch(grid=(1, 1, 1), block=(64, 1, 1))
    else:
        handed(src, dst).launch(grid=(1, 1, 1), block=(64, 1, 1))
for how in range(8):
    cute.compile(others, rows, rows, how)
"""


@pytest.fixture(scope="module")
def uses(tmp_path_factory: pytest.TempPathFactory) -> dict[str, SharedUses]:
    pytest.importorskip("cutlass", reason="kernels are traced through the installed DSL")
    script = tmp_path_factory.mktemp("uses") / "kernels.py"
    script.write_text(KERNELS)
    with SharedLowering(copies=False, order=partial(check_with_uses, seconds=20.0)) as lowering:
        found = trace_script(str(script), launch=False, arch="sm_90a", lowering=lowering)
    reports = [one for one in found.orders if isinstance(one, SharedReport)]
    return {how: report.uses for how, report in zip(HOWS + RINGS + TWICE, reports, strict=True)}


def test_a_tile_may_lie_elsewhere_and_a_read_may_not_find_another_write(uses: dict[str, SharedUses]) -> None:
    digests = {how: uses[how].digest for how in HOWS[:4]}
    assert digests["plain"] == digests["moved"] and digests["plain"]
    assert len(set(digests.values())) == 3
    assert all(uses[how].problem == "" and uses[how].size == 256 for how in HOWS[:4])


def test_a_branch_by_what_memory_holds_is_not_known(uses: dict[str, SharedUses]) -> None:
    assert "rest on what only a run knows" in uses["by memory"].problem


def at(words: str) -> int:
    """The line of the kernels that words stand in."""
    return 1 + next(n for n, line in enumerate(KERNELS.splitlines()) if words in line)


def test_what_is_overwritten_unread_is_told_with_both_lines(uses: dict[str, SharedUses]) -> None:
    """Not of the last turns, for which a reader may be behind, nor of a constant that clears a tile."""
    copy, read = at("copy(atom"), at("(turn - ahead)")
    stored = at("data[place + thread]")
    one, other = at("data[thread] = mine"), at("data[there] = ")
    told = {how: uses[how].unread for how in RINGS + TWICE}
    lines = {how: {(what, a[1], b[1]) for what, a, b in pairs or ()} for how, pairs in told.items()}
    assert lines == {
        "ring": set(), "of fewer stages": {(LOST, copy, copy)}, "ahead": set(),
        "of the stage before": {(EARLY, read, copy)}, "too soon": {(LOST, copy, copy)},
        "read in part": set(),
        "twice": {(OVER, one, other)}, "cleared": set(), "read between": set(),
        "twice in part": {(OVER, one, other), (OVER, other, other)}, "by other warps": set(),
        "stored by turns": set(), "stored beside": {(LOST, stored, stored)},
        "the last one is read": {(OVER, stored, stored)},
    }  # fmt: skip
    assert all(uses[how].problem == "" and told[how] is not None for how in RINGS + TWICE)
    assert uses["by memory"].unread is None
