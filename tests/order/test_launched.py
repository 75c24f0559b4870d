"""Limits of registers (LC529), kernels that begin early (LC530), and loads that stay in one place (LC531)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from layoutcheck.order.register_limits import register_limits
from layoutcheck.sources.traced import KernelFinding, OrderReport
from tests.order.looked import orders_of

KERNELS = """\
import cutlass, cutlass.cute as cute
from cutlass import Constexpr, Int32, Int64, const_expr
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import make_fake_tensor
from cutlass.experimental import primitives as prims
arch = cute.arch
@cute.kernel
def limits(given: cute.Tensor, sums: cute.Tensor, out: cute.Tensor, n: Int32, how: Constexpr):
    thread, _, _ = arch.thread_idx()
    warp = arch.make_warp_uniform(arch.warp_idx())
    if warp == 4:  # an instruction for each role
        arch.setmaxregister_decrease(24)  # gives back
    if const_expr(how != 1):
        if warp > 4 and warp < 8:
            arch.setmaxregister_decrease(24)
    if const_expr(how != 2):
        if warp < 4:
            arch.setmaxregister_increase(240)
    elif warp < 4:
        arch.setmaxregister_increase(256)
    if warp >= 8:
        arch.setmaxregister_increase(256 if const_expr(how == 2) else 240)  # wants
    if const_expr(how == 3):
        if warp < 2:
            arch.setmaxregister_decrease(200)  # gives back
    shared = cutlass.memory.SmemAllocator().allocate_tensor(Int32, cute.make_layout(384), 16)
    shared[thread] = given[thread]
    out[thread] = shared[thread]
@cute.kernel
def early(given: cute.Tensor, sums: cute.Tensor, out: cute.Tensor, n: Int32, how: Constexpr):
    thread, _, _ = arch.thread_idx()
    if const_expr(how == 1):
        arch.griddepcontrol_wait()
    if const_expr(how == 4):
        prims.griddepcontrol(prims.GridDepAction.WAIT)
    if const_expr(how == 3):
        arch.griddepcontrol_launch_dependents()
    if const_expr(how == 3):
        shared = cutlass.memory.SmemAllocator().allocate_tensor(Int32, cute.make_layout(384), 16)
        shared[thread] = given[thread]  # reads
        out[thread] = shared[thread]
    else:
        out[thread] = given[thread]  # reads
@cute.kernel
def tiles(given: cute.Tensor, sums: cute.Tensor, out: cute.Tensor, n: Int32, how: Constexpr):
    thread, _, _ = arch.thread_idx()
    warp = arch.make_warp_uniform(arch.warp_idx())
    memory = cutlass.memory.SmemAllocator()
    data = memory.allocate_tensor(Int32, cute.make_layout(128), 128)
    more = memory.allocate_tensor(Int32, cute.make_layout(32), 128)
    bar = memory.allocate_array(Int64, 1)
    if warp == 0:
        with arch.elect_one():
            arch.mbarrier_init(bar, 1)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    atom = cute.make_copy_atom(cpasync.CopyBulkG2SOp(), Int32)
    gathered = cute.zipped_divide(given, (128,))
    each = cute.zipped_divide(sums, (32,))
    for turn in cutlass.range(2 if const_expr(how == 3) else 3, unroll=1):
        if warp == 0:
            with arch.elect_one():
                arch.mbarrier_arrive_and_expect_tx(bar, 640)
                at = 0 if const_expr(how == 2) else turn
                cute.copy(atom, gathered[None, at], data, mbar_ptr=bar)
                first = turn if const_expr(how == 0) else turn // n if const_expr(how == 5) else 0
                cute.copy(atom, each[None, first], more, mbar_ptr=bar)  # again
        arch.mbarrier_wait(bar, turn & 1)
        out[thread] = data[thread % 128] + more[thread % 32]
        arch.sync_threads()
@cute.kernel
def made_before(given: cute.Tensor, sums: cute.Tensor, how: Constexpr):
    thread, _, _ = arch.thread_idx()
    arch.griddepcontrol_wait()
    sums[thread] = given[thread]  # makes
