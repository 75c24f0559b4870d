"""`Judges`: processes that look at the modules of a trace, several at a time (`look.py`).

A judge is a process of its own, started anew (`python -m layoutcheck.dsl.judge`), with a process of the DSL
that it starts itself. So a module that takes a judge's memory, its life or too much of the time costs its own
answer, which says so. All of them end with the process that started them.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from multiprocessing.connection import Pipe, wait
from typing import Protocol

from layoutcheck.dsl.look import Answer, Task, look
from layoutcheck.dsl.lowered.resolve import Lowering
from layoutcheck.dsl.session import environment

GRACE_SECONDS = 60.0  # after the deadline, for what was begun before it
_LAST_SECONDS = 5.0  # that a process may take to end after it has let go of its pipe


class Spare(Protocol):
    """The processors that others leave: `multiprocessing` has it as a semaphore."""

    def acquire(self, block: bool = True) -> bool:
        """Take one, if there is one."""

    def release(self) -> None:
        """Give one back."""


class Here:
    """The same in this process: what it is given it does at once."""

    def __init__(self, lowering: Lowering | None) -> None:
        self._lowering = lowering
        self._done: list[Answer] = []

    @property
    def busy(self) -> int:
        """How many tasks have answers that were not taken."""
        return len(self._done)

    def give(self, task: Task, waiting: int = 0) -> bool:
        """Do it, unless an answer was not taken yet; whether it was taken on."""
        if self._done:
            return False
        self._done.append(look(self._lowering, task))
        return True

    def answers(self, seconds: float, deadline: float | None = None) -> Iterator[Answer]:
        """What was done since."""
        done, self._done = self._done, []
        yield from done

    def rest(self) -> None:
        """End what is under way."""


class Judges:
    """A context manager around at most `most` judges, who are started when there is work for them.

    One may run on the `own` processor, once the program has left it, each of the others on one of `spare`.
    `lowering` says what is looked at, and is not used itself. For fewer than `least` modules a start takes
    longer than it saves.
    """

    def __init__(self, lowering: Lowering, most: int, spare: Spare | None = None, least: int = 1) -> None:
        self.least, self.own = least, True
        self._lowering, self._most, self._spare = lowering, max(1, most), spare
        self._judges: list[_Judge] = []

    def __enter__(self) -> Judges:
        return self

    def __exit__(self, *_: object) -> None:
        self.rest(0)

    @property
    def busy(self) -> int:
        """How many of them look at something."""
        return sum(one.task is not None for one in self._judges)

    @property
    def pids(self) -> list[int]:
        """Their processes."""
        return [one.process.pid for one in self._judges]

    def give(self, task: Task, waiting: int = 0) -> bool:
        """Have a judge look at something, where one may; `waiting` other tasks are there."""
        self._judges = [one for one in self._judges if one.alive()]
        idle = [one for one in self._judges if one.task is None]
        started = len(self._judges)
        if not idle and started and (started >= self._most or not waiting):
            return False  # for one task that waits a start is too late
        spared = not self.own or any(one.task is not None and not one.spared for one in self._judges)
        if spared and (self.busy >= self._most - (not self.own)):
            return False
        if spared and self._spare is not None and not self._spare.acquire(block=False):
            return False
        judge = next((one for one in idle if one.last == task.number), idle[0] if idle else None)
        if judge is None:
            judge = _Judge(self._lowering)
            self._judges.append(judge)
        judge.spared = spared and self._spare is not None
        judge.give(task)
        return True

    def answers(self, seconds: float, deadline: float | None = None) -> Iterator[Answer]:
        """The answers that come within so many seconds; long after the deadline those under way end late."""
        busy = {one.pipe: one for one in self._judges if one.task is not None}
        ready = wait(list(busy), seconds)
        late = deadline is not None and time.monotonic() > deadline + GRACE_SECONDS
        for pipe, judge in busy.items():
            if pipe in ready:
                yield self._free(judge, judge.answer())
            elif late and judge.task is not None:
                task = judge.task
                judge.end()
                yield self._free(judge, Answer(task.number, task.part, broken="its time is up", late=True))

    def _free(self, judge: _Judge, answer: Answer) -> Answer:
        if judge.spared and self._spare is not None:
            self._spare.release()
        judge.task, judge.spared = None, False
        return answer

    def rest(self, keep: int = 1) -> None:
        """End what is under way, and all but `keep` of the others: there is nothing for them to do."""
        for judge in self._judges:
            if judge.task is not None:
                judge.end()
                self._free(judge, Answer(0, ""))
        self._judges = [one for one in self._judges if one.alive()]
        for judge in self._judges[keep:]:
            judge.end()
        del self._judges[keep:]


class _Judge:
    """One process; the task that it is at, and the number of its last.

    `spared` says whether it runs on a processor of `Spare`.
    """

    def __init__(self, lowering: Lowering) -> None:
        self.task: Task | None = None
        self.last = -1
        self.spared = False
        self.pipe, theirs = Pipe()
        # Of this process, because the judge is killed and removes nothing.
        self._folder = tempfile.TemporaryDirectory(prefix="layoutcheck-", ignore_cleanup_errors=True)
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "layoutcheck.dsl.judge", str(theirs.fileno()), self._folder.name],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                cwd=self._folder.name,  # `python -m` has it first on its path: not what a repository holds
                env=environment(),
                start_new_session=True,  # what a terminal sends to this program is not for it
            )
        self._unsent: list[object] = [(lowering.copies, lowering.order, lowering.products)]

    def alive(self) -> bool:
        """Whether it can be asked, or has not said what became of its task."""
        return self.task is not None or self.process.poll() is None

    def give(self, task: Task) -> None:
        """Send it the task."""
        self.task, self.last = task, task.number
        self._unsent.append(task)
        sent, self._unsent = self._unsent, []
        threading.Thread(target=self._send, args=(sent,), daemon=True).start()  # it may still be starting

    def _send(self, what: list[object]) -> None:
        with contextlib.suppress(OSError):  # it has died, or was ended: `answer` says so
            for one in what:
                self.pipe.send(one)

    def answer(self) -> Answer:
        """Its answer, once there is one to read; or how it died."""
        assert self.task is not None
        try:
            found: Answer = self.pipe.recv()
        except (EOFError, OSError):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(_LAST_SECONDS)
            self.end()
            return Answer(self.task.number, self.task.part, broken=f"the process that judges {self._died()}")
        return found

    def _died(self) -> str:
        status = self.process.returncode
        if status >= 0:
            return f"ended with status {status}"
        name = signal.Signals(-status).name
        return f"died of {name}" + (", as when memory runs out" if -status == signal.SIGKILL else "")

    def end(self) -> None:
        """End it at once; what it started ends with it."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.pipe.close()
        self._folder.cleanup()
