"""The processes that run tasks on the GPU: a fault or a hang costs one of them, not the caller."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from layoutcheck.gpu.driver import DeviceUnavailable
from layoutcheck.gpu.outcome import Outcome, Task
from layoutcheck.gpu.worker import read, write

LIMIT_SECONDS = 20.0  # a kernel that has not come back by then never will


def no_gpu() -> str:
    """Why no GPU can be used here; empty where one can."""
    return str(machine_here().get("why", ""))


def machine_here() -> dict[str, Any]:
    """The GPU to run on: `name`, `arch` and `driver`; or the simulator, and `why` there is no GPU."""
    try:
        with Process() as probe:
            return probe.machine
    except DeviceUnavailable as error:
        return {"name": "simulator", "why": str(error)}


class Process:
    """The parent's end of one `layoutcheck.gpu.worker`. Raises DeviceUnavailable where there is no GPU."""

    def __enter__(self) -> Process:
        path = os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
        self._child = subprocess.Popen(
            [sys.executable, "-m", "layoutcheck.gpu.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,
        )
        assert self._child.stdout is not None
        greeting = read(self._child.stdout)  # type: ignore[arg-type]
        if greeting is None or "unavailable" in greeting:
            self.close()
            raise DeviceUnavailable((greeting or {}).get("unavailable", "the worker ended at once"))
        self.machine: dict[str, Any] = greeting
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the worker."""
        self._child.kill()
        self._child.wait()
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def run(self, task: Task) -> Outcome:
        """One task's outcome; a worker that dies or hangs on it is the outcome's fault, and ends here."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        timer = threading.Timer(LIMIT_SECONDS, self._child.kill)
        timer.start()
        try:
            write(self._child.stdin, task)  # type: ignore[arg-type]
            outcome = read(self._child.stdout)  # type: ignore[arg-type]
        except (OSError, EOFError):
            outcome = None
        finally:
            hung = not timer.is_alive()
            timer.cancel()
        if isinstance(outcome, Outcome):
            return outcome
        return Outcome(fault="no answer within the time limit" if hung else "the worker died")
