"""The child process that asks the DSL: `python -m layoutcheck.dsl.worker`.

Reads one request a line from standard input, `{"task": ..., "items": [...]}`, and answers with one JSON
line an item, in order. MLIR is imported first, and the DSL's Python, which takes four times as long, when
the task "complete" asks for it. An MLIR context stays open. The work is done in a fork of this process, so
that

- an input that kills the compiler (SIGABRT, SIGFPE) costs one fork (20 ms): the item is answered
  `{"died": signal, "said": its last words}` and a fresh fork takes the rest;
- the types that the context never forgets die with the fork after a `BATCH`, and memory stays flat.

Tasks, an item being a dict of operand types as text (`layoutcheck.dsl.session.item`):

verify   parse a function holding the bare `cute.copy` operation: the verifier alone (100 us)
parse    parse a function of the given arguments and body: what their operations' verifiers say
build    call the DSL's own Python function (`cute.copy`, `cute.autovec_copy`, ...), then verify (5 ms)
lower    build inside a kernel, run the DSL's pipeline for `arch`, answer its PTX (25 ms)
tma      make_tiled_tma_atom, tma_partition and cute.copy: the tensor map's words and PTX (40 ms)
passes   run the DSL's first passes on a traced module (100 ms)
compile  run the DSL's whole pipeline on a traced module, answer its PTX (1 s)
program  compile a program of ours: its registers and PTX (150 ms)
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import pickle
import re
import resource
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from layoutcheck.dsl.imports import bare, uncollected
from layoutcheck.dsl.session import COMPLETE, WITH_PARENT
from layoutcheck.dsl.spool import end_with_parent
from layoutcheck.dsl.tasks import Item
from layoutcheck.dsl.tasks.build import build
from layoutcheck.dsl.tasks.lower import compile_module, lower
from layoutcheck.dsl.tasks.passes import lower_traced
from layoutcheck.dsl.tasks.program import compile_program
from layoutcheck.dsl.tasks.room import room
from layoutcheck.dsl.tasks.tensor_map import tma
from layoutcheck.dsl.tasks.verify import parse, verify
from layoutcheck.versions import installed

# `lower` works on several items at once.
TASKS: dict[str, Callable[[Item], Item]] = {
    "verify": verify,
    "parse": parse,
    "build": build,
    "tma": tma,
    "passes": lower_traced,
    "room": room,
    "compile": compile_module,
    "program": compile_program,
}
# Items that a fork works on, which bound what its copy of the context grows by: a verdict leaves a kilobyte
# or two (types are kept forever), a lowered kernel its binary and more.
BATCH = {
    "verify": 10_000, "parse": 10_000, "build": 2_000, "lower": 128, "tma": 128, "passes": 16, "room": 16,
    "compile": 4, "program": 16,
}  # fmt: skip
# What a task imports where it is first needed.
_IMPORTS = {"passes": ("cutlass._mlir.passmanager",), "tma": ("layoutcheck.dsl.lowered.integers",)}
_DIALECT = re.compile(r'["!#](\w+)\.')  # of operations, types and attributes
_WORDS = 2000  # bytes of what a dying compiler says
MEMORY_BYTES = 8 << 30  # a fork that wants more dies of it, and not the machine
_prepared = set[str]()
KERNELS = 16  # kernels lowered together: most of the cost of a module is per module


def main() -> None:
    """Answer requests until standard input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # whatever the DSL prints is not an answer
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    gc.set_threshold(50_000)  # what a kernel is built of stays to its end: a fifth of the time
    limit_memory()
    if WITH_PARENT in sys.argv:
        end_with_parent()
    try:
        with uncollected():
            dsl, complete = bare("cutlass")
            import_module("cutlass._mlir.ir")
    except ImportError as error:
        say(answers, {"missing": str(error)})
        return
    gc.freeze()  # a collection in a fork need not look through it, and copy every page
    context = opened()
    say(answers, {"version": version(dsl), **foreign()})
    for line in sys.stdin:
        request = json.loads(line)
        if request["task"] == COMPLETE:
            context.close()
            end_fork()
            forget()
            try:
                with uncollected():
                    complete()
            except ImportError as error:
                say(answers, {"missing": str(error)})
                return
            gc.freeze()
            context = opened()
            say(answers, {})
        prepare(request["items"], request["task"])
        for answer in forked(request["items"], request["task"]):
            say(answers, answer)
    end_fork()


def opened() -> contextlib.ExitStack:
    """An MLIR context, until it is closed, with the dialects that are imported now."""
    from cutlass._mlir import ir

    stack = contextlib.ExitStack()
    stack.enter_context(ir.Context()).enable_multithreading(False)  # threads do not survive a fork
    stack.enter_context(ir.Location.unknown())
    return stack


def prepare(items: list[Item], task: str) -> None:
    """Import what the task needs, a module's dialects among it: once here, not in each fork (90 ms)."""
    named = {name for item in items for name in _DIALECT.findall(item.get("module", ""))}
    needed = [*_IMPORTS.get(task, ()), *(f"cutlass._mlir.dialects.{name}" for name in sorted(named))]
    new = [name for name in needed if name not in _prepared]
    _prepared.update(new)
    for name in new:
        sys.modules[name] = _imported(name)  # None is not tried again, for each operation, by MLIR
    if new:
        end_fork()
        gc.freeze()


def _imported(name: str) -> Any:
    """A module; None for one that needs the rest of the DSL, and for a string that looks like a dialect."""
    try:
        return import_module(name)
    except Exception:
        return None


