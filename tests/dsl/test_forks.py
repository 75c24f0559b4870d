"""Runs of a program as forks: what a new process is, and does, and says; nothing is left of them."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from layoutcheck.dsl.forks import Forks, Parent
from layoutcheck.dsl.trace import Script, run_traced
from layoutcheck.sources.traced import Trace
from tests.patching.odd import ODD

pytest.importorskip("cutlass", reason="the CuTe DSL is not installed")

BEFORE = """import json, os, signal, sys, time
if sys.argv[1:] == ["set"]:
    os.environ["OF_THE_PROGRAM"] = "1"
"""
AFTER = """
def named(number):
    path = f"/proc/self/fd/{number}"
    return os.path.basename(os.readlink(path)).split("-")[0] if os.path.exists(path) else ""

def state():
    return {
        "argv": sys.argv[:1], "path": sys.path, "cwd": os.getcwd(), "name": __name__, "file": __file__,
        "spec": __spec__, "session": os.getsid(0) == os.getpid(),
        "main": vars(sys.modules["__main__"]) is globals(),
        "threads": len(os.listdir("/proc/self/task")),
        "files": sorted(map(named, os.listdir("/proc/self/fd"))),
        "environment": {k: v for k, v in os.environ.items() if not k.startswith(("LAYOUTCHECK", "PYTEST"))},
        "loaded": [one for one in ("runpy", "torch", "tests", "layoutcheck.dsl.trace") if one in sys.modules],
    }

what = sys.argv[1] if sys.argv[1:] else ""
with open(f"told{what}.json", "w") as file:
    json.dump(state(), file)
if what == "daemon" and os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    with open("daemon", "w") as file:
        file.write(str(os.getpid()))
    time.sleep(300)
if what == "daemon":
    while not os.path.exists("daemon") or not open("daemon").read():
        time.sleep(0.01)
if what == "abort":
    os.abort()
if what == "hang":
    time.sleep(300)
if what == "raise":
    raise ValueError("so be it")
"""


def run(folder: Path, forks: Forks | None, *args: str, timeout_s: float = 100) -> Trace:
    os.environ.pop("PYTEST_CURRENT_TEST", None)  # which makes each test's environment another one
    script = Script(
        str(folder / "kernel.py"), args, launch=False, arch="sm_90a", cwd=str(folder), forks=forks,
        timeout_s=timeout_s,
    )  # fmt: skip
    return run_traced(script)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Trace]:
    folder = tmp_path_factory.mktemp("forked").resolve()
    (folder / "kernel.py").write_text(BEFORE + ODD["half a vector in V"] + AFTER)
    return folder, run(folder, None)


@pytest.fixture(scope="module")
def forks(first: tuple[Path, Trace]) -> Iterator[Forks]:
    with Forks(first[1]) as made:
        yield made
        parents = [*made._parents.values()]
    assert len(parents) == 1 and parents[0].ready  # all runs had the same
    assert _gone(parents[0]._process.pid)


def _gone(pid: int) -> bool:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


def test_a_fork_is_what_a_new_process_is_and_its_trace_the_same(
    first: tuple[Path, Trace], forks: Forks
) -> None:
    folder, trace = first
    assert len(trace.copies) == 1 and not trace.environment
    cold = json.loads((folder / "told.json").read_text())
    for _ in range(2):
        (folder / "told.json").unlink()
        assert run(folder, forks) == trace
        assert json.loads((folder / "told.json").read_text()) == cold


@pytest.mark.parametrize("what", ["raise", "abort"])
def test_a_fork_that_fails_says_why(first: tuple[Path, Trace], forks: Forks, what: str) -> None:
    folder, trace = first
    found = run(folder, forks, what)
    assert found.copies == trace.copies
    [failed] = found.failures
    assert failed.where is not None and failed.where.file == str(folder / "kernel.py")
    assert failed.kind == {"raise": "raised", "abort": "killed"}[what], failed
    assert "so be it" in failed.message or "SIGABRT" in failed.message


def test_what_a_fork_leaves_running_is_ended(first: tuple[Path, Trace], forks: Forks) -> None:
    folder, trace = first
    found = run(folder, forks, "daemon")
    assert found.copies == trace.copies and any("running" in one.message for one in found.failures), found
    assert _gone(int((folder / "daemon").read_text()))


def test_a_fork_is_ended_when_its_time_is_up_and_the_next_one_runs(
    first: tuple[Path, Trace], forks: Forks
) -> None:
    folder, trace = first
    found = run(folder, forks, "hang", timeout_s=4)
    assert [one.kind for one in found.failures] == ["timeout"] and found.copies == trace.copies
    assert run(folder, forks) == trace


def test_a_run_ends_with_the_process_that_it_is_a_fork_of(first: tuple[Path, Trace]) -> None:
    """As on Ctrl-C: nothing goes on without us."""
    with Forks(first[1]) as made:
        started: list[int] = []
        fork = Parent.fork

        def forked(self: Parent, *given: object) -> object:
            one = fork(self, *given)  # type: ignore[arg-type]
            started.append(one.pid)
            raise KeyboardInterrupt

        with pytest.MonkeyPatch.context() as patch, contextlib.suppress(KeyboardInterrupt):
            patch.setattr(Parent, "fork", forked)
            run(first[0], made, "hang")
    assert len(started) == 1 and _gone(started[0])


def test_where_the_first_run_was_another_one_a_new_process_runs(first: tuple[Path, Trace]) -> None:
    folder, trace = first
    changed = run(folder, None, "set")
    assert changed.environment == ("OF_THE_PROGRAM",)
    for known in (changed, Trace(imported=trace.imported[::2])):
        with Forks(known) as made:
            assert run(folder, made).copies == trace.copies
            assert not any(parent.ready for parent in made._parents.values())
