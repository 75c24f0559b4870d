"""The time budget: a check ends when its time is used up, and keeps what it has found."""

from __future__ import annotations

import itertools
import random
import sys
import time

import pytest

from layoutcheck.errors import InputError
from layoutcheck.order import check_module
from layoutcheck.order.budget import Budget, OutOfTime
from layoutcheck.order.engine import run
from layoutcheck.order.events import kernels
from layoutcheck.order.runs import OTHERS_SECONDS, Cluster, Run, runs
from layoutcheck.settings import Settings, order_seconds
from layoutcheck.sources.traced_module import TracedModule
from tests.order.programs import faulty, pipeline
from tests.order.test_programs import watched

# Two loops of 4096 turns around a barrier: 17 million, or as many as the caps of the evaluator let through.
LOOPS = """"builtin.module"() ({
  "gpu.module"() <{sym_name = "kernels"}> ({
    "cuda.kernel"() <{function_type = () -> (), sym_name = "forever"}> ({
      %0 = "arith.constant"() <{value = 0 : i32}> : () -> i32
      %1 = "arith.constant"() <{value = 1 : i32}> : () -> i32
      %2 = "arith.constant"() <{value = 4096 : i32}> : () -> i32
      "scf.for"(%0, %2, %1) ({
      ^bb0(%3: i32):
        "scf.for"(%0, %2, %1) ({
        ^bb0(%4: i32):
          "nvvm.barrier"() <{operandSegmentSizes = array<i32: 0, 0, 0>}> : () -> ()
          "scf.yield"() : () -> ()
        }) : (i32, i32, i32) -> ()
        "scf.yield"() : () -> ()
      }) : (i32, i32, i32) -> ()
      "cuda.return"() : () -> ()
    }) : () -> ()
  }) : () -> ()
}) : () -> ()
"""


class Steps(Budget):
    """A budget of so many checks."""

    def __init__(self, left: int) -> None:
        super().__init__()
        self.left = left

    def check(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise OutOfTime


def test_a_long_kernel_ends_in_its_time() -> None:
    start = time.thread_time()
    report = check_module(TracedModule("", "forever", "sm_90a", {}, []), LOOPS, "", 0.2)
    assert report.problem.startswith("the time budget of 0.2 s was used up")
    assert 0.2 <= time.thread_time() - start < 1.5


@pytest.mark.parametrize("left", [5.0, 0.0])
def test_other_numbers_take_a_part_of_the_time(monkeypatch: pytest.MonkeyPatch, left: float) -> None:
    given: list[float] = []

    def late(usual: Cluster, _found: list[Run]) -> list[Run]:
        given.append(usual.budget.left())
        monkeypatch.setattr(budget, "left", lambda: left)
        raise OutOfTime

    (kernel,) = kernels(LOOPS.replace("4096", "3"))
    budget = Budget(60)
    monkeypatch.setattr(sys.modules[runs.__module__], "_with_other_numbers", late)
    found = runs(kernel, budget)
    assert [run.first for run in itertools.islice(found, 1)] == [True]
    if left:
        assert list(found) == []
    else:
        with pytest.raises(OutOfTime):
            next(found)
    assert 0 < given[0] <= OTHERS_SECONDS


def test_what_was_found_until_then_is_kept() -> None:
    chance, partial = random.Random(5), 0
    for _ in range(8):
        program = watched(faulty(pipeline(chance), chance))
        whole = run([program], {})
        kinds = {(p.kind, p.second and p.second.event.number) for p in whole.problems}
        before: set[object] = set()
        budget = Steps(1 << 30)
        run([program], {}, False, budget)
        steps = (1 << 30) - budget.left
        for allowed in range(1, steps, 2):
            cut = run([program], {}, False, Steps(allowed))
            now = {(p.kind, p.second and p.second.event.number) for p in cut.problems}
            assert cut.stopped == "time" and before <= now <= kinds
            assert not {"deadlock", "bytes-never-arrive"} & {p.kind for p in cut.problems}
            before = now
            partial += bool(now)
        assert run([program], {}, False, Steps(steps)).stopped == whole.stopped
    assert partial > 5


def test_the_variable_is_heard_before_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    assert order_seconds(Settings()) == 20 and order_seconds(Settings(order_seconds=3)) == 3
    monkeypatch.setenv("LAYOUTCHECK_ORDER_SECONDS", "7")
    assert order_seconds(Settings(order_seconds=3)) == 7
    for bad in ("0", "-1", "1.5", "many", "99999999"):
        monkeypatch.setenv("LAYOUTCHECK_ORDER_SECONDS", bad)
        with pytest.raises(InputError, match="LAYOUTCHECK_ORDER_SECONDS"):
            order_seconds(Settings())