@cute.kernel
def before_the_wait(given: cute.Tensor, sums: cute.Tensor, out: cute.Tensor, weights: cute.Tensor,
                    how: Constexpr):
    thread, _, _ = arch.thread_idx()
    own = weights[thread]
    if const_expr(how in (1, 3)):
        own += sums[thread]  # takes
    if const_expr(how == 2):
        given[thread] = 0  # clears
    if const_expr(how < 4):
        arch.griddepcontrol_wait()
    elif const_expr(how == 6):
        if arch.block_idx()[0] == 1:
            arch.griddepcontrol_wait()
    elif thread < 32:
        arch.griddepcontrol_wait()
    if const_expr(how == 5):
        arch.sync_threads()
    out[thread] = own + sums[thread]  # uses
@cute.kernel
def behind_a_role(given: cute.Tensor, sums: cute.Tensor, out: cute.Tensor, how: Constexpr):
    thread, _, _ = arch.thread_idx()
    if const_expr(how > 8):
        if thread >= 64:
            arch.griddepcontrol_wait()
            if const_expr(how == 10):
                arch.barrier_arrive(barrier_id=1, number_of_threads=96)
    if arch.make_warp_uniform(arch.warp_idx()) < 2:
        arch.barrier(barrier_id=1, number_of_threads=96 if const_expr(how in (7, 10)) else 64)
        out[thread] = sums[thread]  # uses
    elif const_expr(how < 9):
        arch.griddepcontrol_wait()
        if const_expr(how == 7):
            arch.barrier_arrive(barrier_id=1, number_of_threads=96)
@cute.jit
def run_two(given: cute.Tensor, sums: cute.Tensor, out: cute.Tensor, weights: cute.Tensor, how: Constexpr):
    made_before(given, sums, how).launch(grid=(1, 1, 1), block=(96, 1, 1))
    if const_expr(how < 7):
        made = before_the_wait(given, sums, out, weights, how)
    else:
        made = behind_a_role(given, sums, out, how)
    made.launch(grid=(1, 1, 1), block=(96, 1, 1), use_pdl=const_expr(how != 3))
@cute.jit
def run(given: cute.Tensor, sums: cute.Tensor, out: cute.Tensor, n: Int32, name: Constexpr, how: Constexpr):
    early_too = const_expr(name == "early" and how != 2)
    globals()[name](given, sums, out, n, how).launch(grid=(1, 1, 1), block=(384, 1, 1), use_pdl=early_too)
def made(size):
    return make_fake_tensor(Int32, (size,), (1,), assumed_align=16)
for name, count in (("limits", 4), ("early", 5), ("tiles", 6)):
    for how in range(count):
        sums = made(32 if name == "tiles" and how == 4 else 96)
        cute.compile(run, made(384), sums, made(384), Int32(1), name, how)
for how in range(11):
    cute.compile(run_two, made(96), made(96), made(96), made(96), how)
