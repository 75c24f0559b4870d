"""`run_traced` and `trace_callable`: run Python with every build of the DSL observed, in a child process.

The child is plain `python SCRIPT ARGS` with a `sitecustomize` of ours first on its path (`dsl/site`). Its
processes leave what they see in a folder (`dsl/spool.py`); this one reads it while they run. So a script that
raises, hangs or is killed by a dying compiler costs its own rest and nothing that was seen before.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import IO, Any

from layoutcheck.digits import many
from layoutcheck.dsl import spool
from layoutcheck.dsl.collect import Collector, Observe
from layoutcheck.dsl.helpers import Helpers
from layoutcheck.dsl.judges import Judges, Spare
from layoutcheck.dsl.left import Unwatched, end_left, wait_for_left
from layoutcheck.dsl.lowered.resolve import Lowering
from layoutcheck.dsl.shares import FOLDER as TAKEN
from layoutcheck.dsl.shares import OTHERS, PRESENT
from layoutcheck.dsl.terminated import ENDED, Terminated
from layoutcheck.dsl.unbuilt import sources
from layoutcheck.errors import InputError
from layoutcheck.places import PROJECT
from layoutcheck.sources.traced import Frame, Trace, TraceFailure

# Called now and then with the numbers of kernels and copies seen so far; may raise Ended.
Progress = Callable[[int, int], None]


class Ended(Exception):
    """Raised by a `Progress` to end a run: what was seen until then is returned, with these words."""


_POLL_SECONDS, _LOOK_SECONDS = 0.05, 0.25
_SHARE = 0.25  # of its time that judging a script gets at the least
_GRACE_SECONDS = 5.0  # between asking a script to end and ending it
_DRIVER_SECONDS = 20.0  # that a killed process may take to leave the GPU's driver
_TESTS_FAILED = (1, 2)  # pytest's statuses: tests failed, or could not be collected
_NO_TESTS = 5  # pytest's status where it collected none
_SITE = Path(__file__).parent / "site"
_TARGETS = ("CUTE_DSL_ARCH", "CUTE_EXPERIMENTAL_DSL_ARCH")  # each of the DSL's two compilers reads its own
CACHES = {
    "QUACK_CACHE_ENABLED": "0",
    "FLASH_ATTENTION_CUTE_DSL_CACHE_ENABLED": "0",
    "CUTE_DSL_DISABLE_FILE_CACHING": "1",
}
_CHECKS_AT_CALL = ("CUTE_DSL_VERIFY_TRACE", "CUTE_DSL_DEBUG")  # raise before there is a module to see


@dataclass(frozen=True)
class Script:
    """What is run, and how: a file, or "-m" with a module before its arguments.

    `launch` False builds no further than the trace, launches nothing, and where there is no GPU makes torch
    and the DSL believe in one of `arch`, what the DSL is told to build for. `timeout_s` ends the run, and
    after at most a quarter more the judging: what was found until then is returned; `progress` may end it
    too, as `Ended` says. `output` takes what the script writes; None leaves it its own. `observe` gets the
    text and the copies of every module, while the script runs. `lowering` gives the addresses of copies whose
    layouts cannot be followed; `judges` do that in processes of their own. `network` False leaves the run
    none. With `spread` pytest runs different tests first (`spread.py`), and more processes of it take tests,
    each on one of the `spare` processors, where that is worth a start, or where tests of `least` seconds are
    left (`helpers.py`). `file` is the program's own, where `args` name a module: it says which project below
    `cwd` the program is of.
    """

    path: str
    args: Sequence[str] = ()
    launch: bool = True
    arch: str | None = None
    timeout_s: float | None = None
    progress: Progress | None = None
    output: IO[Any] | int | None = subprocess.DEVNULL
    cwd: str | None = None
    observe: Observe | None = None
    lowering: Lowering | None = None
    judges: Judges | None = None
    network: bool = True
    spread: bool = False
    spare: Spare | None = None
    least: float | None = None
    file: str | None = None

    @property
    def target(self) -> str:
        """The architecture that a run without launches builds for."""
        return self.arch or os.environ.get("CUTE_DSL_ARCH") or "sm_90a"

    def below(self) -> list[str]:
        """The folder, below `cwd`, of the project that the program is of, if there is one."""
        return own_project([self.path, *self.args] if self.file is None else [self.file], self.cwd)


def trace_script(path: str, args: Sequence[str] = (), **options: Any) -> Trace:
    """`run_traced` of a `Script` with these options."""
    return run_traced(Script(path, args, **options))


def run_traced(script: Script) -> Trace:
    """Run `python path args` (or `python -m args`) and return every copy of every kernel built.

    Whatever becomes of the script is in `failures`; raises InputError only where there is none to run.
    """
    if script.path == "-m":
        check_module(script.args[0] if script.args else "", script.cwd, script.launch, script.below())
    else:
        check_script(script.path, script.cwd, expected="a Python file, or '-m' and a module")
    return _run([sys.executable, script.path, *script.args], script)


def own_project(words: Sequence[str], cwd: str | None = None) -> list[str]:
    """The folder, below `cwd`, of the project that a Python file among these words is of, if there is one."""
    root = Path(cwd or ".").resolve()
    files = ((root / word).resolve() for word in words if word.endswith(".py") and (root / word).is_file())
    folders = [each for file in files for each in file.parents if root in each.parents]
    return [str(each) for each in folders if any((each / name).is_file() for name in PROJECT)][:1]


def check_script(path: str, cwd: str | None = None, *, expected: str = "a Python file") -> None:
    """Raise InputError if there is no file of this name, in the folder `cwd`, that Python could run."""
    script = Path(cwd or ".", path)
    if script.is_file():
        return
    if script.is_dir():
        raise InputError(f"'{path[:200]}' is a folder", expected=expected)
    if script.exists():
        raise InputError(f"'{path[:200]}' is not a regular file", expected=expected)
    if path.startswith("-"):
        raise InputError(f"unknown option '{path[:200]}'", expected="an option that -h lists, or a script")
    raise InputError(f"no script '{path[:200]}'", expected=expected)


def check_module(name: str, cwd: str | None = None, launch: bool = True, below: Sequence[str] = ()) -> None:
    """Raise InputError if `python -m`, in the folder `cwd`, would not find the module; imports nothing.

    Without launches it would also find what stands in the sources of the folder and of the projects `below`.
    """
    expected = "a module that `python -m` runs"
    with contextlib.suppress(KeyError):  # a namespace package within one: only an import knows its folders
        root = Path(cwd or ".").resolve()
        own = [place for each in below for place in (each, *sources(Path(each)))]
        full, places = "", [str(root), *sys.path, *(() if launch else (*sources(root), *own))]
        for part in name.split("."):
            full = f"{full}.{part}" if full else part
            spec = _spec(full, places) if part and places else None
            if spec is None:
                raise InputError(f"no module '{name[:200]}'", expected=expected)
            places = list(spec.submodule_search_locations or ())
        if places and _spec(f"{full}.__main__", places) is None:
            raise InputError(f"'{name[:200]}' is a package without a module __main__", expected=expected)


def _spec(name: str, places: list[str]) -> ModuleSpec | None:
    """What the finders of this Python make of a module's name in these folders."""
    found = (finder.find_spec(name, places) for finder in sys.meta_path)
    return next((spec for spec in found if spec is not None), None)


