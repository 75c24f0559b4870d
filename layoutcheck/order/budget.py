"""`Budget`: the processor time that the check of one kernel may take."""

from __future__ import annotations

import math
import time


class OutOfTime(Exception):
    """The check of this kernel has taken its time."""


class Budget:
    """`seconds` of this thread's processor time, counted from now."""

    def __init__(self, seconds: float = math.inf) -> None:
        self.seconds = seconds
        self._end = time.thread_time() + seconds
        self._calls = 0

    def spent(self) -> float:
        """Seconds of this thread's processor time, counted from any moment."""
        return time.thread_time()

    def left(self) -> float:
        """Seconds until it is used up."""
        return self._end - time.thread_time()

    def check(self) -> None:
        """Raises OutOfTime once the time is used up. Every 16th call looks at the clock."""
        self._calls += 1
        if self._calls % 16 == 1 and time.thread_time() >= self._end:
            raise OutOfTime
