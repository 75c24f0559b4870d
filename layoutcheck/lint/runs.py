"""Cases and programs run in child processes, several at a time, and what they build traced.

Functions are called by threads of this process, which share one process of the DSL. A program's kernels take
longer to judge than to build, so programs have worker processes. What a run shows is kept by the content of
everything that it imported.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed, wait
from concurrent.futures import TimeoutError as Late
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from layoutcheck.dsl.left import continue_stopped
from layoutcheck.dsl.terminated import ENDED, Terminated, sigterm_raises, unseen
from layoutcheck.errors import InputError
from layoutcheck.lint.cache import Cache
from layoutcheck.lint.cases import CaseRun, Progress, RegisteredCase
from layoutcheck.lint.kept import configuration, imports_of, keys_of, unchanged
from layoutcheck.processors import processors
from layoutcheck.settings import Settings

if TYPE_CHECKING:
    from layoutcheck.dsl.lowered.resolve import Lowering
    from layoutcheck.sources.traced import Trace

_MOST_LOG_BYTES = 64 << 20  # that a program may leave on the disk
_LASTING = frozenset(("test", "refused", "uncompiled", "missing", "caught"))  # failures of the program itself
_NO_ARGUMENTS = "the following arguments are required"  # argparse's words
_LOOK_SECONDS = 0.5
_GRACE_SECONDS = 25.0  # between SIGTERM and the end of what still runs: 1 on an idle machine
_TAIL_BYTES = 4096
_MOST_WORDS = 200


def trace(
    cases: Sequence[RegisteredCase], settings: Settings, cache: Cache, *, workers: int = 0,
    progress: Progress | None = None,
) -> list[CaseRun]:  # fmt: skip
    """Run every case in a child process and trace what it builds; in the order of `cases`.

    Raises InputError where kernels cannot be traced at all. An interrupt ends the children first. After
    SIGTERM the runs hold what was seen until then, and a failure "ended" where that is not all.
    """
    callable_ = [case for case in cases if not case.problem]
    keys = dict(zip(callable_, keys_of(callable_, settings), strict=True))
    runs: dict[RegisteredCase, CaseRun] = {}
    for case, key in keys.items():
        if (kept := _kept(key, cache)) is not None:
            runs[case] = CaseRun(case, kept, cached=True)
    todo = [case for case in callable_ if case not in runs]
    if progress:
        progress("trace", len(runs), len(callable_))
    slots = workers or processors()

    def take(case: RegisteredCase, found: Trace, seconds: float) -> None:
        runs[case] = CaseRun(case, found, seconds=seconds)
        if _may_be_kept(case, found):
            _keep(keys[case], found, configuration(case, settings), cache)
        if progress:
            progress("trace", len(runs), len(callable_))

    with _pool(todo, settings, slots) as (submit, stop, has_begun):
        waiting: dict[Future[tuple[Trace, float]], RegisteredCase] = {}
        try:
            with sigterm_raises():
                for case in todo:
                    waiting[submit(case)] = case
                left = set(waiting)
                while left:
                    with contextlib.suppress(Late):
                        for future in as_completed(left, _LOOK_SECONDS):
                            left.discard(future)
                            take(waiting[future], *_outcome(future))
                    continue_stopped()
        except Terminated:
            stop.set()
            begun = [
                each for each in waiting if each.done() or has_begun(each)
            ]  # a cancelled one breaks pools
            ended = wait(begun, _GRACE_SECONDS).done
            for child in active_children():
                child.kill()
            outcomes = {waiting[each]: _outcome(each) for each in ended}
            for case in todo:
                if case not in runs:
                    take(case, *outcomes.get(case, (unseen(), 0.0)))
    return [runs[case] for case in cases if case in runs]


def _kept(key: str, cache: Cache) -> Trace | None:
    """What was seen under this key, unless a file that was imported then has changed."""
    from layoutcheck.sources.trace_lines import from_lines

    stored = cache.get(key)
    if not unchanged(stored, cache):
        return None
    found = cache.get(key, lambda it: from_lines(it["lines"]))
    return replace(found, imported=tuple(cache.get(stored["imported"]))) if found else None


def _may_be_kept(case: RegisteredCase, found: Trace) -> bool:
    """Whether its imports are known, and it would end the same again: other failures are the machine's."""
    lasting = _LASTING if case.command else frozenset[str]()
    return bool(found.imported) and all(one.kind in lasting for one in found.failures)