def trace_callable(file: Script, name: str) -> Trace:
    """Import the file, call its function `name` and trace what is built; no launches, no network.

    What the function returns is compiled where it is a pair `(kernel, arguments)`: a `@cute.jit` function and
    the tuple of its arguments. The rest is as with `run_traced`.
    """
    if not Path(file.cwd or ".", file.path).is_file():
        raise InputError(f"no file '{file.path[:200]}'", expected="a Python file")
    command = [sys.executable, "-m", "layoutcheck.dsl.case_child", file.path, name]
    return _run(command, replace(file, launch=False, network=False))


def environment(folder: str, script: Script) -> dict[str, str]:
    """The environment of a traced process: our `sitecustomize` first, and where it leaves what it sees.

    The folder that we are installed in is not on the path: it would stand before the checkout's own.
    """
    env = {key: value for key, value in os.environ.items() if key not in _CHECKS_AT_CALL}
    paths = [str(_SITE), *filter(None, [os.environ.get("PYTHONPATH")])]
    env["PYTHONPATH"] = os.pathsep.join(paths)
    env[spool.FOLDER] = folder
    options = {key: getattr(script, key) for key in ("launch", "arch", "network", "spread")}
    env[spool.OPTIONS] = json.dumps(
        {**options, "below": script.below(), "parent": os.getpid(), "begun": time.time()}
    )
    env.pop("LAYOUTCHECK", None)
    if script.arch is not None:
        env.update(dict.fromkeys(_TARGETS, script.arch))
    if not script.launch:  # what is not compiled must not be kept, nor taken from where it was kept
        env.update(CACHES)
        env["CUTE_DSL_ARCH"] = script.target
        # Not that of a GPU of this machine.
        env.setdefault("CUTE_EXPERIMENTAL_DSL_ARCH", env["CUTE_DSL_ARCH"])
        env.setdefault("TORCHDYNAMO_DISABLE", "1")  # torch.compile generates code for a GPU that is not there
    return env


