"""Modules judged by several processes: the same answers as by one, and what becomes of a process is told."""

from __future__ import annotations

import os
import re
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from layoutcheck.dsl import judges as judging
from layoutcheck.dsl.collect import Collector
from layoutcheck.dsl.judges import Judges
from layoutcheck.dsl.look import ADDRESSES, ORDER, Answer, Task
from layoutcheck.dsl.lowered.resolve import Lowering, Ordering
from layoutcheck.dsl.shared_out import SharedOut
from layoutcheck.dsl.trace import Ended
from layoutcheck.order import check_module
from layoutcheck.provenance import check_products
from layoutcheck.sources.traced import OrderReport, Trace
from layoutcheck.sources.traced_module import TracedModule
from tests.environment import ROOT

pytest.importorskip("cutlass", reason="judges ask the installed DSL")

TEXT = (ROOT / "tests/data/traced.mlir").read_text(encoding="utf-8")
ARCHS = ("sm_80", "sm_90a", "sm_100a", "sm_89")  # of the kernels k0, k1, ...


def collected(lowering: Lowering, judges: Judges | None, count: int = 4) -> Collector:
    """So many different modules, to be judged."""
    collector = Collector(lowering=lowering, compiled=False, judges=judges)
    for number, arch in enumerate(ARCHS[:count]):
        event = {"kind": "built", "pid": 1, "number": number, "kernel": f"k{number}", "arch": arch}
        collector.take([{**event, "text": TEXT, "locations": [], "refused": [], "others": []}])
    return collector


def judged(
    order: Ordering, most: int = 2, count: int = 4, deadline: float | None = None, **given: Any
) -> tuple[Trace, Judges]:
    """What judges say of so many modules."""
    with (
        Lowering(order=order, products=check_products) as lowering,
        Judges(lowering, most, **given) as judges,
    ):
        collector = collected(lowering, judges, count)
        collector.resolve(deadline=None if deadline is None else time.monotonic() + deadline)
        return collector.trace(), judges


def everything(trace: Trace) -> str:
    """All of it, fields that do not compare included; but for what the order took of time."""
    orders = [(one, one.findings, one.assumed, one.unchecked) for one in trace.orders]
    return repr(
        (trace.copies, trace.kernels, trace.failures, trace.notes, trace.elements, trace.operands)
    ) + repr([part for _, *part in orders])


CALL = {"kind": "called", "pid": 1, "number": 0, "given": [[[64, 64], [64, 1], None]] * 2}


def test_several_judges_say_what_one_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where they begin before a kernel's last call: that kernel is looked at again."""
    order = partial(check_module, seconds=1000.0)
    given: list[tuple[str, str, int]] = []
    give = Judges.give

    def heard(self: Judges, task: Task, waiting: int = 0) -> bool:
        taken = give(self, task, waiting)
        given.extend([(task.module.kernel, task.part, len(task.module.calls))] if taken else [])
        return taken

    monkeypatch.setattr(Judges, "give", heard)
    monkeypatch.setattr("layoutcheck.dsl.collect._SETTLED_SECONDS", 0.0)
    with Lowering(order=order, products=check_products) as lowering:
        alone = collected(lowering, None)
        alone.take([CALL])
        alone.resolve()
        with Judges(lowering, 2) as judges:
            several = collected(lowering, judges)
            while ("k1", ORDER, 0) not in given:
                several.look_ahead()
                assert judges.busy <= 1  # the other processor is the program's
            several.take([CALL])
            several.resolve()
    found, expected = several.trace(), alone.trace()
    assert len(found.orders) == 4 and not found.failures
    assert sum(bool(one.inside) for one in found.copies) == 8 and found.orders[0].findings
    assert everything(found) == everything(expected) and found == expected
    twice = [("k0", part, calls) for calls in (0, 1) for part in (ADDRESSES, ORDER)]
    others = [(f"k{number}", part, 0) for number in (1, 2, 3) for part in (ADDRESSES, ORDER)]
    assert sorted(given) == sorted([*twice, *others])


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def raise_() -> None:
    raise ValueError("a surprise")


