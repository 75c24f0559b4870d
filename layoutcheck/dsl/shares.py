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
from layoutcheck.dsl.thin import Thin, rest

MAIN = "_pytest.main"
FOLDER = "taken"  # in that of a run: a file for each test that a process has taken
PRESENT = "present"  # in this: a file for each process that goes through the tests
OTHERS = -1  # the number that is told of tests which are not those that the first process collected
_COLLECTED = "collected"  # beside that folder: what the first process collected
_TOGETHER = ("dependency", "xdist_group")  # marks of tests that look at what others of their process did


class Place:
    """Where this process is in the order of tests: -1 before the first."""

    now = -1


class Taken(list[Any]):
    """The tests that this process takes, while it goes through them; pytest looks at the next one, too.

    Tests that differ in numbers alone go to one process, as long as it is there: most often they use the same
    kernels, which the program builds once in each process. `more` gives tests behind these, once they are
    taken: all of them again, or none.
    """

    def __init__(
        self, tests: Iterable[Any], folder: Path, own: str = "", more: Callable[[], Iterable[Any]] = tuple
    ) -> None:
        super().__init__()
        self._all, self._folder, self._own = list(tests), folder, own or str(os.getpid())
        self._more = more

    def __iter__(self) -> Iterator[Any]:
        here = self._folder / PRESENT / self._own
        here.touch()
        places: list[int] = []
        met = Counter[str]()
        for place, item in enumerate(self._every(met)):
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

    def _every(self, met: Counter[str]) -> Iterator[Any]:
        yield from self._all
        met.clear()
        yield from self._more()

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
    try:
        said = str(value)
    except Exception:  # it is the user's
        said = " at 0x"
    return type(value).__name__ if " at 0x" in said else said


def _rank(group: str, process: str) -> bytes:
    return _hash(f"{group} {process}").digest()


def _hash(name: str) -> hashlib._Hash:
    return hashlib.sha256(name.encode(errors="surrogatepass"))  # a file's name may be no UTF-8


def take(folder: Path, name: str) -> bool:
    """Take what has this name; whether no process had taken it."""
    try:
        (folder / _hash(name).hexdigest()).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def share_tests(folder: Path, tell: Callable[[int], None]) -> None:
    """Have pytest run the tests that it takes, from here on; `tell` their number before the first.

    A process that has not collected the tests of the first one tells `OTHERS`, and runs none. All are of
    one process where they are run otherwise, as by pytest-xdist, where some depend on each other, and where
    the user gives the folder of temporary files, which pytest empties; so are those of a pytest in a test.
    """
    begun = False

    def share(module: Any) -> None:
        run = module.pytest_runtestloop

        def pytest_runtestloop(session: Any) -> Any:
            nonlocal begun
            shared = _may_share(session)
            if begun or not (shared or Thin.left):
                return run(session)
            begun, tests = True, session.items
            same = _collected(folder, tests)
            if shared:
                tell(len(tests) if same else OTHERS)

            def more() -> list[Any]:
                others = rest(session)
                if shared and others:
                    tell(len(others))
                return others

            session.items = Taken(tests, folder, more=more) if same else []
            try:
                return run(session)
            finally:
                session.items = tests

        module.pytest_runtestloop = pytest_runtestloop

    when_imported(MAIN, share)


def _may_share(session: Any) -> bool:
    marked = any(item.get_closest_marker(name) for item in session.items for name in _TOGETHER)
    return session.config.option.basetemp is None and not marked


def _collected(folder: Path, tests: Iterable[Any]) -> bool:
    """Whether these are the tests that the first process collected, in any order."""
    names, kept = _hash("\n".join(sorted(item.nodeid for item in tests))), folder.with_name(_COLLECTED)
    if not kept.exists():
        kept.write_text(names.hexdigest(), encoding="utf-8")
    return kept.read_text(encoding="utf-8") == names.hexdigest()
