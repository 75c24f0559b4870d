"""The child's end of a traced run: what its processes see is left in a folder, one JSON file an event.

The folder comes in `LAYOUTCHECK_SPOOL`, so that processes which the script starts take part; a file appears
whole or not at all, so that a process may die at any time. `LAYOUTCHECK_TRACE` holds the options as JSON.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import faulthandler
import gc
import itertools
import json
import opcode
import os
import platform
import re
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from typing import Any

from layoutcheck.dsl.choices import give_choices
from layoutcheck.dsl.endings import (
    pass_on,
    watch_exit,
    watch_ignored,
    watch_killed,
    watch_tasks,
    watch_threads,
)
from layoutcheck.dsl.failed_tests import caught, failed_builds, watch_session, watch_tests
from layoutcheck.dsl.loaded import Loaded
from layoutcheck.dsl.observe import INTERNAL, STACK_DEPTH, Built, Event, NotLaunched, Unbuilt, watch
from layoutcheck.dsl.passed_over import Passed, pass_over
from layoutcheck.dsl.reads import reads, watch_reads
from layoutcheck.dsl.shares import FOLDER as TAKEN
from layoutcheck.dsl.shares import PRESENT, Place, share_tests
from layoutcheck.dsl.spread import spread_tests
from layoutcheck.dsl.thin import thin_tests
from layoutcheck.dsl.unbuilt import sources, stand_in
from layoutcheck.places import in_library
from layoutcheck.regular import read_regular
from layoutcheck.versions import installed

FOLDER, OPTIONS = "LAYOUTCHECK_SPOOL", "LAYOUTCHECK_TRACE"
_ABOVE = "LAYOUTCHECK_ABOVE"  # the processes that this one and those above it were started by, and itself
MAX_MESSAGE = 4000
_MOST_BYTES = 1 << 30  # of an event
_PR_SET_PDEATHSIG = 1
_MARK = "layoutcheck_build"  # an attribute of an exception
_RAISE = opcode.opmap["RAISE_VARARGS"]  # of `raise` and of `assert`
_count = itertools.count(time.monotonic_ns())  # what `os.exec` makes of a process goes on behind it
_named = set[str]()  # imported files that were written
_watching = contextlib.ExitStack()  # never left: the trace ends with the process


def write(folder: str, event: dict[str, Any]) -> None:
    """Leave one event; its "kind" says which."""
    name = Path(folder) / f"{next(_count):020}-{os.getpid()}.json"
    part = name.with_suffix(".part")
    part.write_text(json.dumps({"pid": os.getpid(), "at": Place.now, **event}), encoding="utf-8")
    part.rename(name)


def read(folder: Path) -> Iterator[dict[str, Any]]:
    """The events left so far, in order of their process's own; each is taken away.

    "unread" stands for what is none: a program may write there, too.
    """
    for path in sorted(folder.glob("*.json")):
        event: dict[str, Any] = {"kind": "unread", "name": path.name}
        with contextlib.suppress(OSError, ValueError, RecursionError):
            found = json.loads(read_regular(path, _MOST_BYTES))
            event = found if isinstance(found, dict) and "kind" in found else event
        with contextlib.suppress(OSError):
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        yield event


def begin() -> None:
    """Start to watch, for the rest of this process."""
    folder = os.environ[FOLDER]
    options = json.loads(os.environ.get(OPTIONS, "{}"))
    first = os.getppid() == options.get("parent")

    own = [Path(each) for each in options.get("below", ())]
    note = partial(_note, folder)
    tell = cache(note)
    _leave_network(options, first, tell)
    if first:
        end_with_parent()
    if not options.get("launch", True):
        from layoutcheck.dsl.fake_cuda import install

        # The last one called. What would be collected later costs 0.15 s, and nobody wants what it leaves.
        atexit.register(gc.freeze)
        install(options.get("arch"), tell)
        stand_in(Path.cwd().resolve(), tell, partial(_miss, folder), own)
        pass_over()
    if not options.get("network", True):
        watch_reads()
    _hear_of_the_end(folder)
    _hear_of_a_signal(folder)
    os.environ[_ABOVE] = f"{os.environ.get(_ABOVE, '')} {os.getpid()}"
    Passed.below = _below(folder, str(os.getpid()))
    pass_on((FOLDER, OPTIONS, _ABOVE), str(Path(__file__).parent / "site"))
    _watch_tests(folder, options.get("spread", False), first, own)
    stop = not options.get("launch", True)
    _watching.enter_context(watch(lambda event: _record(folder, event), stop=stop))
    write(
        folder,
        {"kind": "process", "python": platform.python_version(), "dsl": installed(), "argv": sys.argv[:1]},
    )


def _note(folder: str, message: str) -> None:
    write(folder, {"kind": "note", "message": message})


def _miss(folder: str, message: str, file: str, line: int) -> None:
    write(folder, {"kind": "missing", "message": message, "where": {"file": file, "line": line}})


def _leave_network(options: dict[str, Any], first: bool, tell: Callable[[str], None]) -> None:
    """Leave the network that the program may not have; refuse sockets where a parent could not leave it."""
    if first and not options.get("network", True):
        from layoutcheck.dsl import network

        leaks = network.leave()  # before it is ended with its parent: new credentials call that off
        if leaks:
            tell(leaks)
            os.environ[OPTIONS] = json.dumps({**options, "sockets": False})
    elif not options.get("sockets", True):
        from layoutcheck.dsl import network

        network.refuse_sockets()


def _watch_tests(folder: str, whole: bool, first: bool, own: Sequence[Path]) -> None:
    """Hear of tests and of their session; if `whole`, several processes share them, this one as `first`.

    `own` is the project below this folder that the program is of.
    """
    watch_tests(
        partial(_test, folder),
        lambda tests, reason: write(folder, {"kind": "skip", "tests": tests, "reason": reason[:MAX_MESSAGE]}),
        lambda error, builds: write(folder, {"kind": "expected", "builds": [*_builds(error), *builds]}),
    )
    watch_session(lambda over: write(folder, {"kind": "session", "over": over}), whole)
    if not whole:
        return
    spread_tests()
    taken = Path(folder) / TAKEN
    # A test may replace its process by `os.exec`: what that took, and did not come to, is run by no other.
    if first and taken.is_dir() and not (taken / PRESENT / str(os.getpid())).exists():
        thin_tests()
        share_tests(taken, lambda count: write(folder, {"kind": "tests", "count": count}))
    if not os.environ.get("PYTHONSAFEPATH"):
        sys.path += [str(Path.cwd()), *map(str, own), *(each for one in own for each in sources(one))]
    if first:
        choice = "run with the default or first choice of each argument"
        give_choices(lambda given: _note(folder, f"{choice}: {' '.join([sys.argv[0], *given])}"))


def _test(folder: str, test: str, error: BaseException, launches: int, went_on: bool = False) -> None:
    told = {**raised(error), "launches_skipped": launches, "went_on": went_on}
    write(folder, {"kind": "test", "test": test, **told})
    _imports(folder)  # time may be up before it ends, or before it builds a kernel


def _record(folder: str, event: Event) -> None:
    if isinstance(event, Unbuilt):
        _unbuilt(folder, event)
        return
    if isinstance(event, Loaded) and _is_new(event.path):
        return
    if isinstance(event, Built):
        Passed.built(event.text)
        for pid in {*os.environ.get(_ABOVE, "").split()} - {str(os.getpid())}:
            _append(_below(folder, pid), ".")
    write(folder, as_dict(event))
    _imports(folder)  # now: a process that calls `os._exit`, as a forked child does, has no last word


def _below(folder: str, pid: str) -> Path:
    return Path(folder) / f"below-{pid}"


def _unbuilt(folder: str, event: Unbuilt) -> None:
    """Leave word of a build that failed, unless the program itself refuses it; mark the exception with it."""
    error = event.error
    if any(_refuses(one) for one in _chain(error)):
        return
    error.__dict__[_MARK] = f"{os.getpid()}-{next(_count)}"
    failed_builds.append(error.__dict__[_MARK])
    write(folder, {"kind": "unbuilt", "host": event.host, **raised(error)})


def _refuses(error: BaseException) -> bool:
    """Whether a `raise` or `assert` of the program's own raised it."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or in_library(trace.tb_frame.f_code.co_filename):
        return False
    return trace.tb_frame.f_code.co_code[trace.tb_lasti] == _RAISE


