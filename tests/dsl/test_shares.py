"""Tests of one program that several processes share: what comes of it is the report of a single process."""

from __future__ import annotations

import dataclasses
import itertools
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from layoutcheck.dsl import failed_tests, identity, shares, thin
from layoutcheck.dsl import helpers as helping
from layoutcheck.dsl.called import MOST
from layoutcheck.dsl.collect import Collector
from layoutcheck.dsl.helpers import Helpers
from layoutcheck.dsl.shares import OTHERS, PRESENT, Place, Taken, group, share_tests, take
from layoutcheck.dsl.trace import trace_script
from layoutcheck.sources.trace_lines import to_lines
from layoutcheck.sources.traced import Trace


class Spare:
    """So many processors that others leave, and how often one was taken."""

    def __init__(self, count: int) -> None:
        self.free, self.given = count, 0

    def acquire(self, block: bool = True) -> bool:
        assert not block
        if not self.free:
            return False
        self.free, self.given = self.free - 1, self.given + 1
        return True

    def release(self) -> None:
        self.free += 1


def items(*names: str) -> list[Any]:
    return [SimpleNamespace(nodeid=name) for name in names]


def test_each_test_is_taken_once_and_the_next_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one of a name that comes twice. A process has its next test before it runs the one before."""
    (tmp_path / PRESENT).mkdir()
    monkeypatch.setattr(Taken, "_mine", lambda *_: True)
    names = ["a", "b", "a", "c", "d", "e"]
    one, two = (Taken(items(*names), tmp_path, own) for own in "12")
    running = [enumerate(one), enumerate(two)]
    ran: list[tuple[int, str, str, int]] = []
    for who in (0, 1, 1, 0, 0, 0, 1, 1):
        at, item = next(running[who], (0, None))
        if item is not None:
            mine = (one, two)[who]
            after = mine[at + 1].nodeid if at + 1 < len(mine) else ""
            ran.append((who, item.nodeid, after, Place.now))
    assert ran == [
        (0, "a", "b", 0), (1, "a", "c", 2), (1, "c", "d", 3), (0, "b", "e", 1), (0, "e", "", 5),
        (1, "d", "", 4),
    ]  # fmt: skip
    assert not list(Taken(items(*names), tmp_path, "3"))
    assert not list((tmp_path / PRESENT).iterdir())


def parametrized(name: str, **given: Any) -> Any:
    return SimpleNamespace(nodeid=f"{name}[{given}]", callspec=SimpleNamespace(params=given))


def test_tests_that_differ_in_sizes_alone_are_of_one_process(tmp_path: Path) -> None:
    """A process that comes later gets whole groups, of which the others run no further test."""
    (tmp_path / PRESENT).mkdir()
    every = [
        parametrized("t", n=n, kind=kind, swap=swap)
        for n in range(6)
        for kind in "abcd"
        for swap in (0, None)
    ]
    one = iter(Taken(every, tmp_path, "1"))
    alone = [next(one) for _ in range(8)]
    two = iter(Taken(every, tmp_path, "2"))
    late = [next(two), *two]
    rest = list(one)
    assert sorted(item.nodeid for item in (*alone, *late, *rest)) == sorted(item.nodeid for item in every)
    assert late and rest and not {group(item) for item in late} & {group(item) for item in rest[1:]}
    assert group(every[0]) == group(parametrized("t", n=9, kind="a", swap=3))
    assert group(parametrized("t", n=9, kind=object())) == "t kind=object"
    assert group(parametrized("t", swap=True)) != group(parametrized("t", swap=False))


class Sullen:
    """No string can be made of it, as of what exists in a context of the DSL only."""

    def __str__(self) -> str:
        raise RuntimeError("no context")


def test_a_test_may_have_any_parameter_and_any_name(tmp_path: Path) -> None:
    assert group(parametrized("t", v=SimpleNamespace(a=Path("b")))) != "t v=SimpleNamespace"
    assert group(SimpleNamespace(nodeid="t[v0]", callspec=SimpleNamespace(params={"v": Sullen()}))) == (
        "t v=Sullen"
    )
    (tmp_path / PRESENT).mkdir()
    (tmp_path / PRESENT / "2").touch()
    named = items(*(f"test_\udcff{n}.py::t" for n in range(8)))
    assert 0 < len(list(Taken(named, tmp_path, "1"))) < 8
    assert not all(take(tmp_path, f"{item.nodeid} 1") for item in named)


@pytest.fixture
def sharing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """A function that gives tests to a process's pytest; what it told, and what its pytest ran."""
    (tmp_path / "taken" / PRESENT).mkdir(parents=True)

    def process() -> Any:
        main = SimpleNamespace(pytest_runtestloop=lambda session: [one.nodeid for one in session.items])
        monkeypatch.setitem(sys.modules, shares.MAIN, main)
        told: list[int] = []
        share_tests(tmp_path / "taken", told.append)

        def run(*names: str, marks: tuple[str, ...] = ()) -> tuple[list[int], list[str]]:
            tests = items(*names)
            for item in tests:
                item.get_closest_marker = lambda mark: mark in marks
            session = SimpleNamespace(
                items=tests, config=SimpleNamespace(option=SimpleNamespace(basetemp=None))
            )
            del told[:]
            ran = main.pytest_runtestloop(session)
            assert session.items is tests
            return told, ran

        return run

    return process


