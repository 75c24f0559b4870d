"""`Helpers`: further processes of a program of tests, each on a processor that others leave."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from layoutcheck.dsl.judges import Spare
from layoutcheck.dsl.shares import OTHERS, PRESENT

_LOOK_SECONDS = 0.5  # between two looks at what is left
_WORTH = 2.0  # a start has to save so many times what it takes


class Helpers:
    """`processes` that were started with `start`, while tests are left that take longer than a start does.

    `first` is the program's own process, `taken` the folder of tests that a process has taken (`shares.py`).
    Where `least` is given, tests of so many seconds are enough. None is started without `spare` processors.
    What is `left` when all have gone through the tests, because one that was to run them came late or has
    gone, is for another one. None follows one that died, or that collected other tests.
    """

    def __init__(
        self, first: subprocess.Popen[Any], start: Callable[..., subprocess.Popen[Any]],
        spare: Spare | None, taken: Path, least: float | None = None,
    ) -> None:  # fmt: skip
        self.processes: list[subprocess.Popen[Any]] = []
        self.left = 0
        self._first, self._start, self._spare, self._taken, self._least = first, start, spare, taken, least
        self._began = time.monotonic()
        self._collected = self._looked = 0.0
        self._spared = self._last_left = 0

    @property
    def sessions(self) -> set[int]:
        """Those of the program: each of its processes has its own."""
        return {process.pid for process in (self._first, *self.processes)}

    @property
    def running(self) -> bool:
        """Whether any of them runs."""
        return any(process.poll() is None for process in self.processes)

    def step(self, sharing: Mapping[int, int], sessions: Mapping[int, bool]) -> list[int]:
        """Start one where it is worth it; its number.

        `sharing` has the tests of each process that takes some, `sessions` whether its pytest is done.
        """
        now, working = time.monotonic(), sum(process.poll() is None for process in self.processes)
        self._give_back(working)
        for process in (self._first, *self.processes):
            if process.poll() is not None:
                (self._taken / PRESENT / str(process.pid)).unlink(missing_ok=True)
        working += self._first.poll() is None
        if self._spare is None or not sharing or (working and now < self._looked + _LOOK_SECONDS):
            return []
        self._looked, self._collected = now, self._collected or now
        begun = len(os.listdir(self._taken)) - 1  # noqa: PTH208 (there are thousands)
        self.left = next(iter(sharing.values())) - begun
        if not self.left:
            self._end_late(sharing)
            return []
        if not working:
            whole = all(sessions.get(one.pid) for one in (self._first, *self.processes))
            again, self._last_left = whole and self.left != self._last_left, self.left
            again = again and OTHERS not in sharing.values()
            return self._begin() if again and self.processes else []
        seconds = (now - self._collected) / max(1, begun) * self.left  # until the end, at this pace
        if self._vain(sharing, sessions):
            return []
        least = _WORTH * (self._collected - self._began) if self._least is None else self._least
        if self.left < working or seconds < least or not self._spare.acquire(block=False):
            return []
        self._spared += 1
        return self._begin()

    def _vain(self, sharing: Mapping[int, int], sessions: Mapping[int, bool]) -> bool:
        """Whether one has come to nothing, as the next would."""
        died = any(one.poll() is not None and not sessions.get(one.pid) for one in self.processes)
        return died or OTHERS in sharing.values()

    def stop(self) -> None:
        """Give back their processors, once all have ended."""
        self._give_back(0)

    def _begin(self) -> list[int]:
        self.processes.append(self._start(COVERAGE_FILE=str(self._taken.with_name("coverage"))))
        return [self.processes[-1].pid]

    def _end_late(self, sharing: Mapping[int, int]) -> None:
        """End those for which no test is left, before they have collected them."""
        for process in [one for one in self.processes if one.pid not in sharing and one.poll() is None]:
            self.processes.remove(process)
            process.kill()
            process.wait()

    def _give_back(self, working: int) -> None:
        while self._spare is not None and self._spared > working:
            self._spared -= 1
            self._spare.release()