def _run(command: list[str], script: Script) -> Trace:
    if not hasattr(os, "fork"):
        raise InputError("kernels are traced on Linux only")
    timeout_s = script.timeout_s
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    with tempfile.TemporaryDirectory(prefix="layoutcheck-", ignore_cleanup_errors=True) as folder:
        env = environment(folder, script)
        suite, taken = command[1:3] == ["-m", "pytest"], Path(folder) / TAKEN
        if suite and script.spread:
            (taken / PRESENT).mkdir(parents=True)
            env.setdefault("PYTHONHASHSEED", "0")  # sets have one order in all of its processes

        def start(**more: str) -> subprocess.Popen[Any]:
            return _process(command, script.output, {**env, **more}, script.cwd)

        process = start()
        helpers = Helpers(process, start, script.spare, taken, script.least)
        collector = Collector(
            process.pid, script.observe, script.lowering, compiled=script.launch, judges=script.judges
        )
        timed_out, left = False, True

        def shown() -> None:
            if script.progress is not None:
                script.progress(len(collector.kernels), len(collector.copies))

        try:
            try:
                timed_out = _late(process, helpers, collector, Path(folder), deadline, shown)
                if not timed_out and (left := wait_for_left(helpers.sessions, folder, deadline)):
                    collector.outcomes.leave_running(end_left(helpers.sessions, folder))
            finally:
                end(process, *helpers.processes)
                helpers.stop()
                if left:
                    end_left(helpers.sessions, folder)
            collector.take(spool.read(Path(folder)))
            shown()
            if deadline is not None and timeout_s is not None:
                deadline = max(deadline, time.monotonic() + _SHARE * timeout_s)
            collector.resolve(shown, deadline)
        except (Ended, Terminated) as error:
            collector.take(spool.read(Path(folder)))  # what came while others were taken
            collector.stop()
            return collector.trace(TraceFailure("ended", str(error) or ENDED))
        finally:
            collector.stop()
        limit = timeout_s if timed_out else None
        ran = (one for one in (process, *helpers.processes) if collector.sharing.get(one.pid) != OTHERS)
        endings = (_ending(one, limit, collector, folder, suite) for one in ran)
        return collector.trace(next(filter(None, endings), None) or _left(helpers, folder))


def _left(helpers: Helpers, folder: str) -> TraceFailure | None:
    """What a run whose own processes ended well has left: a crash of another one, or tests."""
    if (at := spool.crashed(folder)) is not None:
        said = "a process that it started died of a signal"
        return TraceFailure("killed", said, Frame(**at) if at["file"] else None)
    if helpers.processes and helpers.left:
        return TraceFailure("exited", f"not run: {many(helpers.left, 'test')}")
    return None


