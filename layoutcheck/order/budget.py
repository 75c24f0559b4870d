"""`Budget`: the processor time that the check of one kernel may take."""

from __future__ import annotations

import math
import time

_LEAST_SECONDS = 0.01  # between two looks at the thread's clock


class OutOfTime(Exception):
    """The check of this kernel has taken its time."""


class Budget:
    """`seconds` of this thread's processor time, counted from now."""

    def __init__(self, seconds: float = math.inf) -> None:
        self.seconds = seconds
        self._end = time.thread_time() + seconds
        self._look = time.monotonic() + seconds  # it cannot be used up before: a thread is no faster

    def left(self) -> float:
        """Seconds until it is used up."""
        return self._end - time.thread_time()

    def check(self) -> None:
        """Raises OutOfTime once the time is used up.

        The clock of a thread is a system call, which takes a hundred times as long as the other.
        """
        if time.monotonic() >= self._look:
            left = self.left()
            if left <= 0:
                raise OutOfTime
            self._look = time.monotonic() + max(left, _LEAST_SECONDS)
