"""Which test runs which line of which function, and how long each test takes: one run under coverage.py.

`record` runs the tests, `TestMap` reads what it left. The plugin in between names the running test to
coverage.py; each process of pytest-xdist writes files of its own. Lines are counted from the beginning of
their function, so that a change elsewhere in the file leaves the map usable.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import coverage
import pytest

from tests.mutation.mutants import Mutant, functions

FOLDER = "LAYOUTCHECK_MUTATION_MAP"
Lines = dict[str, dict[int, list[int]]]  # of a file: function -> line within it -> tests, by number


def record(root: Path, folder: Path, tests: list[str], jobs: int, *, add: bool = False) -> None:
    """Run `tests`, `jobs` at a time, and write the map into `folder`; `add` keeps what is known of others.

    Tests that fail are no part of it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    known: dict[str, Any] = {"seconds": {}, "files": {}}
    if add:
        known = json.loads((folder / "map.json").read_text("utf-8"))
    for old in folder.iterdir():
        old.unlink()
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-n",
        str(jobs),
        "-p",
        "no:cacheprovider",
        "-p",
        __name__,
        *tests,
    ]
    env = os.environ | {FOLDER: str(folder), "CI": "1", "OPENBLAS_NUM_THREADS": "1"}
    subprocess.run(command, cwd=root, env=env, check=False)
    seconds: dict[str, float] = known["seconds"]
    for times in folder.glob("seconds-*.json"):
        seconds |= json.loads(times.read_text("utf-8"))
    number = {test: n for n, test in enumerate(seconds)}
    found: dict[str, dict[str, dict[Any, list[int]]]] = known["files"]
    for data in folder.glob("lines-*"):
        seen = coverage.CoverageData(str(data))
        seen.read()
        for name in sorted(seen.measured_files()):
            lines, places = found.setdefault(Path(name).relative_to(root).as_posix(), {}), _places(Path(name))
            for line, tests in seen.contexts_by_lineno(name).items():
                function, first = places.get(line, ("", 1))  # an edit during the run: somewhere in the file
                of = lines.setdefault(function, {}).setdefault(str(line - first), [])
                of.extend(number[test] for test in tests if test in number)
    (folder / "map.json").write_text(json.dumps({"seconds": seconds, "files": found}), "utf-8")


def _places(file: Path) -> dict[int, tuple[str, int]]:
    """Of each line the innermost function around it and where that begins."""
    tree = ast.parse(file.read_text("utf-8"))
    end = max((node.end_lineno for node in ast.walk(tree) if isinstance(node, ast.stmt)), default=0) or 0
    out = dict.fromkeys(range(1, end + 1), ("", 1))
    for name, node in functions(tree):
        assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.end_lineno
        out |= dict.fromkeys(range(node.lineno, node.end_lineno + 1), (name, node.lineno))
    return out


class TestMap:
    """What a recorded run says."""

    __test__ = False

    def __init__(self, root: Path, folder: Path) -> None:
        text = json.loads((folder / "map.json").read_text("utf-8"))
        self.root = root
        self.seconds: dict[str, float] = text["seconds"]
        self.names = list(self.seconds)
        self.files: dict[str, Lines] = {
            file: {name: {int(n): tests for n, tests in of.items()} for name, of in lines.items()}
            for file, lines in text["files"].items()
        }
        self.breadth: Counter[int] = Counter()  # functions that a test runs
        for of_file in self.files.values():
            for of in of_file.values():
                self.breadth.update({test for tests in of.values() for test in tests})

    def tests_of(self, mutant: Mutant) -> list[str]:
        """Tests that can see a mutant: first those of its line, of these the ones that run least else.

        Behind them those of its function, and those of its module: what a cached function returns is seen by
        others than the test that ran it. Last the other tests of its room: what their child processes run is
        not in the map.
        """
        lines = self.files.get(mutant.path, {})
        here = lines.get(mutant.function, {}) if mutant.function else {}
        first = _places(self.root / mutant.path).get(mutant.line, ("", 1))[1]
        at = {t for n in range(mutant.line - first, mutant.end_line - first + 1) for t in here.get(n, ())}
        inside = {test for tests in here.values() for test in tests}
        module = {test for of in lines.values() for tests in of.values() for test in tests}
        room = mutant.path.replace("layoutcheck", "tests", 1).rpartition("/")[0] + "/"
        beside = {number for number, name in enumerate(self.names) if name.startswith(room)}

        def rank(test: int) -> tuple[int, int, float, str]:
            near = next(n for n, some in enumerate((at, inside, module, beside)) if test in some)
            name = self.names[test]
            return near, self.breadth[test] // 20, self.seconds[name], name

        return [self.names[test] for test in sorted(module | beside, key=rank)]


class Seeing:
    """The plugin: names the running test to coverage.py, and notes the seconds of those that pass."""

    def __init__(self, folder: Path, root: Path) -> None:
        who = os.environ.get("PYTEST_XDIST_WORKER", "main")
        self.seconds: dict[str, float] = defaultdict(float)
        self.failed: set[str] = set()
        self.times = folder / f"seconds-{who}.json"
        self.coverage = coverage.Coverage(
            data_file=str(folder / f"lines-{who}"), source=[str(root / "layoutcheck")], config_file=False
        )
        self.coverage.start()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.coverage.switch_context(item.nodeid)
        yield
        self.coverage.switch_context("")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] += report.duration
        if report.outcome != "passed":
            self.failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self.coverage.stop()
        self.coverage.save()
        passed = {name: round(s, 3) for name, s in self.seconds.items() if name not in self.failed}
        self.times.write_text(json.dumps(passed), encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    """Workers see; the process that started them does not."""
    if os.environ.get("PYTEST_XDIST_WORKER") or not config.getoption("numprocesses", None):
        config.pluginmanager.register(Seeing(Path(os.environ[FOLDER]), config.rootpath), "seeing")
