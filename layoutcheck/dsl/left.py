"""What a traced program starts: processes that run behind it, that are stopped, or that nobody watches.

Those of a run are known by their session, by their parents, or by the folder of the run in the environment
that they were started with, which a fork and a new session leave as it is.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Collection, Iterator
from typing import NamedTuple

from layoutcheck.digits import is_number
from layoutcheck.dsl.spool import FOLDER, watched

_PATIENCE_SECONDS = 1.0  # that a process may be idle behind its program, or take to notice that it has ended
_MOST_SECONDS = 60.0  # that one may work there
_POLL_SECONDS = 0.05
_ROUNDS = 8  # of processes that fork while they are ended
_MOST_WORDS = 80
_KERNEL_THREAD = 0x00200000  # PF_KTHREAD of the kernel's sched.h, among the flags that proc(5) names
_DSL = b"/nvidia_cutlass_dsl/"  # in the maps of a process that has loaded it


class _Process(NamedTuple):
    pid: int
    parent: int
    session: int
    state: str
    ticks: int  # of the processor that it has used


def wait_for_left(sessions: Collection[int], folder: str, deadline: float | None) -> bool:
    """Wait for what runs behind a program while it works, which is the program's; whether it still runs."""
    now = idle_since = time.monotonic()
    end, before = min(now + _MOST_SECONDS, deadline or now + _MOST_SECONDS), -1
    while (running := _running(sessions, folder)) and now < end and now < idle_since + _PATIENCE_SECONDS:
        ticks = sum(one.ticks for one in running)
        if ticks != before or any(one.state in "RD" for one in running):
            idle_since, before = now, ticks
        time.sleep(_POLL_SECONDS)
        now = time.monotonic()
    return bool(running)


def end_left(sessions: Collection[int], folder: str) -> dict[str, bool]:
    """End what runs behind a program; the command of each, and whether it has loaded the DSL."""
    found: dict[str, bool] = {}
    for _ in range(_ROUNDS):
        running = _running(sessions, folder)
        for one in running:
            command = _command(one.pid)
            found[command] = found.get(command, False) or _has_dsl(one.pid)
            with contextlib.suppress(OSError):
                os.kill(one.pid, signal.SIGKILL)
        if not running:
            break
        time.sleep(_POLL_SECONDS)
    return found


class Unwatched:
    """Processes of a run that load the DSL and are not watched: `look` gives each command once.

    Such as a Python that ignores its environment, or got an empty one. What forks and then becomes another
    program looks like one for a moment: only a process that two looks see is told.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._seen: dict[int, bool] = {}  # by process: whether it was told

    def look(self, sessions: Collection[int]) -> Iterator[str]:
        """The commands of new ones in these sessions and below them. What is stopped goes on."""
        everyone = [*_processes()]
        continue_stopped(everyone)
        own = {one.pid for one in _below(sessions, everyone)}
        own |= {one.pid for one in everyone if one.session in sessions}
        for pid in own:
            if self._seen.get(pid) or watched(self._folder, pid) or not _has_dsl(pid):
                continue
            if pid in self._seen:
                yield _command(pid)
            self._seen[pid] = pid in self._seen


def continue_stopped(everyone: Collection[_Process] = ()) -> None:
    """Have what this process started, and that started, go on where a signal stopped it (SIGSTOP).

    A program may stop those of ours that wait for it, which would wait for ever.
    """
    for one in _below([os.getpid()], everyone or [*_processes()]):
        if one.state == "T":
            with contextlib.suppress(OSError):
                os.kill(one.pid, signal.SIGCONT)


def _below(roots: Collection[int], everyone: Collection[_Process]) -> list[_Process]:
    """What these processes started, and that started."""
    children: dict[int, list[_Process]] = {}
    for one in everyone:
        children.setdefault(one.parent, []).append(one)
    found = [one for root in roots for one in children.get(root, ())]
    for one in found:  # it grows
        found += children.get(one.pid, ())
    return found


def _processes() -> Iterator[_Process]:
    """All that run, without the kernel's own threads."""
    for name in filter(is_number, os.listdir("/proc")):  # noqa: PTH208 (hundreds)
        words = _read(int(name), "stat").rpartition(b")")[2].split()  # from the third field of proc(5)
        if words and int(words[6]) & _KERNEL_THREAD == 0:
            ticks = int(words[11]) + int(words[12])
            yield _Process(int(name), int(words[1]), int(words[3]), words[0].decode(), ticks)


def _running(sessions: Collection[int], folder: str) -> list[_Process]:
    """The processes that were started for a run, and have not ended."""
    mark = f"{FOLDER}={folder}".encode()
    alive = (one for one in _processes() if one.state not in "ZX")
    return [one for one in alive if one.session in sessions or mark in _read(one.pid, "environ").split(b"\0")]


def _command(pid: int) -> str:
    words = _read(pid, "cmdline").replace(b"\0", b" ").decode("utf-8", "replace").split()
    return " ".join(words)[:_MOST_WORDS] or "one without a name"


def _has_dsl(pid: int) -> bool:
    return _DSL in _read(pid, "maps")


def _read(pid: int, name: str) -> bytes:
    """What /proc has of a process; nothing of one that is gone, or another user's."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/{name}", "rb", 0) as file:  # noqa: PTH123 (quicker)
        return file.read()
    return b""