def forget() -> None:
    """Try again what could not be imported without the rest of the DSL."""
    for name in [name for name in _prepared if sys.modules[name] is None]:
        del sys.modules[name]
    _prepared.clear()


def version(dsl: ModuleType) -> str:
    """The version that the package's own code says, which need not have run."""
    text = Path(str(dsl.__file__)).read_text(encoding="utf-8")
    found = re.search(r"""^__version__ = ["']([^"']+)["']""", text, re.MULTILINE)
    return found[1] if found else installed() or "unknown"


def limit_memory() -> None:
    """Let this process, and what it starts, have `MEMORY_BYTES` at most."""
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    unlimited = most == resource.RLIM_INFINITY
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES if unlimited else min(most, MEMORY_BYTES), most))


def say(stream: Any, answer: Any) -> None:
    """One answer as a line, at once."""
    stream.write(json.dumps(answer) + "\n")
    stream.flush()


def foreign() -> Item:
    """{} where this DSL accepts a plain copy as these tasks write it, else what it says instead."""
    view = '!cute.memref<f32, gmem, align<4>, "4:1">'
    plain = {"atom": "!cute_nvgpu.atom.universal_copy<f32, 32 b>", "src": view, "dst": view}
    answer = verify(plain)
    return {"foreign": str(answer)} if answer else {}


def forked(items: list[Item], task: str) -> Iterator[Item]:
    """The task in forks; the answer of an item that killed its fork is `{"died": signal}`."""
    group = KERNELS if task == "lower" else 1
    done = alone = 0  # items before `alone` are worked on one by one: their group died
    while done < len(items):
        size, stop = (1, alone) if done < alone else (group, min(done + BATCH[task], len(items)))
        status = yield from in_fork(items[done:stop], task, size)
        done += status.answered
        if status.used:
            continue  # with the same items: what earlier questions left may have killed it
        if status.signal and size == 1:
            yield {"died": status.signal, "said": status.said}
            done += 1
        elif status.signal:
            alone = min(done + size, len(items))


class Status(NamedTuple):
    """What came of some items: the number answered; the signal that ended the fork, 0 for none; its words.

    `used` says that it had died after it had answered earlier questions.
    """

    answered: int
    signal: int = 0
    said: str = ""
    used: bool = False


class Fork:
    """A fork of this process, which works on what it is given until that kills it."""

    def __init__(self) -> None:
        given, into = os.pipe()
        out, answers = os.pipe()
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the fork
        self.spent = 0.0  # of a `BATCH`
        self.pid = os.fork()
        if self.pid == 0:
            os.close(into)
            os.close(out)
            self._serve(given, answers)
        os.close(given)
        os.close(answers)
        self._into, self._out = os.fdopen(into, "wb"), os.fdopen(out)

    def _serve(self, given: int, answers: int) -> None:
        if WITH_PARENT in sys.argv:
            end_with_parent()
        code = 1
        try:
            os.dup2(self.errors.fileno(), 2)  # LLVM's last words, and its stack traces
            with os.fdopen(given, "rb") as asked, os.fdopen(answers, "w") as stream:
                while True:
                    try:
                        items, task, size = pickle.load(asked)
                    except EOFError:
                        break
                    for answer in lower(items, size) if task == "lower" else map(TASKS[task], items):
                        say(stream, answer)
            code = 0
        finally:
            os._exit(code)

    def answers(self, items: list[Item], task: str, size: int) -> Iterator[Item]:
        """An answer for each item, as long as it lives."""
        self.spent += len(items) / BATCH[task]
        os.ftruncate(self.errors.fileno(), 0)
        os.lseek(self.errors.fileno(), 0, os.SEEK_SET)  # the fork writes where this is
        with contextlib.suppress(BrokenPipeError):
            pickle.dump((items, task, size), self._into)
            self._into.flush()
        for _, line in zip(items, self._out, strict=False):
            yield json.loads(line)

    def is_gone(self) -> bool:
        """Whether it ended while it had nothing to do, as one that the system ends for its memory."""
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def end(self) -> tuple[int, str]:
        """Wait for it: the signal that killed it, 0 for none, and its last words."""
        with contextlib.suppress(BrokenPipeError):
            self._into.close()
        self._out.close()
        _, wait = os.waitpid(self.pid, 0)
        with self.errors:
            self.errors.seek(0)
            said = self.errors.read(_WORDS).decode(errors="replace")
        return os.WTERMSIG(wait) if os.WIFSIGNALED(wait) else os.WEXITSTATUS(wait), said


_forks: list[Fork] = []  # the one that works, if any


def end_fork() -> tuple[int, str]:
    """End the fork that works, whose imports are the older ones; how it ended."""
    return _forks.pop().end() if _forks else (0, "")


def in_fork(items: list[Item], task: str, size: int) -> Generator[Item, None, Status]:
    """Stream the answers of the fork that works, or of a new one if that has had enough."""
    if _forks and (_forks[0].is_gone() or _forks[0].spent + len(items) / BATCH[task] > 1):
        end_fork()
    if not (used := bool(_forks)):
        _forks.append(Fork())
    answered = 0
    for answer in _forks[0].answers(items, task, size):
        answered += 1
        yield answer
    if answered == len(items):
        return Status(answered)
    signal, said = end_fork()
    return Status(answered, signal or 1, said, used)


if __name__ == "__main__":
    main()
