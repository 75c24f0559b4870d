"""Pipelines with and without a fault (pipelines.py): each broken variant is told, no right one is."""

from __future__ import annotations

import ast
import importlib
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from layoutcheck.dsl.trace import trace_script
from layoutcheck.order import check_module
from layoutcheck.order.clocks import HAPPENED, LANES, SHARED, STRICT, Clocks
from layoutcheck.order.meaning import Meaning
from layoutcheck.order.problems import Party, Problem
from layoutcheck.order.replay import MOST_PROBLEMS, World
from layoutcheck.order.shadow import Access, Cells, Shadow
from layoutcheck.order.watched import Event
from layoutcheck.sources.mlir import Operation
from tests.lowering import SharedLowering

NAMES = ["stages", "store_ring", "persistent", "to_and_fro", "tail_groups", "initialised",
         "staged_epilogue", "one_lane", "cluster_ring"]  # fmt: skip


def test_every_kernel_is_named() -> None:
    tree = ast.parse(Path(__file__).with_name("pipelines.py").read_text())
    kernels = [f.name for f in tree.body if isinstance(f, ast.FunctionDef) and "kernel" in ast.dump(f)]
    assert [name for name in kernels if name in NAMES] == NAMES


def test_one_lane_hands_over_nothing_to_its_own_warp() -> None:
    clocks = Clocks(2)
    shadow, cells = Shadow(8, SHARED, STRICT, range(2)), Cells(range(4))
    assert list(shadow.write(Access(cells, 1 << 10, 0, 1, False), clocks.known[0])) == []
    clocks.known[:, HAPPENED, 0] = 1

    def found(warp: int, component: int) -> set[str]:
        access = Access(cells, 2 << 10 | 32 * warp, component, 1, False)
        return {clash.kind for clash in shadow.read(access, clocks.known[warp])}

    assert found(0, 0) == found(0, clocks.copies(0)) == set()
    assert found(1, 1) == found(1, clocks.copies(1)) == {"lane"}
    clocks.known[1, LANES, 0] = 1
    assert found(1, 1) == set()


@pytest.mark.parametrize("again", [True, False])
def test_lanes_that_met_have_not_met_after_their_next_store(again: bool) -> None:
    clocks = Clocks(2)
    shadow, cells = Shadow(8, SHARED, STRICT, range(2)), Cells(range(4))
    clocks.meet(0)
    assert list(shadow.write(Access(cells, 1 << 10, 0, clocks.now(0), False), clocks.known[0])) == []
    if again:
        clocks.meet(0)
    clocks.learn(1, clocks.snapshot(0))
    access = Access(cells, 2 << 10 | 32, 1, clocks.now(1), False)
    assert {clash.kind for clash in shadow.read(access, clocks.known[1])} == (set() if again else {"lane"})


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("written", [range(3, 6), range(6, 9)])
def test_accesses_that_meet_in_one_cell_clash_there(written: range, listed: bool) -> None:
    """The first of what was read, or the last; warp 1 knows nothing of warp 0. As a range, and as numbers."""
    shadow, clocks = Shadow(12, SHARED, STRICT, range(2)), Clocks(2)
    read = Access(Cells(range(5, 7)), 1 << 10, 0, clocks.now(0), False)
    assert list(shadow.read(read, clocks.known[0])) == []
    cells = Cells(np.array(written, np.int64) if listed else written)
    write = Access(cells, 2 << 10 | 32, 1, clocks.now(1), False)
    clashes = list(shadow.write(write, clocks.known[1]))
    assert [(clash.kind, clash.cell) for clash in clashes] == [("race", 5 if written.start < 5 else 6)]


def test_cells_that_lie_beside_one_another_are_a_slice_of_their_shadow() -> None:
    """Sparse ones, and such that lie outside in front, are none; a range may be moved."""
    dense, sparse, outside = (Cells(np.array(at, np.int64)) for at in ([4, 2, 3], [2, 9, 30], [-1, 2]))
    assert (dense.first, dense.last, dense.around) == (2, 4, slice(2, 5))
    assert (sparse.first, sparse.last, sparse.around, outside.around) == (2, 30, None, None)
    moved = Cells(range(2, 5)).moved(10)
    assert (moved.where, moved.size, moved.at) == (slice(12, 15), 3, range(12, 15))
    assert dense.moved(1).at.tolist() == [5, 3, 4]


def test_many_problems_of_one_kind_leave_room_for_others() -> None:
    world = World.__new__(World)
    world.problems, world.told, world.contradicted = {}, Counter(), False
    event = Event(Meaning("read"), (), None, (), False, False)
    for i in range(MOST_PROBLEMS + 5):
        party = Party(replace(event, meaning=Meaning("read", op=Operation(str(i)))), 0, 0)
        world.tell(Problem("lane-arrives", party, None))
        world.tell(Problem("lane-arrives", party, None))
    world.tell(Problem("load-before-wait", party, None))
    kinds = Counter(problem.kind for problem in world.problems.values())
    assert kinds == {"lane-arrives": MOST_PROBLEMS, "load-before-wait": 1}


@pytest.mark.sweep
@pytest.mark.parametrize("of", ["pipelines", "fresh"])
def test_broken_variants_are_told_and_right_ones_are_not(of: str) -> None:
    pytest.importorskip("cutlass", reason="kernels are traced through the installed DSL")
    told_of = importlib.import_module(f"tests.order.{of}").TOLD
    with SharedLowering(copies=False, order=check_module) as lowering:
        trace = trace_script(
            "-m", [f"tests.order.{of}"], launch=False, arch="sm_90a", timeout_s=500, lowering=lowering
        )
    assert trace.failures == ()
    found = {order.kernel.rpartition("Ptrgmem_")[2]: order for order in trace.orders}
    named = sum(len(codes) + 1 for codes, _, _ in told_of.values())
    assert len(trace.orders) == named
    missed, alarms = [], []
    for name, (codes, _, _) in told_of.items():
        for how, code in enumerate(("", *codes)):
            order = found[f"{name}_{how}"]
            assert order.problem == "" and order.events > 0, (name, how, order.problem)
            told = [f.code for f in order.findings if f.severity == "wrong" or f.code in codes]
            if how and not any(re.fullmatch(code, one) for one in told):
                missed.append((name, how, code, told))
            if not how and told:
                alarms.append((name, told))
    assert not missed and not alarms


@pytest.mark.sweep
def test_what_cannot_be_followed_is_said() -> None:
    """Loops without end, barriers that nobody reaches, unknown inline PTX, loaded turns and phases."""
    pytest.importorskip("cutlass", reason="kernels are traced through the installed DSL")
    with SharedLowering(copies=False, order=check_module) as lowering:
        trace = trace_script(
            "-m", ["tests.order.unfollowed"], launch=False, arch="sm_90a", timeout_s=300, lowering=lowering
        )
    forever, unreachable, unknown, loaded, kept, data = trace.orders
    assert not any(f.severity == "wrong" for one in (forever, unknown, loaded, kept) for f in one.findings)
    assert kept.problem == "" and kept.events > 16 * 4
    assert "the parity of this wait, which is loaded from shared memory, is not known" in data.problem
    assert any("a persistent loop is followed for its first" in said for said in forever.unchecked)
    assert [f.code for f in unreachable.findings] == ["LC504"]  # a barrier that nobody reaches orders nothing
    assert "'frobnicate.shared.sync.aligned' is not modelled" in unknown.problem
    assert "depends on values that each thread loads" in loaded.problem