def test_a_pytest_within_a_test_runs_all_of_its_own(sharing: Any) -> None:
    run = sharing()
    assert run("a", "b") == ([2], ["a", "b"])
    assert run("a", "c") == run("a", "c") == ([], ["a", "c"])


def test_a_process_that_collects_other_tests_runs_none(sharing: Any) -> None:
    """Names that differ in each process: one would run again what another one has run."""
    assert sharing()("a", "b") == ([2], ["a", "b"])
    assert sharing()("b", "a") == ([2], [])  # of another order only: all are taken
    assert sharing()("a", "b", "c") == sharing()("a") == ([OTHERS], [])


def test_tests_that_depend_on_each_other_are_of_one_process(sharing: Any) -> None:
    for mark in ("dependency", "xdist_group"):
        assert sharing()("a", "b", marks=(mark,)) == ([], ["a", "b"])


MANY = """
import pytest
@pytest.mark.parametrize("a", range(4))
@pytest.mark.parametrize("b", "uvwxyz")
def test_many(a, b): assert a
def test_one(): pass
"""
RUN = """
import sys, pathlib, pytest
from layoutcheck.dsl import failed_tests, shares, thin
thin.MOST = 5
thin.thin_tests()
log = open("log", "w", buffering=1)
shares.share_tests(pathlib.Path("taken"), lambda count: print("told", count, file=log))
failed_tests.watch_session(lambda over: print("over", over, file=log), whole=True)
class Seen:
    def pytest_runtest_logreport(self, report):
        if report.when == "call": print("ran", report.nodeid, file=log)
    def pytest_runtest_protocol(self, item, nextitem):
        print("next", nextitem and nextitem.nodeid, file=log)
        if "stop" in sys.argv: item.session.shouldstop = "told to"
pytest.main(["-p", "no:cacheprovider", "-q", "test_it.py", *sys.argv[2:]], plugins=[Seen()])
"""


