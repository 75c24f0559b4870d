"""Programs as forks of one process that has imported the DSL: half a second less for each.

`traced_in_forks` puts them in the place of plain processes where a test traces them; the tests of the trace
itself do without. The process of a `Session` is such a fork, too. `run_here` does without the worker
processes of `layoutcheck ci`. `printed` runs a program that is not traced.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryFile
from types import SimpleNamespace
from typing import IO, Any

import pytest

from layoutcheck.dsl import worker
from layoutcheck.dsl.spool import OPTIONS, begin
from layoutcheck.dsl.trace import CACHES
from layoutcheck.lint import runs
from layoutcheck.versions import installed

_MOST = 1 << 20  # bytes of a request
_leave = os._exit  # the trace of a program watches it


class Forked:
    """A process as `subprocess.Popen` has it; its keeper, which is its parent, tells when it has ended."""

    def __init__(
        self, command: list[str], output: IO[Any] | int | None, env: Mapping[str, str], cwd: str | None,
        given: IO[Any] | None = None, errors: IO[Any] | None = None,
    ):  # fmt: skip
        self.returncode: int | None = None
        self._keeper = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._keeper.connect(_server())
        with open(os.devnull, "w") as null:  # noqa: PTH123 (as a file descriptor)
            out = sys.stdout if output is None else null if output == subprocess.DEVNULL else output
            asked = json.dumps({"command": command[1:], "env": dict(env), "cwd": cwd or str(Path.cwd())})
            files = [out, errors or out, *([given] if given else [])]
            socket.send_fds(self._keeper, [asked.encode()], [one.fileno() for one in files])  # type: ignore[union-attr]
        self.pid = int(self._keeper.recv(16))

    def wait(self, timeout: float | None = None) -> int:
        """Its status, or minus the signal that ended it. Raises subprocess.TimeoutExpired."""
        if self.returncode is None:
            self._keeper.settimeout(timeout)
            try:
                self.returncode = int(self._keeper.recv(16))
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired("a fork", timeout or 0) from None
            self._keeper.close()
        return self.returncode

    def poll(self) -> int | None:
        """Its status, None while it runs."""
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None


class ForkedWorker(Forked):
    """The process of a `Session`: its requests and answers go through pipes."""

    def __init__(self, command: list[str], *, cwd: str, env: Mapping[str, str], **_: object):
        (asked, into), (answers, out) = os.pipe(), os.pipe()
        self.stdin, self.stdout = os.fdopen(into, "wb"), os.fdopen(answers, "rb")
        with os.fdopen(asked, "rb") as given, os.fdopen(out, "wb") as told, TemporaryFile() as errors:
            super().__init__(command, told, env, cwd, given, errors)


@pytest.fixture(autouse=True)
def traced_in_forks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that a test traces are forks, and what it asks the DSL; for the `conftest.py` of a folder.

    Processes that the test forks ask the same one.
    """
    _server()
    monkeypatch.setattr("layoutcheck.dsl.trace._process", Forked)
    names = {name: getattr(subprocess, name) for name in ("PIPE", "DEVNULL")}
    monkeypatch.setattr("layoutcheck.dsl.session.subprocess", SimpleNamespace(Popen=ForkedWorker, **names))


