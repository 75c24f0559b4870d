"""`Forks`: more runs of a program, as forks of a process that has imported the DSL: a second less for each.

That process is `python SCRIPT ARGUMENTS`, which stops in our `sitecustomize`, before any code of the program:
it imports what the first run has imported (the DSL, torch), and forks for each run. A fork goes on as Python
does. Where that would not be what a new process is, a new process runs: where a module came from elsewhere in
the first run, where that had set variables of its environment, or where threads run once Python has begun.
"""

from __future__ import annotations

import ctypes
import gc
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from select import select
from typing import IO, TYPE_CHECKING, Any

from layoutcheck.dsl import spool
from layoutcheck.dsl.fake_cuda import install
from layoutcheck.dsl.imports import uncollected

if TYPE_CHECKING:
    from layoutcheck.sources.traced import Trace  # which imports numpy, and that starts threads

_PARENT = "LAYOUTCHECK_FORKS"  # the descriptors of a process that forks, and what it may import
_START_SECONDS = 120.0  # a cold import of torch on a busy machine


class Fork(subprocess.Popen[Any]):
    """A run, which its parent has started and waits for; all else of `Popen` is of the process itself."""

    def __init__(self, parent: Parent) -> None:
        self._child_created = False  # nothing that Popen's own end would wait for
        self.returncode, self._parent, self.pid = None, parent, int(parent.answer(None))  # type: ignore[assignment]

    def poll(self) -> int | None:
        """Its status, None while it runs."""
        with suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def wait(self, timeout: float | None = None) -> int:
        """Its status, or minus the signal that ended it. Raises subprocess.TimeoutExpired."""
        if self.returncode is None:
            self.returncode = int(self._parent.answer(timeout))
        return self.returncode


class Parent:
    """A process that forks; `ready` if it does. One run at a time."""

    def __init__(
        self, command: Sequence[str], output: Any, env: dict[str, str], cwd: str | None, known: Sequence[str]
    ) -> None:
        (asked, into), (answers, out) = os.pipe(), os.pipe()
        self._into, self._answers = os.fdopen(into, "wb", 0), os.fdopen(answers, "rb", 0)
        with tempfile.TemporaryFile("w") as names:
            json.dump(list(known), names)
            names.flush()
            numbers = (asked, out, names.fileno())
            folder = "-" * len(os.fsencode(env[spool.FOLDER]))  # which a fork writes over
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, cwd=cwd, pass_fds=numbers,
                stderr=None if output is None else subprocess.STDOUT, start_new_session=True,
                env={**env, spool.FOLDER: folder, _PARENT: json.dumps(numbers)},
            )  # fmt: skip
        os.close(asked)
        os.close(out)
        try:
            self.ready = self.answer(_START_SECONDS) == "ready"
        except subprocess.TimeoutExpired:
            self.ready = False

    def answer(self, timeout: float | None) -> str:
        """Its next line. Raises subprocess.TimeoutExpired."""
        if not select([self._answers], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired("a fork", timeout or 0)
        return self._answers.readline().decode().strip()

    def fork(self, args: Sequence[str], env: dict[str, str], cwd: str | None) -> Fork:
        """A run with these arguments."""
        told = {name: env[name] for name in (spool.FOLDER, spool.OPTIONS)}
        self._into.write(json.dumps({"args": args, "env": told, "cwd": cwd}).encode() + b"\n")
        return Fork(self)

    def close(self) -> None:
        """End it, and with it a run that is left."""
        self._process.kill()
        self._process.wait()
        self._into.close()
        self._answers.close()


class Forks:
    """Runs like a first one: `process` starts each, from a parent for each command and environment."""

    def __init__(self, first: Trace) -> None:
        self._known = () if first.environment else first.imported
        self._parents: dict[Any, Parent] = {}

    def __enter__(self) -> Forks:
        return self

    def __exit__(self, *_: object) -> None:
        while self._parents:
            self._parents.popitem()[1].close()

    def process(
        self, command: list[str], output: IO[Any] | int | None, env: dict[str, str], cwd: str | None
    ) -> subprocess.Popen[Any] | None:
        """A fork; None where a new process has to run."""
        at = 3 if command[1] == "-m" else 2
        options = json.loads(env[spool.OPTIONS])
        if options["launch"] or not self._known:  # CUDA does not survive a fork
            return None
        alike = {**env, spool.FOLDER: "", spool.OPTIONS: str(options["arch"])}
        key = (*command[:at], str(output), cwd, *sorted(alike.items()))
        if key not in self._parents:
            self._parents[key] = Parent(command, output, env, cwd, self._known)
        parent = self._parents[key]
        return parent.fork(command[at:], env, cwd) if parent.ready else None


def serve() -> None:
    """Fork for each request, if this process is a parent; only its forks, and all others, return."""
    numbers = os.environ.pop(_PARENT, "")
    if not numbers:
        return
    asked, out, names = json.loads(numbers)
    spool.end_with_parent()
    libc = ctypes.CDLL(None)
    libc.getenv.restype = ctypes.c_void_p
    mark = libc.getenv(spool.FOLDER.encode())  # what /proc tells of a fork and of what it starts
    with open(names, encoding="utf-8") as file:  # noqa: PTH123 (a descriptor)
        file.seek(0)
        known = {*json.load(file), __file__}
    if len(os.listdir("/proc/self/task")) > 1 or not _imported(known):  # noqa: PTH208
        os._exit(0)
    gc.freeze()  # a collection in a fork need not look through the DSL, and copy its pages
    os.write(out, b"ready\n")
    requests = os.fdopen(asked, "rb")
    while line := requests.readline():
        told = json.loads(line)
        pid = os.fork()
        if pid == 0:
            requests.close()
            os.close(out)
            _begin(told, mark)
            return
        os.write(out, f"{pid}\n".encode())
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        os.write(out, f"{status}\n".encode())
    os._exit(0)


def _imported(known: set[str]) -> bool:
    """Whether what is imported here is what the first run had imported, each module from the same file."""
    install(json.loads(os.environ[spool.OPTIONS])["arch"], spool.tell)
    with suppress(Exception), uncollected():
        for name in spool.HEAVY:
            spec = importlib.util.find_spec(name)
            if spec is not None and spec.origin in known:
                importlib.import_module(name)
        return known.issuperset(spool.imported())
    return False


def _begin(told: dict[str, Any], mark: int) -> None:
    """Become what a new process is in its `sitecustomize`."""
    os.setsid()
    del sys.modules[__name__]
    folder = told["env"][spool.FOLDER]
    spool.take_part(folder)
    ctypes.memmove(mark, os.fsencode(folder), len(os.fsencode(folder)))
    os.environ.update(told["env"])
    options = json.loads(os.environ[spool.OPTIONS])
    os.environ[spool.OPTIONS] = json.dumps({**options, "parent": os.getppid()})
    sys.argv[1:] = told["args"]
    if told["cwd"] is not None:
        os.chdir(told["cwd"])