@pytest.mark.parametrize(
    ("more", "told"),
    [(("-k", "many"), [5, 24]), (("-k", "one"), [1, 1]), (("stop",), [6]), (("test_it.py::test_one",), [25])],
)
def test_of_very_many_tests_a_part_comes_first(
    tmp_path: Path, more: tuple[str, ...], told: list[int]
) -> None:
    """Then each of the others, once, unless tests are named; one that ends between is not seen to its end.

    pytest knows, of each test, which one comes next.
    """
    (tmp_path / "taken" / PRESENT).mkdir(parents=True)
    (tmp_path / "test_it.py").write_text(MANY)
    words = ["stop"] if "stop" in more else ["", *more]
    subprocess.run([sys.executable, "-c", RUN, *words], cwd=tmp_path, capture_output=True, check=True)
    said = [line.split(" ", 1) for line in (tmp_path / "log").read_text().splitlines()]
    assert [int(text) for word, text in said if word == "told"] == told
    ran = [text for word, text in said if word == "ran"]
    assert len(set(ran)) == len(ran) == (1 if "stop" in more else told[-1])
    behind = [text for word, text in said if word == "next"]
    assert behind[: len(ran) - 1] == ran[1:] and ("stop" in more or behind[-1] == "None")
    if told == [5, 24]:
        assert sorted(ran[:5]) == ran[:5] and len({one[-4] for one in ran[:5]}) > 2  # not the first five
    assert [text for word, text in said if word == "over"] == ["False", str("stop" not in more)]


def test_the_part_that_comes_first_has_every_value_of_each_parameter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thin, "MOST", 64)
    product = list(itertools.product(range(4), range(8), range(64)))
    first = thin.part(product, "test_it.py::test_many")
    assert first == sorted(set(first)) == thin.part(product, "test_it.py::test_many") and len(first) == 64
    assert [len({call[at] for call in first}) for at in range(2)] == [4, 8]