def eat() -> None:
    """More than a judge may have."""
    bytearray(16 << 30)


def on(acts: dict[str, Callable[[], object]], module: TracedModule, *_: str) -> OrderReport:
    """An order check that does something else for some kernels."""
    acts.get(module.kernel, list)()
    return OrderReport(module.kernel, module.arch)


def test_what_becomes_of_a_judge_is_told_of_its_kernel_alone() -> None:
    found, judges = judged(partial(on, {"k0": raise_, "k1": eat, "k2": die}), 1)
    failed = "layoutcheck itself failed on it, at layoutcheck.dsl.lowered.resolve:LINE; please report that"
    assert [(one.kind, re.sub(":[0-9]+", ":LINE", one.message)) for one in found.failures] == [
        ("unjudged", f"the order of accesses in k0: {failed}"),
        ("unjudged", "the order of accesses in k1: there is not enough memory for it"),
        (
            "unjudged",
            "the order of accesses in k2: the process that judges died of SIGKILL, as when memory runs out",
        ),
    ]
    assert [one.kernel for one in found.orders] == ["k3"] and not judges.pids
    assert sum(bool(one.inside) for one in found.copies) == 8  # the addresses of all kernels are known


def task(number: int) -> Task:
    """One that needs no process of the DSL."""
    module = TracedModule('"builtin.module"() ({\n}) : () -> ()', f"k{number}", "sm_90a", {}, ())
    return Task(number, module, (), ADDRESSES, compiled=True)


def answered(judges: Judges, count: int) -> set[int]:
    """The numbers of so many answers, none of which is missing for something that broke."""
    found: list[Answer] = []
    while len(found) < count:
        found += judges.answers(60.0)
    assert not any(one.broken for one in found)
    return {one.number for one in found}


def test_no_more_judges_work_than_there_are_processors_for() -> None:
    """One may always; each further one takes what the other programs leave, and gives it back."""
    spare = get_context("spawn").Semaphore(1)
    with Judges(Lowering(copies=False), 3, spare) as judges:
        assert [judges.give(task(n), waiting=5) for n in range(3)] == [True, True, False]
        assert spare.get_value() == 0 and judges.busy == len(judges.pids) == 2
        assert answered(judges, 2) == {0, 1} and spare.get_value() == 1
        assert judges.give(task(2), waiting=0) and spare.get_value() == 1  # the first is on no other's
        assert not judges.give(task(3), waiting=0) or len(judges.pids) == 2
        judges.rest()
        assert spare.get_value() == 1 and len(judges.pids) <= 1 and not judges.busy


def test_no_more_judges_start_than_were_asked_for() -> None:
    with Judges(Lowering(copies=False), 2) as judges:
        assert [judges.give(task(n), waiting=5) for n in range(3)] == [True, True, False]
        first = judges.pids[0]
        os.kill(first, signal.SIGKILL)  # before it has answered, or after
        found = [one for _ in range(2) for one in judges.answers(60.0)]
        while len(found) < 2:
            found += judges.answers(60.0)
        assert {one.number for one in found} == {0, 1}
        assert judges.give(task(2), waiting=5)
        assert answered(judges, 1) == {2} and first not in judges.pids


