"""`Session`: the parent's end of the child process that asks the DSL (`layoutcheck.dsl.worker`).

    with Session() as dsl:
        answers = dsl.ask("verify", [item(copy) for copy in copies])

Starting costs 0.2 s, and the first task that calls the DSL's Python, whose import it waits for, 0.5 s more;
afterwards a verdict costs 100 us.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from layoutcheck.errors import LayoutcheckError
from layoutcheck.versions import MODELLED, installed, warn_once

Item = dict[str, Any]

WITH_PARENT = "--with-parent"  # the worker ends when this process does, however that is
COMPLETE = "complete"  # the task of importing the rest of the DSL
_MLIR_ALONE = ("verify", "parse", "passes", "room", "compile")  # tasks that need no more of it
START_SECONDS = 120.0  # a cold import of the DSL on a busy machine
_HINT = "pip install 'layoutcheck[dsl]'"


def environment() -> dict[str, str]:
    """Ours, with our path; what watches the builds of this process has nothing to watch there.

    `python -m` puts the working directory first on the path: there it is last, so that a folder of a
    repository does not stand before a library that the DSL looks for (`jax` of CUTLASS's examples).
    No GPU is in sight: nothing is launched there, and CUDA does not survive the worker's forks.
    """
    env = {key: value for key, value in os.environ.items() if key not in ("LAYOUTCHECK", "LAYOUTCHECK_SPOOL")}
    here = str(Path.cwd())
    paths = sorted((path or here for path in sys.path), key=here.__eq__)
    return env | {"PYTHONPATH": os.pathsep.join(paths), "CUDA_VISIBLE_DEVICES": ""}


class DslUnavailable(LayoutcheckError):
    """The installed CuTe DSL cannot be asked: it is missing, speaks another dialect, or does not answer."""


class Session:
    """A context manager around one worker process. Raises DslUnavailable where the DSL cannot be asked."""

    def __init__(self) -> None:
        self.version = ""
        self._buffer = b""
        self._complete = False
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Session:
        if not hasattr(os, "fork"):
            raise DslUnavailable("the CuTe DSL runs on Linux only")
        self._folder = tempfile.TemporaryDirectory(prefix="layoutcheck-")
        main = threading.current_thread() is threading.main_thread()
        ending = [WITH_PARENT] if main else []  # to the kernel the thread that starts a process is its parent
        self._process = subprocess.Popen(
            [sys.executable, "-m", "layoutcheck.dsl.worker", *ending],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=self._folder.name,  # the DSL dumps its PTX there
            env=environment(),
            start_new_session=True,  # so that the worker and its forks can be ended together
        )
        try:
            self._greet()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        """The worker's process; None where the session is closed."""
        return None if self._process is None else self._process.pid

    def close(self) -> None:
        """End the worker and whatever it forked."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(ProcessLookupError):  # it is gone already
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        with contextlib.suppress(BrokenPipeError):  # what the dead worker had not read
            process.stdin.close()
        self._folder.cleanup()

    def ask(self, task: str, items: list[Item], timeout: float | None = None) -> list[Item]:
        """The worker's answer to each item; `timeout` is in seconds, for all of them together.

        Raises DslUnavailable where the worker ends or the time runs out; the session is closed then.
        """
        if self._process is None:
            raise DslUnavailable("the session with the CuTe DSL is closed")
        try:
            if task not in _MLIR_ALONE and not self._complete:
                self._send(COMPLETE, [])
                _check_there(self._answer(time.monotonic() + START_SECONDS))
                self._complete = True
            deadline = None if timeout is None else time.monotonic() + timeout
            self._send(task, items)
            return [self._answer(deadline) for _ in items]
        except BrokenPipeError:
            self.close()
            raise DslUnavailable("the CuTe DSL's process ended unexpectedly") from None
        except BaseException:  # answers still under way would be taken for the next request's
            self.close()
            raise

    def _send(self, task: str, items: list[Item]) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write((json.dumps({"task": task, "items": items}) + "\n").encode())
        self._process.stdin.flush()

    def _greet(self) -> None:
        greeting = self._answer(time.monotonic() + START_SECONDS)
        _check_there(greeting)
        self.version = greeting["version"]
        warn_once(self.version)
        if "foreign" in greeting:
            raise DslUnavailable(
                f"the CuTe DSL {self.version} refuses a plain copy as written for {MODELLED}: "
                f"{greeting['foreign']}"
            )

    def _answer(self, deadline: float | None) -> Item:
        """The worker's next line."""
        assert self._process is not None
        assert self._process.stdout is not None
        pipe = self._process.stdout
        with selectors.DefaultSelector() as ready:
            ready.register(pipe, selectors.EVENT_READ)
            while b"\n" not in self._buffer:
                left = None if deadline is None else max(0.0, deadline - time.monotonic())
                if not ready.select(left):
                    raise DslUnavailable("the CuTe DSL did not answer in time")
                chunk = os.read(pipe.fileno(), 1 << 16)
                if not chunk:
                    raise DslUnavailable("the CuTe DSL's process ended unexpectedly")
                self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        answer: Item = json.loads(line)
        return answer


def _check_there(answer: Item) -> None:
    """Raise DslUnavailable where the worker could not import the DSL."""
    if "missing" in answer:
        found = installed()
        why = f"{found} cannot be imported" if found else f"is not installed ({_HINT})"
        raise DslUnavailable(f"the CuTe DSL {why}: {answer['missing']}")