def test_a_test_that_interrupts_pytest_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its status is that of a failed test, where another one has failed."""
    over: list[bool] = []

    def ends(error: BaseException | None) -> bool:
        def _main(config: Any, session: Any) -> None:
            if error is not None:
                raise error

        main = SimpleNamespace(_main=_main)
        monkeypatch.setitem(sys.modules, failed_tests.MAIN, main)
        failed_tests.watch_session(over.append, whole=False)
        try:
            main._main(None, SimpleNamespace(shouldstop=False, shouldfail=False))
        except BaseException as raised:
            assert raised is error
        return over[-1]

    assert ends(None) and not ends(KeyboardInterrupt())
    assert ends(type("Interrupted", (KeyboardInterrupt,), {})())  # of files that cannot be collected


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """Helpers on two processors, a clock, and a function that says how many tests are taken."""
    clock = [0.0]
    monkeypatch.setattr(helping.time, "monotonic", lambda: clock[0])
    folder = tmp_path / "taken"
    (folder / PRESENT).mkdir(parents=True)
    spare = Spare(2)

    def take(count: int) -> None:
        for number in range(count):
            (folder / str(number)).touch()

    def start(**_: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(["sleep", "60"])

    first = start()
    made = Helpers(first, start, spare, folder)
    yield SimpleNamespace(helpers=made, clock=clock, take=take, spare=spare, first=first)
    for process in (first, *made.processes):
        process.kill()
        process.wait()
    made.stop()
    assert spare.free == 2


def test_a_process_is_started_where_more_is_left_than_its_start_takes(started: Any) -> None:
    """Ten seconds until the tests were collected: at least twenty have to be left."""
    helpers, clock = started.helpers, started.clock
    assert helpers.step({}, {}) == []
    clock[0] = 10.0
    assert helpers.step({1: 110}, {}) == []  # nothing is known of a test's time
    started.take(10)
    clock[0] = 11.0  # ten tests a second: ten seconds are left
    assert helpers.step({1: 110}, {}) == []
    clock[0] = 13.0  # three tests a second: thirty
    (first,) = helpers.step({1: 110}, {})
    assert helpers.step({1: 110}, {}) == []  # it was looked at a moment ago
    clock[0] = 15.0
    assert len(helpers.step({1: 110}, {})) == 1 and started.spare.free == 0
    clock[0] = 17.0
    assert helpers.step({1: 110}, {}) == []  # no processor is left
    kill(helpers.processes[0])
    assert helpers.step({1: 110}, {}) == [] and started.spare.free == 1
    started.take(110)
    clock[0] = 20.0
    late = helpers.processes[1]
    assert helpers.step({1: 110, first: 110}, {}) == [] and late.poll() is not None
    assert [one.pid for one in helpers.processes] == [first] and not helpers.running


def test_none_follows_one_that_came_to_nothing(started: Any) -> None:
    """It died before its tests, or collected others; nor is one started for what is left in the end."""
    helpers, clock, first = started.helpers, started.clock, started.first.pid
    clock[0] = 10.0
    assert helpers.step({first: 1000}, {}) == []
    started.take(2)
    clock[0] = 12.0
    (second,) = helpers.step({first: 1000}, {})
    clock[0] = 14.0
    assert helpers.step({first: 1000, second: OTHERS}, {}) == []
    kill(helpers.processes[0])
    clock[0] = 16.0
    assert helpers.step({first: 1000}, {}) == []
    assert len(helpers.step({first: 1000}, {second: True})) == 0  # it was looked at a moment ago
    clock[0] = 18.0
    assert len(helpers.step({first: 1000}, {second: True})) == 1
    kill(helpers.processes[1])
    kill(started.first)
    sessions = dict.fromkeys((first, second, helpers.processes[1].pid), True)
    assert helpers.step({first: 1000, second: OTHERS}, sessions) == [] and helpers.left == 998


def kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def test_what_is_left_when_all_have_ended_is_for_one_more(started: Any) -> None:
    """If that one takes nothing, or a session was ended, the rest is not run."""
    helpers, clock, first = started.helpers, started.clock, started.first.pid
    clock[0] = 10.0
    assert helpers.step({first: 9}, {}) == []
    started.take(2)
    clock[0] = 100.0
    (second,) = helpers.step({first: 9}, {})
    kill(started.first)
    kill(helpers.processes[0])
    assert helpers.step({first: 9}, {first: True, second: False}) == [] and helpers.left == 7
    started.take(4)
    (third,) = helpers.step({first: 9}, {first: True, second: True})
    assert started.spare.free == 2  # on the program's own processor
    kill(helpers.processes[1])
    assert helpers.step({first: 9}, {first: True, second: True, third: True}) == [] and helpers.left == 5


def event(kind: str, pid: int, at: int, **more: Any) -> dict[str, Any]:
    return {"kind": kind, "pid": pid, "at": at, **more}


def built(pid: int, at: int, number: int, line: int, kernel: str = "k") -> dict[str, Any]:
    place = (
        f'loc(callsite("k"("/me/k.py":3:1) at callsite("get"("/me/k.py":9:1) at "t"("/me/t.py":{line}:1))))'
    )
    return event(
        "built", pid, at, number=number, kernel=kernel, arch="sm_90a", text=f"{COPY}// {kernel}", places=[],
        locations=[place], refused=[], others=[], caller=["/me/k.py", 9],
    )  # fmt: skip


TYPES = "!cute.tiled_copy<simt_async_copy<f32>>, !cute.memref<f32, gmem>, !cute.memref<f32, smem>"
COPY = f"""
"builtin.module"() ({{
  %0:3 = "a.b"() : () -> ({TYPES})
  "cute.copy"(%0#0, %0#1, %0#2) : ({TYPES}) -> ()
}}) : () -> ()
"""


def test_what_several_processes_see_is_in_the_order_of_tests() -> None:
    """Read in any order: alike kernels are one, at the lines of the earliest test that had it built."""
    calls = [event("called", 2, 10 + n, number=1, given=[n]) for n in range(MOST + 4)]
    said = {"type": "E", "where": None, "refused": False, "compiling": False, "launches_skipped": 0}
    tests = [
        event("test", pid, at, test=f"t{at}", message="no", **said) for pid, at in ((2, 6), (1, 5), (2, 7))
    ]
    seen = [built(2, 4, 1, 40), built(2, 8, 2, 80, "other"), *tests, *calls, built(1, 1, 1, 10, "first")]
    seen += [built(1, 3, 2, 30), event("called", 1, 3, number=2, given=[99])]
    found = []
    for events in (seen, sorted(seen, key=lambda one: one["at"])):
        collector = Collector(main=1, compiled=False)
        collector.outcomes.mains.add(2)
        collector.take([event("tests", pid, -1, count=9) for pid in (1, 2)])
        collector.take(events)
        (same,) = (number for number, one in enumerate(collector._modules) if one[0].kernel == "k")
        found.append((collector._given(same)[0].calls, collector.trace()))
    (calls_of, trace), again = found[0], found[1]
    assert (calls_of, trace.copies, trace.failures) == (again[0], again[1].copies, again[1].failures)
    assert [one.name for one in trace.kernels] == ["first", "k", "other"]
    assert [(one.kernel, one.stack[-1].line) for one in trace.copies] == [
        ("first", 10), ("k", 30), ("other", 80)
    ]  # fmt: skip
    assert [one.message for one in trace.failures] == ["t5 and 2 more: E: no"]
    assert calls_of == ((99,), *((n,) for n in range(MOST - 1)))


def test_a_kernel_is_the_same_whatever_its_functions_are_called() -> None:
    """As by a hash of an address, which is another in each process; code, lines and what is called count."""

    def module(kernel: str, host: str, called: str = "sinf", width: int = 4) -> str:
        return f'''
"builtin.module"() ({{
  "gpu.module"() <{{sym_name = "kernels"}}> ({{
    "cuda.kernel"() <{{function_type = () -> (), sym_name = "{kernel}"}}> ({{
      "func.call"() <{{callee = @{called}}}> {{width = {width}}} : () -> ()
    }}) : () -> ()
    "func.func"() <{{function_type = () -> (), sym_name = "{called}", sym_visibility = "private"}}> ({{
    }}) : () -> ()
  }}) : () -> ()
  "func.func"() <{{function_type = () -> (), sym_name = "{host}"}}> ({{
    "cuda.launch_ex"() <{{callee = @kernels::@{kernel}}}> : () -> ()
    "cute.print"() <{{fmt = "kernel '@kernels::@{kernel}' is too large"}}> : () -> ()
  }}) : () -> ()
}}) : () -> ()
'''

    def digest(text: str, **more: Any) -> str:
        return identity.digest({"arch": "sm_90a", "text": text, "locations": [], **more}, alike=True)

    first = digest(module("kernel_fc2dda36222e3269", "host_fc2dda36222e3269"))
    assert first == digest(module("kernel_e3fa87cc6bb3585d", "host_7"))
    assert first != digest(module("kernel", "host", called="cosf"))
    assert first != digest(module("kernel", "host", width=8))
    assert first != digest(module("kernel", "host"), arch="sm_100a")
    assert first != digest(module("kernel", "host"), locations=["elsewhere"])
    assert digest(module("a", "b").replace("@kernels::@a}", "@kernels::@b}")) != first


def test_what_a_process_of_other_tests_says_of_them_is_left_out() -> None:
    """The first process has collected them, and runs all."""
    said = {"type": "E", "message": "busy", "where": None, "refused": False, "compiling": False}
    for count, kinds in ((OTHERS, []), (3, ["test"])):
        collector = Collector(main=1, compiled=False)
        collector.outcomes.mains.add(2)
        collector.take([event("tests", 1, -1, count=3), event("skip", 2, -1, tests=[""], reason="busy")])
        collector.take([event("test", 2, -1, test="t", launches_skipped=0, **said)])
        collector.take([event("tests", 2, -1, count=count)])
        trace = collector.trace()
        assert [one.kind for one in trace.failures] == kinds
        assert bool(trace.skipped) == bool(kinds)


def test_a_process_that_raises_is_the_programs_own_if_it_helps() -> None:
    said = {"type": "E", "message": "no", "where": None, "refused": False, "launches_skipped": 0}
    for mains, raised in (({1}, False), ({1, 2}, True)):
        collector = Collector(main=1)
        collector.outcomes.mains |= mains
        collector.take([event("raised", 2, -1, **said)])
        assert collector.outcomes.raised is raised


KERNELS = """
import functools
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_compact_tensor


@cute.kernel
def kernel(src: cute.Tensor, dst: cute.Tensor, n: cutlass.Constexpr):
    tidx, _, _ = cute.arch.thread_idx()
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=128)
    tiled = cute.make_tiled_copy_tv(atom, cute.make_layout((32, n), stride=(n, 1)), cute.make_layout((1, 4)))
    thr = tiled.get_slice(tidx)
    cute.copy(tiled, thr.partition_S(src), thr.partition_D(dst))