def _keep(key: str, found: Trace, configured: Sequence[str], cache: Cache) -> None:
    """Keep what was seen, with the contents of what it depends on."""
    from layoutcheck.sources.trace_lines import to_lines

    depends = imports_of([*found.imported, *configured], cache)
    cache.put(key, {"lines": list(to_lines(found)), **depends})


def _outcome(future: Future[tuple[Trace, float]]) -> tuple[Trace, float]:
    """What a worker saw. If the worker itself fails or dies, its program is not seen; the others go on."""
    from layoutcheck.sources.traced import Trace, TraceFailure

    if future.cancelled():
        return unseen(), 0.0
    error = future.exception()
    if error is None:
        return future.result()
    said = " ".join(f"{type(error).__name__}: {error}".split())
    return Trace(
        failures=(TraceFailure("broken", f"layoutcheck itself failed on this program: {said}"),)
    ), 0.0


Submit = Callable[[RegisteredCase], "Future[tuple[Trace, float]]"]
HasBegun = Callable[["Future[tuple[Trace, float]]"], bool]


@contextmanager
def _pool(
    todo: Sequence[RegisteredCase], settings: Settings, slots: int
) -> Iterator[tuple[Submit, Any, HasBegun]]:
    """What runs a case, the event that ends what runs, and what says of a case whether it has begun.

    An exception on the way out sets the event, too. A worker that has a case may still have to start, which
    takes long on a busy machine. At most `slots` processes work: a slot that no case takes any more is one
    for the judges of the others.
    """
    programs = any(case.command for case in todo)
    context = get_context("spawn")
    # Of this process, because a worker may be killed and remove nothing.
    folder = tempfile.TemporaryDirectory(prefix="layoutcheck-", ignore_cleanup_errors=True)
    workers = max(1, min(slots, len(todo)))
    stop: Any = threading.Event()
    spare: Any = threading.Semaphore(0)
    if programs:
        try:
            with _elsewhere(folder.name):  # these start a process
                stop, spare = context.Event(), context.Semaphore(slots - workers)
        except (OSError, ImportError) as error:
            what = f"processes cannot share semaphores here: {error}"
            raise InputError(what, expected="a /dev/shm that can be written") from None
    done, numbers = itertools.count(1), itertools.count()
    marks: dict[Future[tuple[Trace, float]], Path] = {}
    pool: Executor
    if programs:
        pool = ProcessPoolExecutor(
            workers, context, _begin, (settings, stop, workers, slots, spare, folder.name, str(Path.cwd()))
        )
    else:
        pool = ThreadPoolExecutor(workers)
    with folder, _lowering(settings) as lowering, pool:

        def free(_: object) -> None:
            if len(todo) - next(done) < slots:  # no case waits
                spare.release()

        def submit(case: RegisteredCase) -> Future[tuple[Trace, float]]:
            if not programs:
                return pool.submit(_run, case, settings, lowering, stop)
            mark = Path(folder.name, f"begun-{next(numbers)}")
            with _elsewhere(folder.name):
                future = pool.submit(_in_worker, case, mark)
            marks[future] = mark
            future.add_done_callback(free)
            return future

        def has_begun(future: Future[tuple[Trace, float]]) -> bool:
            return marks[future].exists() if programs else future.running()

        try:
            yield submit, stop, has_begun
        except BaseException:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _lowering(settings: Settings) -> Lowering:
    from layoutcheck.dsl.lowered.resolve import Lowering
    from layoutcheck.order import check_module
    from layoutcheck.provenance import check_products

    check = partial(check_module, seconds=settings.order_seconds)
    return Lowering(copies=settings.lowered, order=check if settings.order else None, products=check_products)


_worker: dict[str, Any] = {}  # of a worker process: what `_begin` was given


@contextmanager
def _elsewhere(empty: str) -> Iterator[None]:
    """Python that starts here finds no module of the repository, such as a `pickle.py`, before its own."""
    before = Path.cwd()
    os.chdir(empty)
    try:
        yield
    finally:
        os.chdir(before)


