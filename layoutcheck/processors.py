"""How many processors this process may use: what "0 is one a processor" means."""

from __future__ import annotations

import os


def processors() -> int:
    """The processors that this process may run on; where the system does not tell them, of the machine."""
    if hasattr(os, "sched_getaffinity"):  # `taskset`, a container's cpuset; Linux only
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