"""


@pytest.fixture(scope="module")
def orders(tmp_path_factory: pytest.TempPathFactory) -> tuple[OrderReport, ...]:
    """`limits`: right, one warp of a group alone, too many, and two warps that change theirs once more.

    `early`: nobody waits, one waits, not launched so, the next kernel is let go, and it waits by `prims`.
    `tiles`: the sums of each tile, of the first one, both of the first one, in two turns, sums of one tile,
    and those of n tiles. Two kernels, of which the second reads weights before it waits, what the first one
    makes, too, overwrites what it reads, is not launched early, waits in one warp, that others then meet, and
    in block 1 alone; it waits in a role further below, which others meet, and do not
    meet, and above, which they do not meet, and meet.
    """
    return orders_of(KERNELS, tmp_path_factory.mktemp("launched"), 26)


def ends(finding: KernelFinding) -> tuple[str, str, str]:
    """Its severity, its code and the remark at its line."""
    line = KERNELS.splitlines()[finding.places[0].where.line - 1]
    return finding.severity, finding.code, line.rpartition("# ")[2]


def test_all_warps_of_a_warpgroup_change_their_limit(orders: tuple[OrderReport, ...]) -> None:
    """12 warps of 384 threads: 240 + 24 + 240 registers for each of 128 threads are 64,512 of 65,536."""
    right, alone, too_many, again = (order.findings for order in orders[:4])
    assert right == ()
    assert [ends(f) for f in (*alone, *again)] == [("note", "LC529", "gives back")] * 2
    assert "24 (setmaxnreg), but not in every warp" in alone[0].title
    assert "Of the 4 warps of warpgroup 1, these do not: 5, 6, 7." in alone[0].message
    assert "200 (setmaxnreg)" in again[0].title and "warpgroup 0, these do not: 2, 3." in again[0].message
    assert [ends(f) for f in too_many] == [("note", "LC529", "wants")]
    assert too_many[0].evidence["total"] == 128 * (256 + 24 + 256) == 68_608


def test_decreases_alone_ask_for_no_registers() -> None:
    """16 warps that keep 136 registers: more than a block of 512 threads can have, but none waits."""
    event: Any = SimpleNamespace(
        meaning=SimpleNamespace(facts={"limit": "decrease"}, count=136), mask=None, doubt=False, guarded=False
    )
    block: Any = SimpleNamespace(events=[event], complete=True, launch=SimpleNamespace(threads=512))
    assert register_limits(block) == []
    event.meaning.facts["limit"] = "increase"
    [problem] = register_limits(block)
    assert problem.facts["total"] == 512 * 136 and problem.first.thread == 480


def test_a_kernel_that_begins_early_waits_before_it_reads(orders: tuple[OrderReport, ...]) -> None:
    never, waits, launched, lets_go, waits_too = (order.findings for order in orders[4:9])
    assert [ends(f) for f in (*never, *lets_go)] == [("note", "LC530", "reads")] * 2
    assert "Missing: griddepcontrol_wait() before it." in never[0].message
    assert waits == launched == waits_too == ()


def test_a_load_that_stays_while_another_moves_on(orders: tuple[OrderReport, ...]) -> None:
    """Three turns, each with 512 bytes of data and 128 bytes of sums."""
    each, first, both, twice, one, some = (
        [f for f in order.findings if f.code == "LC531"] for order in orders[9:15]
    )
    assert [ends(f) for f in first] == [("note", "LC531", "again")]
    assert first[0].evidence["turns"] == 3 and "in all 3 turns" in first[0].message
    assert each == both == twice == one == some == []


def test_what_is_accessed_before_the_wait(orders: tuple[OrderReport, ...]) -> None:
    """The first kernel makes sums of what it is given: the second may read its weights before it waits."""
    weights, takes, clears, late = orders[15:19]
    unknown = "whether what is accessed before griddepcontrol.wait is older than the kernel in front"
    assert [unknown in order.unchecked for order in orders[15:19]] == [True, True, True, False]
    assert weights.findings == late.findings == ()
    for order, remark in ((takes, "takes"), (clears, "clears")):
        (finding,) = order.findings
        assert ends(finding) == ("note", "LC530", "makes") and finding.evidence["kind"] == "reads-early"
        line = KERNELS.splitlines()[finding.places[1].where.line - 1]
        assert line.endswith(f"# {remark}")
        assert "Missing: griddepcontrol_wait() before kernels.py:" in finding.message


def test_a_wait_is_for_the_warps_that_know_of_it(orders: tuple[OrderReport, ...]) -> None:
    one, met, elsewhere, below, alone, apart, behind = orders[19:]
    (finding,) = one.findings
    assert ends(finding) == ("note", "LC530", "makes") and finding.places[1].thread == 32
    assert KERNELS.splitlines()[finding.places[1].where.line - 1].endswith("# uses")
    assert met.findings == elsewhere.findings == below.findings == ()
    assert any("is older than the kernel in front" in one for one in below.unchecked)
    for order in (alone, apart):
        assert [ends(finding) for finding in order.findings] == [("note", "LC530", "makes")]
    assert behind.findings == ()
    assert [any("block 0 does not come to" in s for s in order.unchecked) for order in orders[19:]] == [
        False, False, True, False, False, False, False,
    ]  # fmt: skip
