"""How processes of a traced run end, and what they start, where that would pass unseen.

`os._exit` leaves no last word; an exception in a thread or in a process of `multiprocessing` is printed and
forgotten; a Python that is started with an environment of its own is not watched.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from layoutcheck.dsl.imports import when_imported
from layoutcheck.dsl.observe import INTERNAL

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
        if isinstance(env, Mapping) and all(isinstance(key, str) for key in env):
            paths = [path for path in str(env.get("PYTHONPATH", "")).split(os.pathsep) if path]
            if first_path not in paths:
                named["env"] = {**env, **ours, "PYTHONPATH": os.pathsep.join([first_path, *paths])}
        begin(self, *args, **named)

    subprocess.Popen.__init__ = __init__  # type: ignore[method-assign]


def apart(argv: list[str]) -> bool:
    """Whether a command starts a Python that takes nothing from its environment: `-I`, `-E` or `-S`."""
    if not argv or "python" not in os.path.basename(argv[0]):  # noqa: PTH119
        return False
    options: list[str] = []
    for word in argv[1:]:
        if not word.startswith("-") or word.startswith("--") or word in ("-c", "-m"):
            break
        options.append(word)
    return any(letter in word for word in options for letter in "IES")


def watch_isolated(tell: Callable[[str], None]) -> None:
    """Call `tell` with each command of a Python that cannot be watched (`apart`)."""

    def hear(event: str, args: tuple[Any, ...]) -> None:
        if event == "subprocess.Popen":
            command = args[1] if isinstance(args[1], (list, tuple)) else [args[1]]
            words = [os.fsdecode(word) for word in command if isinstance(word, (str, bytes, os.PathLike))]
            if apart(words):
                tell(" ".join(words)[:80])

    sys.addaudithook(hear)
