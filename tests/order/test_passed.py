"""Waits for an mbarrier that goes on without the warp that waits: LC528."""

from __future__ import annotations

import pytest

from layoutcheck.order.meaning import Meaning
from layoutcheck.order.problems import Party
from layoutcheck.order.waiting import Mbarrier
from layoutcheck.order.watched import Event
from layoutcheck.sources.traced import OrderReport
from tests.order.looked import orders_of

KERNELS = """\
import cutlass, cutlass.cute as cute
from cutlass import Constexpr, Int32, Int64, const_expr
from cutlass.cute.runtime import make_fake_tensor
arch = cute.arch
@cute.kernel
def ring(given: cute.Tensor, out: cute.Tensor, turns: Constexpr, how: Constexpr):
    thread, _, _ = arch.thread_idx()
    warp = arch.make_warp_uniform(arch.warp_idx())
    memory = cutlass.memory.SmemAllocator()
    full = memory.allocate_array(Int64, 2)
    empty = full + 1
    data = memory.allocate_tensor(Int32, cute.make_layout(32), 16)
    if thread == 0:
        arch.mbarrier_init(full, 32)
        arch.mbarrier_init(empty, 64 if const_expr(how == 4) else 32)
    arch.mbarrier_init_fence()
    arch.sync_threads()
    for turn in cutlass.range(turns, unroll=1):
        if const_expr(how >= 7):
            if warp != 1:
                arch.barrier(barrier_id=1, number_of_threads=64)
        if warp == 0:
            arch.mbarrier_wait(empty, (turn + 1) % 2)
            data[thread] = given[thread]
            arch.mbarrier_arrive(full)  # filled
        elif warp == 1:
            arch.mbarrier_wait(full, turn % 2)
            out[thread] = data[thread % 32]
            arch.mbarrier_arrive(empty)  # emptied
        elif const_expr(how == 4):  # takes part
            arch.mbarrier_wait(full, turn % 2)
            arch.mbarrier_arrive(empty)
        elif const_expr(how == 5):  # looks on
            arch.mbarrier_wait(full, turn % 2)  # waits
        if const_expr(how == 6):
            if warp == 2:
                arch.mbarrier_wait(full, turn % 2)
            arch.sync_threads()
    if const_expr(how == 1):
        if warp == 0:
            arch.mbarrier_wait(empty, (turns + 1) % 2)  # its own tail
    if const_expr(how == 8):
        if warp == 0:
            arch.mbarrier_wait(empty, (turns + 1) % 2)
        if warp != 1:
            arch.barrier(barrier_id=1, number_of_threads=64)
    if const_expr(how in (2, 7, 8)):
        if warp == 2:
            arch.mbarrier_wait(empty, 1)  # waits
    if const_expr(how == 3):
        if warp == 2:
            arch.mbarrier_wait(empty, (turns + 1) % 2)  # waits
@cute.jit
def run(given: cute.Tensor, out: cute.Tensor, turns: Constexpr, how: Constexpr):
    ring(given, out, turns, how).launch(grid=(1, 1, 1), block=(96, 1, 1))
given, out = (make_fake_tensor(Int32, (96,), (1,), assumed_align=16) for _ in range(2))
for turns, how in (*((4, how) for how in range(9)), (1, 2), (1, 3), (1, 5)):
    cute.compile(run, given, out, turns, how)
"""


@pytest.fixture(scope="module")
def orders(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[int, int], OrderReport]:
    """By turns and variant: 0 right, 1 the producer's tail, 2 and 3 that of a third warp, 4 to 6 it waits
    in each turn, and arrives, or does nothing, or meets the others, 7 and 8 a tail of the third warp, which
    knows of two phases, or of all."""
    orders = orders_of(KERNELS, tmp_path_factory.mktemp("passed"), 12)
    cases = (*((4, how) for how in range(9)), (1, 2), (1, 3), (1, 5))
    return dict(zip(cases, orders, strict=True))


def test_who_takes_part_or_meets_the_others_may_wait(orders: dict[tuple[int, int], OrderReport]) -> None:
    for right in ((4, 0), (4, 1), (4, 4), (4, 6), (4, 8), (1, 5)):
        assert orders[right].findings == (), right


def test_a_wait_that_holds_nobody_may_come_to_a_later_phase(
    orders: dict[tuple[int, int], OrderReport],
) -> None:
    """After four turns the mbarrier has had four phases, so that a late wait for an odd parity passes."""
    lines = KERNELS.splitlines()
    for turns, how in ((4, 2), (4, 3), (4, 5), (4, 7), (1, 2)):
        (note,) = orders[turns, how].findings
        ends = [lines[place.where.line - 1].rpartition("# ")[2] for place in note.places]
        other = "filled" if how == 5 else "emptied"
        assert (note.severity, note.code, ends) == ("note", "LC528", [other, "waits"]), (turns, how)
        assert f"ends phase {note.evidence['phase'] - 1}" in note.message
    assert orders[1, 2].findings[0].evidence == {**orders[1, 2].findings[0].evidence, "phase": 1, "parity": 1}
    assert [orders[4, how].findings[0].evidence["phase"] for how in (2, 3, 5, 7)] == [1, 1, 2, 3]
    assert orders[1, 3].findings == ()  # the last phase: none comes after it


def test_who_knows_all_arrivals_of_a_phase_knows_that_it_is_over() -> None:
    """Agents 0 and 1 are warps, 3 counts the phases. The last phase has bytes, which come on their own."""
    party = Party(Event(Meaning("mbar_init"), (), None, (), False, False), 0, 0)
    barrier = Mbarrier(2, 1, (0, 1), party, phases=3, by_arrivals=[{0: 2}, {0: 3, 1: 1}, {}])
    known = ((0, 0, 0, 0), (2, 0, 0, 0), (3, 0, 0, 0), (3, 1, 0, 0), (9, 9, 0, 0), (0, 0, 0, 2), (0, 0, 0, 3))
    assert [barrier.over_for(steps) for steps in known] == [0, 1, 1, 2, 2, 2, 3]
