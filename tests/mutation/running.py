"""One mutant, put into a copy of the tree and run against its tests in a forked process.

The fork saves the start of pytest, numpy and hypothesis. Nothing of layoutcheck is loaded before it, so that
the copy's is what the tests see.
"""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import hypothesis
import numpy as np
import pytest

from tests.mutation.mutants import Mutant

PREIMPORTED = (hypothesis, np)
LEFT_OUT = (".git", ".venv", ".mutation", ".gpu", "__pycache__", ".*_cache", ".hypothesis")
MEMORY_BYTES = 6 << 30


class Outcome(NamedTuple):
    """What became of a mutant: "killed" (by which test), "timeout", "survived", "untested" or "error"."""

    status: str
    by: str
    tests: int
    seconds: float


class Tree:
    """A copy of the repository that holds one mutant at a time."""

    def __init__(self, root: Path, place: Path) -> None:
        self.place, self.writes = place, 0
        self.originals: dict[str, str] = {}
        shutil.copytree(root, place, ignore=shutil.ignore_patterns(*LEFT_OUT), dirs_exist_ok=True)

    def write(self, path: str, text: str) -> None:
        """Write a file with a time that no compiled file of its other contents bears."""
        self.writes += 1
        (self.place / path).write_text(text, encoding="utf-8")
        stamp = 1_000_000_000 + self.writes
        os.utime(self.place / path, (stamp, stamp))

    def run(self, mutant: Mutant | None, tests: Sequence[str], limit_s: float, stop: bool = True) -> Outcome:
        """Run `tests`, in that order, against `mutant`, for `limit_s` seconds at most."""
        started = time.monotonic()
        if mutant:
            if mutant.path not in self.originals:  # the copy's own: whoever edits the tree meanwhile may
                self.originals[mutant.path] = (self.place / mutant.path).read_text("utf-8")
            original = self.originals[mutant.path]
            self.write(mutant.path, mutant.apply(original))
        try:
            status, by = _forked(self.place, list(tests), limit_s, stop)
        finally:
            if mutant:
                self.write(mutant.path, original)
        return Outcome(status, by, len(tests), round(time.monotonic() - started, 2))


def _forked(place: Path, tests: list[str], limit_s: float, stop: bool) -> tuple[str, str]:
    said = place.with_suffix(".said")
    said.write_text("", "utf-8")
    child = os.fork()
    if not child:
        code = 99
        try:
            code = _child(place, tests, said, stop)
        finally:
            os._exit(code)
    deadline = time.monotonic() + limit_s
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        if time.monotonic() > deadline:
            _kill(child)
            os.waitpid(child, 0)
            return "timeout", said.read_text("utf-8").strip()
        time.sleep(0.02)
    _kill(child)
    by, code = said.read_text("utf-8").strip(), os.waitstatus_to_exitcode(status)
    if code == 0:
        return "survived", by
    # 1: a test failed; 2, 3: a test module or the plugin could not be imported; negative: a crash.
    return ("killed", by or f"exit {code}") if code in (1, 2, 3) or code < 0 else ("error", f"exit {code}")


def _kill(group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def _child(place: Path, tests: list[str], said: Path, stop: bool) -> int:
    root = place.parents[1]
    os.setsid()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    log = os.open(place.with_suffix(".log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.chdir(place)
    here = ("", str(root))
    others = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path not in here]
    os.environ.update(CI="1", PYTHONPATH=os.pathsep.join([str(place), *others]))
    sys.path[:] = [str(place), *(path for path in sys.path if path not in here)]
    for name in [n for n in sys.modules if n.split(".")[0] in ("tests", "layoutcheck")]:
        del sys.modules[name]
    files = list(dict.fromkeys(test.split("::")[0] for test in tests))
    options = ["-q", "-p", "no:cacheprovider", "--tb=line", "--no-header", *(["-x"] if stop else [])]
    return int(pytest.main([*options, *files], plugins=[_Only(tests, said)]))


class _Only:
    """Of what is collected only these tests, in their order; the first that fails is written down.

    A test without parameters stands for all that it has, a file for all its tests.
    """

    def __init__(self, tests: list[str], said: Path) -> None:
        self.order = {test: n for n, test in enumerate(tests)}
        self.said = said

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        order = {item: self._place(item.nodeid) for item in items}
        items[:] = sorted((i for i in items if order[i] is not None), key=lambda i: order[i] or 0)

    def _place(self, test: str) -> int | None:
        names = (test, test.partition("[")[0], test.partition("::")[0])
        return next((self.order[name] for name in names if name in self.order), None)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            with self.said.open("a", encoding="utf-8") as out:
                out.write(report.nodeid + "\n")

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            with self.said.open("a", encoding="utf-8") as out:
                out.write(f"import of {report.nodeid}\n")