@cute.jit
def host(src: cute.Tensor, dst: cute.Tensor, n: cutlass.Constexpr):
    kernel(src, dst, n).launch(grid=(1, 1, 1), block=(32 * n, 1, 1))


def compiled(n):
    made = [
        make_fake_compact_tensor(cutlass.Float32, (32, 4 * n), stride_order=(1, 0), assumed_align=16)
        for _ in range(2)
    ]
    return cute.compile(host, *made, n)


kept = functools.lru_cache(compiled)
"""
SUITE = '''
import time
import pathlib
import pytest
import kernels


@pytest.fixture(scope="session", autouse=True)
def together():
    """Where two processes are wanted, none of them begins alone."""
    here = pathlib.Path(__file__).parent
    (here / f"process-{time.time_ns()}").touch()
    (here / f"order-of-sets-{hash('x')}").touch()
    until = time.monotonic() + 60
    while (here / "two").exists() and len(list(here.glob("process-*"))) < 2:
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.parametrize("x", range(3))
@pytest.mark.parametrize("n", [1, 2, 4, 8])
def test_a(n, x):
    time.sleep(0.02)
    kernels.kept(n)


class TestClass:
    @pytest.mark.parametrize("n", [8, 4, 2, 1])
    def test_b(self, n):
        time.sleep(0.02)
        kernels.kept(n)

    @pytest.mark.parametrize("n", [2, 4])
    def test_every_time(self, n):
        kernels.compiled(n)

    @pytest.mark.parametrize("n", range(4))
    def test_fails(self, n):
        assert n == 2


def test_raises():
    raise ValueError("no kernel")


def test_skips():
    pytest.skip("no card")
'''


def shared(folder: Path, spare: Spare | None, *options: str) -> Trace:
    return trace_script(
        "-m", ["pytest", "-q", "-p", "no:cacheprovider", *options, "test_it.py"], launch=False, spread=True,
        cwd=str(folder), output=subprocess.DEVNULL, timeout_s=200, spare=spare, least=0.0, arch="sm_90a",
    )  # fmt: skip


def lines(trace: Trace) -> list[Any]:
    """A trace as it is kept, but for how often processes that share no cache have built a kernel."""
    kernels = tuple(dataclasses.replace(one, built=1) for one in trace.kernels)
    return [json.loads(line) for line in to_lines(dataclasses.replace(trace, kernels=kernels))]


@pytest.mark.sweep
def test_one_process_and_four_report_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cutlass")
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    (tmp_path / "kernels.py").write_text(KERNELS)
    (tmp_path / "test_it.py").write_text(SUITE)
    alone, spare = shared(tmp_path, None), Spare(3)
    for name in tmp_path.glob("process-*"):
        name.unlink()
    (tmp_path / "two").touch()
    several = shared(tmp_path, spare)
    assert len(list(tmp_path.glob("process-*"))) > 1 and spare.given >= 1 and spare.free == 3
    assert lines(several) == lines(alone)
    assert len(list(tmp_path.glob("order-of-sets-*"))) == 1
    assert len(alone.kernels) == 4 and len(alone.copies) == 4
    assert sum(one.built for one in alone.kernels) == 6
    assert [one.kind for one in alone.failures] == ["test"] * 4
    assert dict(several.skipped) == {"test_it.py::test_skips": "no card"}


PLAIN = """
import time, pathlib, os
def log(name):
    with open(pathlib.Path(__file__).parent / "ran", "a") as file:
        file.write(name + "\\n")
    time.sleep(0.1)