def _begin(
    settings: Settings, stop: Any, workers: int, slots: int, spare: Any, folder: str, cwd: str
) -> None:
    """Make this process a worker in `cwd`; its programs share the machine's processors with the others'."""
    from layoutcheck.dsl.judges import Judges
    from layoutcheck.dsl.spool import end_with_parent

    end_with_parent()
    os.chdir(cwd)
    signal.signal(signal.SIGTERM, lambda *_: _worker.update(terminated=True))  # one for the whole group
    tempfile.tempdir = folder
    lowering = _lowering(settings)
    _worker.update(lowering=lowering, settings=settings, stop=stop, spare=spare)
    _worker.update(judges=Judges(lowering, slots, spare))
    threads = max(1, processors() // workers)
    os.environ.setdefault("OMP_NUM_THREADS", str(threads))


def _in_worker(case: RegisteredCase, mark: Path) -> tuple[Trace, float]:
    mark.touch()
    return _run(case, _worker["settings"], _worker["lowering"], _worker["stop"])


def _run(case: RegisteredCase, settings: Settings, lowering: Lowering, stop: Any) -> tuple[Trace, float]:
    """The trace of a case, and the seconds that it took.

    A program whose architecture was not asked for is run again for another one if that is what it wants.
    """
    from layoutcheck.dsl.trace import Ended, Script, run_traced, trace_callable
    from layoutcheck.sources.traced import Trace, TraceFailure
    from layoutcheck.sources.wanted_arch import BUILT_FOR, other_arch, without_refusals

    if stop.is_set():
        return unseen(), 0.0
    start = time.monotonic()
    with tempfile.TemporaryFile() as log:

        def halt(*_: object) -> None:
            if stop.is_set() or "terminated" in _worker:
                raise Ended(ENDED)
            shorten(log)

        program = Script(
            str(Path(case.path).resolve()), arch=case.arch, timeout_s=settings.timeout, progress=halt,
            cwd=str(settings.root.resolve()),
            lowering=lowering if settings.lowered or settings.order else None,
        )  # fmt: skip
        if not case.command:
            return trace_callable(program, case.function), time.monotonic() - start

        def run(arch: str) -> Trace:
            log.seek(log.truncate(0))
            try:
                seen = run_traced(replace(
                    program, path=case.command[0], args=case.command[1:], file=program.path, arch=arch,
                    launch=False, network=False, timeout_s=settings.run_timeout, output=log, spread=True,
                    spare=_worker.get("spare"),
                    judges=None if program.lowering is None else _worker.get("judges"),
                ))  # fmt: skip
            except InputError as error:  # no pytest, or a program that went away
                return Trace(failures=(TraceFailure("not run", error.message),))
            return _explained(seen, log)

        found = run(case.arch)
        other = other_arch(found, case.arch) if case.free else ""
        if other and not any(one.kind == "ended" for one in found.failures):
            again = run(other)
            found = without_refusals(replace(found, skipped=()), case.arch).merged(
                replace(again, notes=(BUILT_FOR.format(other), *again.notes))
            )
    return found, time.monotonic() - start


def shorten(log: Any) -> None:
    """Take a program's output off the disk where it is long: what comes next follows a hole in the file."""
    if 512 * os.fstat(log.fileno()).st_blocks > _MOST_LOG_BYTES:
        log.truncate(0)


def _explained(found: Trace, log: Any) -> Trace:
    """A program that ended with a status: the last words of its output say why."""
    ended = [one for one in found.failures if one.kind == "exited" and " with status " in one.message]
    if not ended:
        return found
    log.seek(max(0, log.seek(0, os.SEEK_END) - _TAIL_BYTES))
    lines = [line.strip() for line in log.read().decode("utf-8", "replace").splitlines() if line.strip()]
    errors = [line for line in lines if "Error" in line or "error:" in line]
    words = (errors or lines or ["it printed nothing"])[-1][:_MOST_WORDS]
    if _NO_ARGUMENTS in words:
        missing = words.partition(_NO_ARGUMENTS)[2].strip(": ")
        words = f"it needs arguments ({missing}), which `run` in the settings can give"
    failures = tuple(
        replace(one, message=f"{one.message}: {words}") if one in ended else one for one in found.failures
    )
    return replace(found, failures=failures)
