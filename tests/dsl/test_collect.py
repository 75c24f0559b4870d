"""What is made of the events of a traced run."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from layoutcheck.dsl import spool
from layoutcheck.dsl.collect import Collector
from layoutcheck.dsl.loaded import Loaded
from layoutcheck.dsl.observe import Built
from layoutcheck.dsl.outcomes import Outcomes
from layoutcheck.judge import judge_traced
from layoutcheck.operands import check_operands
from layoutcheck.sources.traced import Frame

# An error of the DSL, as it raises it: coloured, after an empty line, with the kernel's own line inside.
SAID = (
    "\n\x1b[91m\x1b[1merror:\x1b[0m expects arch to be one of [base_dsl.Arch.sm_100a, Arch.sm_110a], "
    "but got sm_90a\n  \x1b[94m-->\x1b[0m /home/me/umma.py:71:9\n"
    "   |\n70 | mma = (\n71 |     made |\n   |     ^^^^\n"
    "  \x1b[92msuggestion:\x1b[0m take another\n"
)


def raised(message: str) -> dict[str, Any]:
    where = {"file": "/home/me/umma.py", "line": 300, "column": 5, "function": "make"}
    caller = {"file": "/home/me/run.py", "line": 7, "column": 1, "function": "<module>"}
    return {
        "kind": "raised", "pid": 1, "type": "DSLUserCodeError", "message": message, "where": where,
        "stack": [caller], "refused": False, "launches_skipped": 0,
    }  # fmt: skip


def test_an_error_of_the_dsl_stands_at_the_kernels_line_and_without_colours() -> None:
    collector = Collector()
    collector.take([raised(SAID)])
    trace = collector.trace()
    (failure,) = trace.failures
    assert failure.where == Frame("/home/me/umma.py", 71)
    assert [one.line for one in failure.stack] == [300, 7]
    wanted = "expects arch to be one of [base_dsl.Arch.sm_100a, Arch.sm_110a], but got sm_90a"
    assert failure.message == f"DSLUserCodeError: error: {wanted}\n  suggestion: take another"
    assert trace.notes == ("this kernel is for another architecture: --arch sm_100a",)


def test_so_does_one_that_a_test_raises() -> None:
    collector = Collector()
    event = {**raised(SAID), "kind": "test", "test": "test_it", "compiling": False}
    collector.take([event, {**event, "message": "no such thing"}])
    found = [
        (one.where and one.where.line, [each.line for each in one.stack], one.message[:30])
        for one in collector.trace().failures
    ]
    assert found == [
        (71, [300, 7], "test_it: DSLUserCodeError: err"),
        (300, [7], "test_it: DSLUserCodeError: no "),
    ]


def test_failures_at_one_line_have_the_callers_of_their_own() -> None:
    collector = Collector()
    event = {**raised("no such tile"), "kind": "test", "test": "test_one", "compiling": False}
    caller = {**event["stack"][0], "line": 9}
    collector.take([event, {**event, "test": "test_two", "message": "no such atom", "stack": [caller]}])
    found = [
        (one.message.partition(":")[0], [each.line for each in one.stack])
        for one in collector.trace().failures
    ]
    assert found == [("test_one", [7]), ("test_two", [9])]


def test_another_exception_stands_where_it_was_raised() -> None:
    collector = Collector()
    collector.take([raised("no such thing")])
    (failure,) = collector.trace().failures
    assert (failure.where, failure.stack, failure.message) == (
        Frame("/home/me/umma.py", 300, 5, "make"),
        (Frame("/home/me/run.py", 7, 1, "<module>"),),
        "DSLUserCodeError: no such thing",
    )


def test_only_the_scripts_own_pytest_is_waited_for() -> None:
    collector, seen = Collector(main=1), []
    for pid, over in ((2, False), (1, False), (2, True), (1, True)):
        collector.take([{"kind": "session", "pid": pid, "over": over}])
        seen.append(collector.sessions.get(1) is False)
    assert seen == [False, True, True, False]


def refused(name: str, message: str) -> dict[str, Any]:
    return {
        "kind": "built", "pid": 1, "number": 1, "kernel": "k", "arch": "sm_90a", "text": "", "locations": [],
        "refused": [], "others": [(name, message, 'loc("/home/me/host.py":63:5)')],
    }  # fmt: skip


def test_a_host_print_is_refused_only_where_tensors_are_where_they_are_said_to_be() -> None:
    """Without launches and without a GPU every tensor is taken to be in GPU memory."""
    said = "'cute.print_view' op in host context can only print view in host memory space, got '...'"
    for compiled, failures in ((False, 0), (True, 2)):
        collector = Collector(compiled=compiled)
        collector.take([refused("cute.print_view", said), refused("cute.print", said)])
        trace = collector.trace()
        assert len({(one.kind, one.message) for one in trace.failures}) == failures
        assert bool(trace.notes) is not compiled
    collector = Collector(compiled=False)
    collector.take([refused("cute.print_view", "another reason")])
    assert [one.kind for one in collector.trace().failures] == ["refused"]


TYPES = """!cute_nvgpu.atom.universal_copy<f32, 128 b>,
  !cute.memref<f32, gmem, align<8>, "(4,(1)):(1,(0))">, !cute.memref<f32, rmem, align<32>, "(4,(1)):(1,(0))">