def test_a(): log("a")
def test_b(): log("b"); assert False
def test_c(): log("c"); {deed}
def test_d(): log("d")
def test_e(): log("e"); time.sleep({seconds})
def test_f(): log("f")
"""


@pytest.mark.parametrize(
    ("options", "helped"),
    [
        (("-x",), True),
        pytest.param(("-n", "2"), False, marks=pytest.mark.sweep),
        pytest.param(("-n", "0", "-p", "no:randomly"), True, marks=pytest.mark.sweep),
        pytest.param(("--basetemp", "made"), False, marks=pytest.mark.sweep),
        pytest.param(("-p", "no:main"), False, marks=pytest.mark.sweep),
    ],
)
def test_the_users_own_options_hold(tmp_path: Path, options: tuple[str, ...], helped: bool) -> None:
    """Each test is run once, whoever runs it: also by pytest-xdist, which has processes of its own."""
    if "-n" in options:
        pytest.importorskip("xdist")
    (tmp_path / "test_it.py").write_text(PLAIN.format(deed="pass", seconds=1))
    spare = Spare(1)
    found = shared(tmp_path, spare, *options)
    if options == ("-p", "no:main"):  # pytest cannot do without
        assert [one.kind for one in found.failures] == ["exited"]
        return
    assert sorted((tmp_path / "ran").read_text().split()) == list("abcdef")
    assert [one.message for one in found.failures] == ["test_it.py::test_b: AssertionError: assert False"]
    assert spare.given == helped and spare.free == 1


@pytest.mark.parametrize(
    ("deed", "kind"),
    [
        ("os.kill(os.getpid(), 11)", "killed"),
        pytest.param("__import__('pytest').exit('', returncode=0)", "exited", marks=pytest.mark.sweep),
        pytest.param("os._exit(3)", "exited", marks=pytest.mark.sweep),
    ],
)
def test_the_end_of_one_process_is_told(tmp_path: Path, deed: str, kind: str) -> None:
    """Whichever it is; no test is run again."""
    (tmp_path / "test_it.py").write_text(PLAIN.format(deed=f"time.sleep(1), {deed}", seconds=1))
    found = shared(tmp_path, Spare(1))
    assert kind in [one.kind for one in found.failures]
    ran = (tmp_path / "ran").read_text().split()
    assert len(ran) == len(set(ran)) and {"a", "b", "c"} <= set(ran)


def test_a_program_that_is_no_suite_has_no_helpers(tmp_path: Path) -> None:
    (tmp_path / "it.py").write_text("import time\ntime.sleep(1)\n")
    spare = Spare(1)
    found = trace_script("it.py", launch=False, spread=True, cwd=str(tmp_path), spare=spare, least=0.0)
    assert not found.failures and spare.given == 0


OTHER = """
import os, pathlib, pytest, time
first = not (pathlib.Path(__file__).parent / "first").exists()
(pathlib.Path(__file__).parent / "first").touch()
@pytest.mark.parametrize("n", range(4 if first else 3))
@pytest.mark.parametrize("f", "ab")
def test_a(n, f): time.sleep(0.5)
def test_b(pytester):
    pytester.makepyfile(f"def test_c(): open({str(pathlib.Path(__file__).parent / 'ran')!r}, 'a').write('c')")
    assert [pytester.inline_run().ret for _ in range(3)] == [0] * 3
"""


@pytest.mark.sweep
def test_a_program_whose_processes_collect_other_tests(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(OTHER)
    spare = Spare(2)
    found = shared(tmp_path, spare, "-p", "pytester")
    assert found.failures == () and 0 < spare.given < 3 and spare.free == 2
    assert (tmp_path / "ran").read_text() == "ccc"
