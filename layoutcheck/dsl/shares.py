"""Tests of one program that are run by several processes: each takes the next that no process has taken.

All processes collect the same tests and go through them once, in the same order. So what one of them builds
for the first time, it builds no later than a single process would have; of kernels that are alike, the one of
the earliest test is the one that a single process builds (`dsl/collect.py` keeps it).
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from layoutcheck.dsl.imports import when_imported

MAIN = "_pytest.main"
FOLDER = "taken"  # in that of a run: a file for each test that a process has taken
PRESENT = "present"  # in this: a file for each process that goes through the tests


class Place:
    """Where this process is in the order of tests: -1 before the first."""

    now = -1


class Taken(list[Any]):
    """The tests that this process takes, while it goes through them; pytest looks at the next one, too.

    Tests that differ in numbers alone go to one process, as long as it is there: most often they use the same
    kernels, which the program builds once in each process.
    """

    def __init__(self, tests: Iterable[Any], folder: Path, own: str = "") -> None:
        super().__init__()
        self._all, self._folder, self._own = list(tests), folder, own or str(os.getpid())

    def __iter__(self) -> Iterator[Any]:
        here = self._folder / PRESENT / self._own
        here.touch()
        places: list[int] = []
        met = Counter[str]()
        for place, item in enumerate(self._all):
            met[item.nodeid] += 1
            if self._mine(item) and take(self._folder, f"{item.nodeid} {met[item.nodeid]}"):
                self.append(item)
                places.append(place)
                if len(self) > 1:
                    Place.now = places[-2]
                    yield self[-2]
        if self:
            Place.now = places[-1]
            yield self[-1]
        here.unlink(missing_ok=True)

    def _mine(self, item: Any) -> bool:
        """Whether the test is for this process: of those there are, the one that its group ranks first.

        One that comes takes groups from all of the others, and goes through the tests from the beginning.
        """
        there = os.listdir(self._folder / PRESENT)  # noqa: PTH208 (for every test)
        return len(there) < 2 or self._own == max(there, key=partial(_rank, group(item)))


def group(item: Any) -> str:
    """The name of a test's function, and its parameters but for numbers, which are sizes most often."""
    given = getattr(getattr(item, "callspec", None), "params", {})
    named = (f"{name}={_name(value)}" for name, value in given.items() if type(value) is not int)
    return " ".join((item.nodeid.partition("[")[0], *named))


def _name(value: Any) -> str:
    said = str(value)
    return type(value).__name__ if " at 0x" in said else said


def _rank(group: str, process: str) -> bytes:
    return hashlib.sha256(f"{group} {process}".encode()).digest()


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