def test_a_judge_that_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was begun before the deadline has more time, but not for ever."""
    monkeypatch.setattr(judging, "GRACE_SECONDS", 0.5)
    with Judges(Lowering(copies=False), 1) as judges:
        assert judges.give(task(7))
        os.kill(judges.pids[0], signal.SIGSTOP)
        deadline = time.monotonic()
        assert not list(judges.answers(0.0, deadline)) and judges.busy == 1
        (late,) = judges.answers(0.6, deadline)
        assert (late.number, late.part, late.late) == (7, ADDRESSES, True)
        assert judges.give(task(8)) and answered(judges, 1) == {8}  # by another


class Late:
    """Judges who never answer in time."""

    least, busy = 1, 0

    def give(self, task: Task, waiting: int = 0) -> bool:
        self.busy, self.task = self.busy + 1, task
        return self.busy == 1

    def answers(self, _: float, deadline: float) -> Iterator[Answer]:
        if time.monotonic() > deadline:
            self.busy = 0
            yield Answer(self.task.number, self.task.part, broken="its time is up", late=True)

    def rest(self) -> None:
        self.rested = True


def test_what_is_not_judged_in_time_is_left() -> None:
    late: Any = Late()
    collector = collected(Lowering(), late, 2)
    collector.resolve(deadline=time.monotonic() + 0.1)
    found = collector.trace()
    (failure,) = found.failures
    assert (failure.kind, late.rested) == ("timeout", True)
    assert failure.message == "2 of 2 kernels were left to their types: time is up"
    assert [one.unbounded for one in found.copies] == ["its kernel was not checked: time is up"] * 6


class Heard:
    """Judges who answer at once, and remember what they were asked; an order takes them so many seconds."""

    least = busy = 0

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.task: Task | None = None

    def give(self, task: Task, waiting: int = 0) -> bool:
        if self.task is None:
            self.asked.append(f"{task.module.kernel} {task.part}")
        taken, self.task = self.task is None, self.task or task
        return taken

    def answers(self, _: float, deadline: float | None = None) -> Iterator[Answer]:
        task, self.task = self.task, None
        if task is not None:
            yield Answer(task.number, task.part, task.copies, seconds=10.0 * (task.part == ORDER))


@pytest.mark.parametrize(
    ("seconds", "expected"), [(5.0, "a c d aO cO dO b e bO eO"), (None, "a aO c cO d dO b bO e eO")]
)
def test_kernels_with_copies_at_new_lines_are_judged_first(seconds: float | None, expected: str) -> None:
    """With their order: `b` and `e` copy where `a` does, whose order waits if time is short."""
    collector = collected(Lowering(), None, 2)
    copy = collector.copies[0]
    heard: Any = Heard()
    shared = SharedOut(heard, order=True, compiled=False)
    for number, (kernel, arch, lines) in enumerate(
        [
            ("a", "sm_90a", (1, 2)),
            ("b", "sm_90a", (1,)),
            ("c", "sm_90a", (2, 3)),
            ("d", "sm_80", (1,)),
            ("e", "sm_90a", (2,)),
        ]
    ):
        copies = [replace(copy, where=replace(copy.where, line=line)) for line in lines]
        shared.add(number, TracedModule("", kernel, arch, {}, ()), copies)
    shared.finish(None, None if seconds is None else time.monotonic() + seconds)
    assert [word[0] + "O" * word.endswith(ORDER) for word in heard.asked] == expected.split()


def children(pid: int) -> list[int]:
    """The processes that a process has started, and theirs."""
    own = [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return [*own, *(below for one in own for below in children(one))]


def test_the_processes_of_a_judge_end_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A judge that is killed leaves no process of the DSL behind, whatever that is doing, and no folder."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    with Lowering(order=check_module) as lowering, Judges(lowering, 1) as judges:
        collector, seen = collected(lowering, judges, 2), list[int]()

        def between() -> None:
            seen[:] = judges.pids + [below for pid in judges.pids for below in children(pid)] or seen
            if len(seen) > 1:
                raise Ended("enough")

        with pytest.raises(Ended):
            collector.resolve(between)
        assert not judges.pids and not judges.busy
        deadline = time.monotonic() + 20
        while any(map(alive, seen)):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert len(collector.trace().kernels) == 2
    assert not list(tmp_path.iterdir())


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except FileNotFoundError:
        return False