def _late(
    process: subprocess.Popen[Any], helpers: Helpers, collector: Collector, folder: Path,
    deadline: float | None, shown: Callable[[], None],
) -> bool:  # fmt: skip
    """Take what a program's processes leave while any of them runs; whether time was up before they ended."""
    look, unwatched = 0.0, Unwatched(str(folder))
    while deadline is None or time.monotonic() <= deadline:
        running = process.poll() is None or helpers.running
        busy = False
        for event in spool.read(folder):
            busy = collector.take([event])
            shown()  # between any two: many that wait may take long on a busy machine
        collector.look_ahead(deadline)
        begun = helpers.step(collector.sharing, collector.sessions)
        collector.outcomes.mains.update(begun)
        if not (running or begun):
            return False
        shown()
        if not busy and process.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_POLL_SECONDS)
        elif not busy:
            time.sleep(_POLL_SECONDS)
        if time.monotonic() > look:
            for command in unwatched.look(helpers.sessions):
                collector.outcomes.leave_unwatched(command)
            look = time.monotonic() + _LOOK_SECONDS
    return True


def _process(
    command: list[str], output: IO[Any] | int | None, env: dict[str, str], cwd: str | None
) -> subprocess.Popen[Any]:
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=None if output is None else subprocess.STDOUT,
        env=env,
        cwd=cwd,
        start_new_session=True,  # so that all its processes can be ended together
    )


def end(*processes: subprocess.Popen[Any]) -> bool:
    """End scripts and whatever they started that is left; whether all are gone.

    A process whose kernel never ends may stay in the GPU's driver, where no signal reaches it.
    """
    for process in processes:
        _signal(process, signal.SIGTERM if process.poll() is None else signal.SIGKILL)
    try:
        _wait(processes, _GRACE_SECONDS)
    finally:
        for process in processes:
            _signal(process, signal.SIGKILL)
    return _wait(processes, _DRIVER_SECONDS)


def _signal(process: subprocess.Popen[Any], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _wait(processes: Sequence[subprocess.Popen[Any]], seconds: float) -> bool:
    """Whether all of them end within so many seconds, which they have together."""
    deadline = time.monotonic() + seconds
    for process in processes:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(max(0.0, deadline - time.monotonic()))
    return all(process.poll() is not None for process in processes)


def _ending(
    process: subprocess.Popen[Any], timeout_s: float | None, collector: Collector, folder: str, suite: bool
) -> TraceFailure | None:
    """What the way it ended says, beyond what the process itself said; `timeout_s`, if that ended it."""
    status, session = process.returncode, collector.sessions.get(process.pid)
    if timeout_s is not None:
        return TraceFailure("timeout", f"the script ran for more than {timeout_s:g} s and was ended")
    if status < 0:
        name = signal.Signals(-status).name
        last = f" after kernel {collector.last}" if collector.last else " before any kernel was built"
        at = spool.died_at(folder, process.pid)
        return TraceFailure(
            "killed", f"the process died of {name}{last}", None if at is None else Frame(**at)
        )
    if session is False:
        return TraceFailure("exited", f"a test ended pytest with status {status}: later ones did not run")
    if collector.outcomes.left:
        return TraceFailure(
            "exited", f"os._exit ended the script with status {status} while it built a kernel"
        )
    if status == 0 and suite and session is None:
        return TraceFailure("exited", "pytest ended with status 0 before its tests")
    known = (status in _TESTS_FAILED and collector.tests_failed) or (
        status == _NO_TESTS and collector.all_skipped
    )
    if status == _NO_TESTS and suite and not known:
        left = many(len(collector.outcomes.skipped), "test")
        return TraceFailure("exited", f"pytest ran no test: {left} skipped or deselected")
    if status and not collector.outcomes.raised and not known:
        return TraceFailure("exited", f"the script ended with status {status}")
    return None