def _is_new(path: str) -> bool:
    """Whether a file was written in this run, which saw what it was made of."""
    try:
        return os.stat(path).st_mtime >= json.loads(os.environ[OPTIONS])["begun"]  # noqa: PTH116
    except (OSError, KeyError, ValueError):
        return False


def _builds(error: BaseException) -> list[str]:
    """The builds that failed of which an exception tells."""
    return [one.__dict__[_MARK] for one in _chain(error) if _MARK in one.__dict__]


def _imports(folder: str) -> None:
    """Leave the files that this process has imported since it last did."""
    files = [file for file in [*imported(), *reads()] if file not in _named]
    if files:
        _named.update(files)
        write(folder, {"kind": "imported", "files": files})


def as_dict(event: Event) -> dict[str, Any]:
    """An event as the spool keeps it."""
    return {"kind": type(event).__name__.lower(), **asdict(event)}


def end_with_parent() -> None:
    """Die when the process that started this one does, however it ends (Linux)."""
    with contextlib.suppress(Exception):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _hear_of_the_end(folder: str) -> None:
    """Leave word of an exception that left the script; the DSL replaces `sys.excepthook`, not this."""
    told: list[BaseException] = []

    tasks = watch_tasks()

    def tell(building: bool | None = None) -> None:
        while tasks:
            error, launches = tasks.popitem()[1]
            write(folder, {"kind": "raised", "aside": True, **raised(error), "launches_skipped": launches})
        error = getattr(sys, "last_value", None)
        if isinstance(error, BaseException) and not caught(error) and error not in told:
            told.append(error)
            write(folder, {"kind": "raised", **raised(error)})
        if building is not None:
            write(folder, {"kind": "left", "building": building})
        _imports(folder)

    def aside(error: BaseException) -> None:
        write(folder, {"kind": "raised", "aside": True, **raised(error)})

    atexit.register(tell)
    watch_exit(tell)
    watch_threads(aside)
    watch_ignored(aside)


