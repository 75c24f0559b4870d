"""Tests of one program that are run by several processes: each takes the next that no process has taken.

All processes collect the same tests and go through them in the same order. So what one process builds for the
first time, it builds no later than a single process would have; of kernels that are alike, the one of the
earliest test is the one that a single process builds (`dsl/collect.py` keeps it).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from layoutcheck.dsl.imports import when_imported

MAIN = "_pytest.main"
FOLDER = "taken"  # in that of a run: a file for each test that a process has taken


class Place:
    """Where this process is in the order of tests: -1 before the first."""

    now = -1


class Taken(list[Any]):
    """The tests that this process takes, while it goes through them; pytest looks at the next one, too."""

    def __init__(self, tests: Iterable[Any], folder: Path) -> None:
        super().__init__()
        self._all, self._folder = list(tests), folder

    def __iter__(self) -> Iterator[Any]:
        places: list[int] = []
        met = Counter[str]()
        for place, item in enumerate(self._all):
            met[item.nodeid] += 1
            if take(self._folder, f"{item.nodeid} {met[item.nodeid]}"):
                self.append(item)
                places.append(place)
                if len(self) > 1:
                    Place.now = places[-2]
                    yield self[-2]
        if self:
            Place.now = places[-1]
            yield self[-1]


def take(folder: Path, name: str) -> bool:
    """Take what has this name; whether no process had taken it."""
    try:
        (folder / hashlib.sha256(name.encode()).hexdigest()).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def share_tests(folder: Path, tell: Callable[[int], None]) -> None:
    """Have pytest run the tests that it takes, from here on; `tell` their number before the first.

    Not where tests are run otherwise, as pytest-xdist does, or where the user gives the folder of temporary
    files, which pytest empties.
    """

    def share(module: Any) -> None:
        run = module.pytest_runtestloop

        def pytest_runtestloop(session: Any) -> Any:
            if session.config.option.basetemp is not None:
                return run(session)
            tests = session.items
            tell(len(tests))
            session.items = Taken(tests, folder)
            try:
                return run(session)
            finally:
                session.items = tests

        module.pytest_runtestloop = pytest_runtestloop

    when_imported(MAIN, share)
