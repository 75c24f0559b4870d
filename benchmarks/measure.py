"""Processor time, which other work on the machine changes little: of calls, and of another process."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

AT = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


def quantiles(times: list[float]) -> dict[str, float]:
    """Median, p90, p99 and the most, in seconds."""
    times = sorted(times)
    found = {name: times[int(len(times) * share)] for name, share in AT.items()}
    return {name: round(value, 7) for name, value in {**found, "max": times[-1]}.items()}


def calls(run: Callable[[], object], rounds: int, repeats: int = 1) -> list[float]:
    """Seconds of processor time of a call, `repeats` calls in each round; the first call is not counted."""
    run()
    times = []
    for _ in range(rounds):
        start = time.process_time()
        for _ in range(repeats):
            run()
        times.append((time.process_time() - start) / repeats)
    return times


def spent_by(pid: int) -> float:
    """Seconds of processor time that another process and those it waited for have had, to 0.01 s (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
