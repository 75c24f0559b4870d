"""What a traced program leaves running: processes of its own that have gone from its session; or stopped.

The former are known by the folder of the run in the environment that they were started with, which a fork
and a new session leave as it is.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

from layoutcheck.digits import is_number
from layoutcheck.dsl.spool import FOLDER

_PATIENCE_SECONDS = 1.0  # that a process may take to notice that its program has ended
_POLL_SECONDS = 0.05
_ROUNDS = 8  # of processes that fork while they are ended
_MOST_WORDS = 80
_DSL = b"/nvidia_cutlass_dsl/"  # in the maps of a process that has loaded it


def end_left(folder: str) -> dict[str, bool]:
    """End what runs behind a program; the command of each, and whether it has loaded the DSL."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while (running := _running(folder)) and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)
    found: dict[str, bool] = {}
    for _ in range(_ROUNDS):
        for pid in running:
            words = _read(pid, "cmdline").replace(b"\0", b" ").decode("utf-8", "replace").strip()
            command = words[:_MOST_WORDS] or "one without a name"
            found[command] = found.get(command, False) or _DSL in _read(pid, "maps")
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        running = _running(folder)
        if not running:
            break
    return found


def continue_stopped() -> None:
    """Have what this process started, and that started, go on where a signal stopped it (SIGSTOP).

    A program may stop those of ours that wait for it, which would wait for ever.
    """
    parents: dict[int, list[tuple[int, bytes]]] = {}
    for pid in _pids():
        words = _read(pid, "stat").rpartition(b")")[2].split()
        if words:
            parents.setdefault(int(words[1]), []).append((pid, words[0]))
    below = [os.getpid()]
    for parent in below:  # it grows
        for pid, state in parents.get(parent, ()):
            below.append(pid)
            if state == b"T":
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGCONT)


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if is_number(name)]  # noqa: PTH208 (hundreds)


def _running(folder: str) -> list[int]:
    """The processes that were started for a run, and have not ended."""
    mark = f"{FOLDER}={folder}".encode()
    return [pid for pid in _pids() if mark in _read(pid, "environ").split(b"\0")]


def _read(pid: int, name: str) -> bytes:
    """What /proc has of a process; nothing of one that is gone, or another user's."""
    with contextlib.suppress(OSError):
        return Path("/proc", str(pid), name).read_bytes()
    return b""
