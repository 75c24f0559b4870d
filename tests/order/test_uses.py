"""What a kernel does with shared memory, without the places: which write each read finds."""

from __future__ import annotations

from functools import partial

import pytest

from layoutcheck.dsl.trace import trace_script
from layoutcheck.order.uses import UNREAD, check_with_uses
from layoutcheck.sources.shared_uses import SharedReport, SharedUses
from tests.lowering import SharedLowering

HOWS = ("plain", "moved", "another's", "another's in the last block", "by memory")
RINGS = ("ring", "of fewer stages", "ahead")
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
def ring(src: cute.Tensor, dst: cute.Tensor, stages: Constexpr, ahead: Constexpr):
    thread = cute.arch.thread_idx()[0]
    data = cutlass.memory.SmemAllocator().allocate_tensor(Int32, cute.make_layout((64, 3)), 16)
    atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), Int32, num_bits_per_copy=32)
    for turn in cutlass.range(6, unroll=1):
        part = cute.make_tensor(src.iterator + 32 * turn + thread, cute.make_layout(1))
        cute.copy(atom, part, cute.make_tensor(data.iterator + turn % 3 * 64 + thread, cute.make_layout(1)))
        if turn >= ahead:
            dst[64 * turn + thread] = data[thread, (turn - ahead) % stages]
@cute.jit
def rings(src: cute.Tensor, dst: cute.Tensor, stages: Constexpr, ahead: Constexpr):
    ring(src, dst, stages, ahead).launch(grid=(1, 1, 1), block=(64, 1, 1))
for stages, ahead in (3, 0), (2, 0), (3, 1):
    cute.compile(rings, rows, rows, stages, ahead)
"""


@pytest.fixture(scope="module")
def uses(tmp_path_factory: pytest.TempPathFactory) -> dict[str, SharedUses]:
    pytest.importorskip("cutlass", reason="kernels are traced through the installed DSL")
    script = tmp_path_factory.mktemp("uses") / "kernels.py"
    script.write_text(KERNELS)
    with SharedLowering(copies=False, order=partial(check_with_uses, seconds=20.0)) as lowering:
        found = trace_script(str(script), launch=False, arch="sm_90a", lowering=lowering)
    reports = [one for one in found.orders if isinstance(one, SharedReport)]
    return {how: report.uses for how, report in zip(HOWS + RINGS, reports, strict=True)}


def test_a_tile_may_lie_elsewhere_and_a_read_may_not_find_another_write(uses: dict[str, SharedUses]) -> None:
    digests = {how: uses[how].digest for how in HOWS[:4]}
    assert digests["plain"] == digests["moved"] and digests["plain"]
    assert len(set(digests.values())) == 3
    assert all(uses[how].problem == "" and uses[how].size == 256 for how in HOWS[:4])


def test_a_branch_by_what_memory_holds_is_not_known(uses: dict[str, SharedUses]) -> None:
    assert "rest on what only a run knows" in uses["by memory"].problem


def test_what_one_turn_copies_and_nothing_reads_is_told_of_its_line(uses: dict[str, SharedUses]) -> None:
    """Not of the last turns, for which a reader may be behind."""
    line = 1 + KERNELS.splitlines().index(next(one for one in KERNELS.splitlines() if "copy(atom" in one))
    told = {how: [(one.line, one.count) for one in uses[how].lines if one.what == UNREAD] for how in RINGS}
    assert told == {"ring": [], "of fewer stages": [(line, 1)], "ahead": []}
    assert all(uses[how].problem == "" for how in RINGS)
