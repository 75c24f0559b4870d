"""How processes of a traced run end, and what they start, where that would pass unseen.

`os._exit` leaves no last word; an exception in a thread, in a task or in a process is printed and
forgotten; a Python that is started with an environment of its own would not be watched.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from layoutcheck.dsl.imports import when_imported
from layoutcheck.dsl.observe import INTERNAL, NotLaunched

Tell = Callable[[BaseException], None]


def watch_exit(tell: Callable[[bool], None]) -> None:
    """Call `tell(whether a kernel is being built)` where `os._exit` ends this process; not of its forks."""
    own, leave = os.getpid(), os._exit

    def _exit(status: int) -> None:
        if os.getpid() == own:
            frames = traceback.extract_stack()
            tell(any(f.filename == INTERNAL and f.name == "generate_mlir" for f in frames))
        leave(status)

    os._exit = _exit  # type: ignore[assignment]


def watch_threads(tell: Tell) -> None:
    """Call `tell` with what a thread raises, or a process of `multiprocessing`, which both have to handle."""
    make = threading._make_invoke_excepthook  # type: ignore[attr-defined]

    def made() -> Callable[[threading.Thread], None]:
        """What a thread does with an exception, whoever has set `threading.excepthook` (pytest does)."""
        invoke = make()

        def invoke_excepthook(thread: threading.Thread) -> None:
            error = sys.exc_info()[1]
            if error is not None and not isinstance(error, SystemExit):
                tell(error)
            invoke(thread)

        return invoke_excepthook

    threading._make_invoke_excepthook = made  # type: ignore[attr-defined]
    when_imported("multiprocessing.process", lambda module: _watch_process(module.BaseProcess, tell))


def watch_tasks() -> dict[Any, tuple[Exception, int]]:
    """By the task of an executor or of a pool: what it raised, for which nobody has asked yet.

    With the launches that had been skipped in this process by then.
    """
    unasked: dict[Any, tuple[Exception, int]] = {}

    def futures(module: Any) -> None:
        _watch_task(module.Future, "set_exception", ("result", "exception"), unasked)

    def results(module: Any) -> None:
        for owner in (module.ApplyResult, module.MapResult):
            _watch_task(owner, "_set", ("get", "successful"), unasked)
        for owner in (module.IMapIterator, module.IMapUnorderedIterator):
            _watch_task(owner, "_set", ("next", "__next__"), unasked)

    when_imported("concurrent.futures._base", futures)
    when_imported("multiprocessing.pool", results)
    return unasked


def _watch_task(
    owner: Any, put: str, asks: tuple[str, ...], unasked: dict[Any, tuple[Exception, int]]
) -> None:
    """A future gets an exception by `put`; a pool's result gets whether there is none, and what there is."""
    wrapped = getattr(owner, put)

    @wraps(wrapped)
    def told(self: Any, *args: Any) -> Any:
        error = args[-1][1] if isinstance(args[-1], tuple) else args[-1]
        if isinstance(error, Exception) and getattr(self, "_error_callback", None) is None:
            unasked[self] = error, NotLaunched.calls
        return wrapped(self, *args)

    setattr(owner, put, told)
    for name in asks:
        if name in vars(owner):
            setattr(owner, name, _asked(getattr(owner, name), unasked))


def _asked(ask: Any, unasked: dict[Any, tuple[Exception, int]]) -> Any:
    @wraps(ask)
    def asked(self: Any, *args: Any, **named: Any) -> Any:
        try:
            return ask(self, *args, **named)
        finally:
            unasked.pop(self, None)

    return asked


def watch_killed(ours: Callable[[int], bool], tell: Callable[[int], None]) -> None:
    """Call `tell` with each child that SIGKILL ended, as where memory runs out, if no process here sent it.

    Of forks, and of children that are `ours`.
    """
    fork, wait = os.fork, os.waitpid
    forks, sent = set[int](), set[int]()

    def hear(event: str, args: tuple[Any, ...]) -> None:
        if event in ("os.kill", "os.killpg"):
            sent.add(abs(args[0]))

    def forked() -> int:
        pid = fork()
        if pid:
            forks.add(pid)
        return pid

    def waitpid(pid: int, options: int) -> tuple[int, int]:
        found, status = wait(pid, options)
        killed = found and os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        if killed and not sent & {found, 0, 1} and (found in forks or ours(found)):
            tell(found)
        forks.discard(found)
        return found, status

    sys.addaudithook(hear)
    os.fork, os.waitpid = forked, waitpid


def watch_ignored(tell: Tell) -> None:
    """Call `tell` with what a callback of `atexit`, a bare thread or a task that nobody awaits raises.

    Python and asyncio print it, and go on.
    """
    show = sys.unraisablehook

    def shown(ignored: Any) -> None:
        if ignored.exc_value is not None and re.search("atexit|thread started", ignored.err_msg or ""):
            tell(ignored.exc_value)
        show(ignored)

    def loops(module: Any) -> None:
        owner = module.BaseEventLoop
        handle = owner.call_exception_handler

        def call_exception_handler(self: Any, context: Mapping[str, Any]) -> None:
            error = context.get("exception")
            if isinstance(error, Exception) and self.get_exception_handler() is None:
                tell(error)
            handle(self, context)

        owner.call_exception_handler = call_exception_handler

    sys.unraisablehook = shown
    when_imported("asyncio.base_events", loops)


def _watch_process(process: Any, tell: Tell) -> None:
    begin = process._bootstrap

    def _bootstrap(self: Any, *args: Any, **named: Any) -> Any:
        run = self.run

        def again() -> None:
            try:
                run()
            except Exception as error:
                tell(error)
                raise

        self.run = again
        return begin(self, *args, **named)

    process._bootstrap = _bootstrap


def pass_on(names: tuple[str, ...], first_path: str) -> None:
    """Give each process that is started with an environment of its own these variables of ours too."""
    ours = {name: os.environ[name] for name in names if name in os.environ}
    begin = subprocess.Popen.__init__

    def __init__(self: Any, *args: Any, **named: Any) -> None:  # noqa: N807
        env = named.get("env")
        if env is None and not ours.keys() <= os.environ.keys():
            env = os.environ
        if isinstance(env, Mapping) and all(isinstance(key, str) for key in env):
            paths = [path for path in str(env.get("PYTHONPATH", "")).split(os.pathsep) if path]
            if first_path not in paths:
                named["env"] = {**env, **ours, "PYTHONPATH": os.pathsep.join([first_path, *paths])}
        begin(self, *args, **named)

    subprocess.Popen.__init__ = __init__  # type: ignore[method-assign]