"""
NARROW = f"""
"builtin.module"() ({{
  %0:3 = "a.b"() : () -> ({TYPES})
  "cute.copy"(%0#0, %0#1, %0#2) : ({TYPES}) -> ()
}}) : () -> ()
"""


@pytest.mark.parametrize(
    ("said", "verdict", "by"),
    [([], "rejected", None), ([()], "unknown", "accepted"), ([((0, "too narrow"),)], "rejected", "rejected")],
)
def test_a_process_that_ends_before_the_verifier_does_has_had_nothing_accepted(
    said: list[tuple[tuple[int, str], ...]], verdict: str, by: str | None
) -> None:
    """The model's word counts then. Its last word is of the first module, too, which has the same text."""
    collector = Collector(main=1)
    collector.take(
        spool.as_dict(Built(number, "k", "sm_90a", NARROW, ('loc("/me/k.py":3:1)',))) for number in (1, 2)
    )
    collector.take(spool.as_dict(Built(2, "k", "sm_90a", "", refused=refused)) for refused in said)
    (copy,) = collector.trace().copies
    report = judge_traced(copy)
    assert report is not None and report.verdict == verdict
    assert (copy.observed and copy.observed.outcome) == by


class Slow:
    """A lowering that takes a second for each module, and `order` for the order of its accesses."""

    problem, copies = "", True

    def __init__(self, clock: list[float], order: float | None = 0.0, first: float = 1.0) -> None:
        self.clock, self.order, self.first = clock, order, first
        self.took: list[str] = []

    def resolve(self, text: str, copies: list[Any], *_: Any) -> list[Any]:
        self.clock[0] += 1.0 if self.took else self.first
        self.took.append(f"addresses {text[-1]}")
        return copies

    def refusal(self, *_: Any) -> None:
        return None

    def recover(self) -> None:
        return None

    def elements(self, _module: Any) -> None:
        return None

    def check_order(self, module: Any) -> str:
        self.clock[0] += self.order or 0.0
        self.took.append(f"order {module.text[-1]}")
        return self.took[-1]

    check_products = staticmethod(check_operands)


def judged(
    monkeypatch: pytest.MonkeyPatch, deadline: float | None, order: float | None = 0.0, first: float = 1.0
) -> tuple[Any, Slow]:
    """Three modules, judged until then."""
    clock = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    slow = Slow(clock, order, first)
    collector = Collector(lowering=slow, compiled=False)  # type: ignore[arg-type]
    for number in range(3):
        text = f"module {{ }} // {number}"
        built = {"kind": "built", "pid": 1, "number": number, "kernel": f"k{number}", "arch": "sm_90a"}
        collector.take([{**built, "text": text, "locations": [], "refused": [], "others": []}])
    collector.resolve(deadline=deadline)
    return collector.trace(), slow


def test_judging_ends_with_its_time_and_keeps_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three modules, a second each; after a second and a half two of them have been judged."""
    trace, slow = judged(monkeypatch, 1.5)
    assert slow.clock == [2.0] and len(trace.kernels) == 3
    failure = trace.failures[0]
    assert (failure.kind, failure.message.split(" ")[:3]) == ("timeout", ["1", "of", "3"])
    unordered, _ = judged(monkeypatch, 1.5, None)  # nobody asked for the order of accesses
    assert unordered.failures == (failure,)


@pytest.mark.parametrize(
    ("deadline", "took", "left"),
    [
        (None, "addresses 0, order 0, addresses 1, order 1, addresses 2, order 2", ""),
        (100.0, "addresses 0, order 0, addresses 1, order 1, addresses 2, order 2", ""),
        (12.0, "addresses 0, order 0, addresses 1, addresses 2, order 1", "1 of 3 kernels was left"),
        (2.5, "addresses 0, addresses 1, addresses 2", "3 of 3 kernels was left"),
    ],
)
def test_the_order_of_accesses_waits_where_time_is_short(
    monkeypatch: pytest.MonkeyPatch, deadline: float | None, took: str, left: str
) -> None:
    """Addresses take a second, the order five: six for the first module."""
    trace, slow = judged(monkeypatch, deadline, 5.0)
    assert ", ".join(slow.took) == took
    assert [one.kind for one in trace.failures] == ["timeout"] * bool(left)
    assert all(left in one.message for one in trace.failures)


def test_reports_on_order_stand_as_their_kernels_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first module, of five seconds, leaves so little that its order waits for those of the others."""
    trace, slow = judged(monkeypatch, 14.0, 5.0, first=5.0)
    assert [one for one in slow.took if "order" in one] == ["order 1", "order 0"]
    assert trace.orders == ("order 0", "order 1")


def test_what_was_imported_is_left_once_and_behind_each_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that is ended, or ends itself, has no last word."""
    files = ["/a.py"]
    monkeypatch.setattr(spool, "_named", set())
    monkeypatch.setattr(spool, "imported", files.copy)
    monkeypatch.setattr(spool, "reads", lambda: ["$HOME"])
    spool._imports(str(tmp_path))
    spool._imports(str(tmp_path))
    files.append("/b.py")
    spool._test(str(tmp_path), "test_it.py::test", ValueError("no"), 0)
    files.append("/c.py")
    spool._record(str(tmp_path), Loaded("kernel.so"))
    left = list(spool.read(tmp_path))
    assert [event["kind"] for event in left] == ["imported", "test", "imported", "loaded", "imported"]
    assert [event["files"] for event in left[::2]] == [["/a.py", "$HOME"], ["/b.py"], ["/c.py"]]


def test_a_compiled_file_that_the_run_itself_wrote_was_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cache that is empty at first is filled and read in one run."""
    monkeypatch.setenv(spool.OPTIONS, json.dumps({"begun": 1000.0}))
    monkeypatch.setattr(spool, "_imports", lambda _: None)
    (tmp_path / "spool").mkdir()
    for name, written in (("old.o", 900), ("new.o", 1001)):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (written, written))
        spool._record(str(tmp_path / "spool"), Loaded(str(tmp_path / name)))
    assert [Path(event["path"]).name for event in spool.read(tmp_path / "spool")] == ["old.o"]


def test_a_compiled_file_of_an_installed_package_is_none_of_the_programs() -> None:
    out = Outcomes(1, True)
    out.loaded("/v/lib/python3.12/site-packages/quick/kernel.o", 0)
    assert not list(out.failures(False, True))
    out.loaded("cuModuleLoadData at mine.py:3", 0, foreign=True)
    assert not list(out.failures(False, True)) and "did not compile" in " ".join(out.notes())
    out.loaded("cached/kernel.o", 1)
    assert [one.kind for one in out.failures(False, True)] == ["loaded"]