class Here(Executor):
    """In the place of the workers of `ci`: this process runs and judges each program when it is submitted."""

    def __init__(self, _workers: int, _context: object, _begin: object, given: tuple[Any, ...]):
        settings, stop, _, _, spare, _, self._cwd = given
        runs._worker.update(lowering=runs._lowering(settings), settings=settings, stop=stop, spare=spare)

    def submit(self, do: Callable[..., Any], /, *given: Any, **_: Any) -> Future[Any]:
        """What it has become, which the future holds already."""
        os.chdir(self._cwd)  # who submits it is elsewhere, and goes back
        done: Future[Any] = Future()
        try:
            done.set_result(do(*given))
        except Exception as error:
            done.set_exception(error)
        return done

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the process of the DSL that judged its programs; one that tests share stays."""
        if runs._worker:
            runs._worker.pop("lowering").close()
            runs._worker.clear()


@pytest.fixture
def run_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """`layoutcheck ci` starts no process but its programs, and these are forks: for what it says of them."""
    monkeypatch.setattr("layoutcheck.dsl.trace._process", Forked)
    monkeypatch.setattr("layoutcheck.lint.runs.ProcessPoolExecutor", Here)


def printed(
    *command: str, arch: str, given: str = "", env: Mapping[str, str] | None = None, cwd: str | None = None
) -> str:
    """What `python COMMAND` prints, which may read `given`. Raises AssertionError if its status is not 0."""
    with TemporaryFile("w+") as out, TemporaryFile("w+") as errors, TemporaryFile("w+") as into:
        into.write(given)
        into.seek(0)
        told = {**os.environ, **CACHES, "CUTE_DSL_ARCH": arch, **(env or {})}
        status = Forked([sys.executable, *command], out, told, cwd, into, errors).wait(300)
        for file in (out, errors):
            file.seek(0)
        assert status == 0, errors.read().strip()[-2000:]
        return out.read()


@cache
def _server() -> str:
    """The address of the process that forks; it ends with the tests."""
    address = f"\0layoutcheck-tests-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(address)
        listening.listen()
        number = listening.fileno()
        command = [sys.executable, "-m", "tests.forking", str(number)]
        env = {**os.environ, **CACHES}
        process = subprocess.Popen(command, pass_fds=[number], cwd=Path(__file__).parents[1], env=env)
    atexit.register(process.kill)
    return address


def _serve(listening: socket.socket) -> None:
    """Fork a keeper for each request; it forks the program and waits for it."""
    installed()  # imports what reads the version of a package, 10 ms of each program
    gc.freeze()  # a collection in a fork need not look through the DSL, and copy its pages
    gc.set_threshold(50_000)  # what a kernel is built of stays to its end: a tenth of the time
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # keepers leave nothing to wait for
    while True:
        asking, _ = listening.accept()
        if os.fork() == 0:
            listening.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _keep(asking)
        asking.close()


def _keep(asking: socket.socket) -> None:
    text, (out, errors, *given), *_ = socket.recv_fds(asking, _MOST, 3)
    pid = os.fork()
    if pid == 0:
        asking.close()
        os.dup2(out, 1)
        os.dup2(errors, 2)
        if given:
            os.dup2(given[0], 0)
        _leave(_ended(json.loads(text)))
    asking.send(str(pid).encode())
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    asking.send(str(status).encode())
    os._exit(0)


def _begin(asked: dict[str, Any]) -> None:
    """Become the program: what a new process would have, and then its script."""
    traced = OPTIONS in asked["env"]
    if not traced:
        os.setsid()
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["env"])
    _read_environment()
    atexit.register(gc.freeze)  # 0.4 s at the end of each program
    sys.argv = asked["command"]
    if sys.argv[:2] == ["-m", worker.__name__]:
        worker.bare = lambda name: (import_module(name), lambda: None)  # type: ignore[assignment]
        worker.main()
        return
    if traced:
        options = json.loads(os.environ[OPTIONS])
        os.environ[OPTIONS] = json.dumps({**options, "parent": os.getppid()})
        added = os.environ.get("PYTHONPATH", "").split(os.pathsep)[1:]  # without our own sitecustomize
        sys.path[:] = [*added, *sys.path[1:]]
        begin()
        # What is in a program's session and is not watched is told, and a fork has loaded the DSL already.
        os.setsid()
    if sys.argv[0] == "-m":
        name = sys.argv.pop(1)
        sys.path.insert(0, asked["cwd"])
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, str(Path(sys.argv[0]).resolve().parent))
        _run_script(sys.argv[0])


def _ended(asked: dict[str, Any]) -> int:
    """Its status, after what Python does at its end but for taking the DSL apart: 75 ms of each program.

    An error that nobody caught is left to Python.
    """
    status = 0
    try:
        _begin(asked)
    except SystemExit as ends:
        if not isinstance(ends.code, int | None):
            raise
        status = (ends.code or 0) & 0xFF
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not stream.closed:
            stream.flush()
    return status


def _read_environment() -> None:
    """The DSL read another one while it was imported, and keeps what it read."""
    from cutlass.base_dsl import env_manager
    from cutlass.base_dsl.dsl import DSLSingletonMeta

    for one in vars(env_manager).values():
        if hasattr(one, "cache_clear"):
            one.cache_clear()
    for compiler in DSLSingletonMeta._instances.values():
        compiler.envar = compiler._env_class(compiler.name)


def _run_script(path: str) -> None:
    """As `python PATH`: in the module `__main__` itself, which the script may look up."""
    import __main__

    names = vars(__main__)
    for name in [one for one in names if not one.startswith("__")]:
        del names[name]
    names.update(__file__=path, __spec__=None)
    exec(compile(Path(path).read_bytes(), path, "exec", dont_inherit=True), names)


if __name__ == "__main__":
    import cutlass.cute  # noqa: F401 (half a second that no fork takes)

    import layoutcheck.dsl.fake_cuda  # noqa: F401
    from tests import forking

    forking._serve(socket.socket(fileno=int(sys.argv[1])))