def _hear_of_a_signal(folder: str) -> None:
    """Leave the Python stack where a compiler's signal ends this process; `died_at` reads it."""
    stack = os.open(_stack(folder, os.getpid()), os.O_WRONLY | os.O_CREAT)  # a file would warn at the end
    faulthandler.enable(stack, all_threads=False)
    os.register_at_fork(after_in_child=lambda: _append(_stack(folder, os.getpid()), ""))  # it is watched, too
    sys.addaudithook(lambda event, _: event == "os.exec" and _stack(folder, os.getpid()).unlink(True))
    watch_killed(lambda pid: watched(folder, pid), lambda pid: _append(_stack(folder, pid), "SIGKILL"))


def _append(path: Path, text: str) -> None:
    with contextlib.suppress(OSError), path.open("a", encoding="utf-8") as file:
        file.write(text)


def watched(folder: str | Path, pid: int) -> bool:
    """Whether a process of a run takes part: it leaves what it sees."""
    return _stack(folder, pid).exists()


def _stack(folder: str | Path, pid: int) -> Path:
    return Path(folder) / f"stack-{pid}"


_TOLD_FRAME = re.compile(r'^  File "(.+)", line ([0-9]+), in (.+)$', re.MULTILINE)
_FRAME = re.compile(r'^  File "(.+)", line ([0-9]+) in (.+)$', re.MULTILINE)


def died_at(folder: str | Path, pid: int) -> dict[str, Any] | None:
    """The innermost place that is the user's where a signal ended a process; None where it is not known."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        for file, line, function in _FRAME.findall(read_regular(_stack(folder, pid)).decode()):
            if not in_library(file):
                return {"file": file, "line": int(line), "function": function}
    return None


def crashed(folder: str | Path) -> dict[str, Any] | None:
    """The innermost place that is the user's where a signal ended any process of a run, as `died_at`.

    With no line where that is not known; None where no process died so.
    """
    for path in Path(folder).glob("stack-*"):
        with contextlib.suppress(OSError):
            if path.stat().st_size:
                number = int(path.name.partition("-")[2])
                return died_at(folder, number) or {"file": "", "line": 0, "function": ""}
    return None


def imported() -> list[str]:
    """The files of every module that this process has imported."""
    files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    return sorted({file for file in files if isinstance(file, str)})


def raised(error: BaseException) -> dict[str, Any]:
    """An exception as an event: its message, and the places in it that are the user's, innermost first."""
    every = traceback.extract_tb(error.__traceback__)
    first = _chain(error)[-1]
    frames = [f for f in every if not in_library(f.filename)]
    if not every:  # raised in another process, which sends its traceback as a text
        found = (traceback.FrameSummary(a, int(b), c) for a, b, c in _TOLD_FRAME.findall(str(first)))
        frames = [f for f in found if not in_library(f.filename)]
    stack = [
        {
            "file": one.filename,
            "line": one.lineno or 0,
            "column": (getattr(one, "colno", None) or -1) + 1,
            "function": one.name,
        }
        for one in reversed(frames[-STACK_DEPTH:])
    ]
    if isinstance(error, SyntaxError) and error.filename:  # raised by the parser, which is nobody's code
        stack.insert(0, {"file": error.filename, "line": error.lineno or 0, "column": 0, "function": ""})
    message = str(error) or repr(error)
    refused = "IR Verification Failed" in message or "could not build valid IR" in message
    return {
        "type": type(error).__name__,
        "message": message[:MAX_MESSAGE],
        "where": stack[0] if stack else None,
        "stack": stack[1:],
        "refused": refused,
        "compiling": compiling([*every, *traceback.extract_tb(first.__traceback__)]),
        "launches_skipped": NotLaunched.calls,
        "builds": _builds(error),
    }


def _chain(error: BaseException) -> list[BaseException]:
    """An exception, what it was raised for, and so on to the one that it all began with."""
    found = [error]
    while (cause := getattr(error, "cause", None) or error.__cause__ or error.__context__) is not None:
        if not isinstance(cause, BaseException) or any(one is cause for one in found):
            break
        found.append(cause)
        error = cause
    return found


def compiling(frames: Sequence[traceback.FrameSummary]) -> bool:
    """Whether the DSL itself raised it while it traced a kernel, and not the user's own `raise`."""
    built = any(f.filename == INTERNAL and f.name == "generate_mlir" for f in frames)
    return built and bool(frames) and in_library(frames[-1].filename)
