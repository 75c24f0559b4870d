"""`confirm_order(program)`: a program run with delays at the lines of what the order check finds.

A finding names two lines. Of a race one of them should wait for the other: sleeping there, in some warps and
blocks, turns the usual order around. The program launches its kernels, and ends with a status other than 0
where a result is wrong: a run that fails, or hangs, shows the race. Delays follow from the finding and a seed
alone, so that a run can be replayed. What needs no other order to go wrong (a wait for the wrong phase, a
missing proxy fence) shows without delays or not at all.

One process runs a program with all seeds of a finding: what it imports is loaded, and each kernel compiled,
once (`dsl/repeated.py`). Its first run has the code of the delays and no time to sleep: if that fails, what
comes after proves nothing. A run that does not end is ended after a limit: `timeout_s` for the first run of a
process, which compiles; for the others five times the longest so far, and 10 s at least.
"""

from __future__ import annotations

import json
import os
import random
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from layoutcheck.dsl import spool
from layoutcheck.dsl.delays import REST, Place, Row
from layoutcheck.dsl.lowered.resolve import Lowering
from layoutcheck.dsl.session import DslUnavailable
from layoutcheck.dsl.trace import CACHES, end, trace_script
from layoutcheck.errors import InputError
from layoutcheck.order import check_module
from layoutcheck.progress import Progress
from layoutcheck.sources.traced import KernelFinding

STAGES = ("trace", "run")  # of which the second counts findings
USUAL_RUNS = 2  # without delays
MOST_SEEDS = 1000
TIMEOUT_S = 120.0  # of the first run of a process
_LEAST_S, _TIMES = 10.0, 5.0  # of the others: seconds, and times the longest so far
_POLL_S = 0.02
_ALL = 0xFFFFFFFF
_WARPS = (_ALL, 0xFFFF0000, 0x0000FFFF, 0xAAAAAAAA, 0x55555555, 0xCCCCCCCC, 0x11111111)
_BLOCKS = (_ALL, 0xAAAAAAAA, 0x55555555)
_NANOSECONDS = (2_000, 20_000, 200_000)
_SAID = 200  # characters of what a program said last
_STUCK = "a run hangs and its process cannot be ended: nothing more was run on this GPU"


@dataclass(frozen=True, slots=True)
class Delay:
    """Warps and blocks (as bits) that sleep before every operation of a line."""

    file: str
    line: int
    warps: int
    blocks: int
    nanoseconds: int


@dataclass(frozen=True, slots=True)
class RaceRun:
    """One run: its seed (None: no delays), its exit status (None: over its time limit), what it said last.

    `put` are the operations of its kernels before which a delay stands. `stuck`: its process could not be
    ended, and what runs on that GPU next would wait for it.
    """

    seed: int | None
    delays: tuple[Delay, ...]
    status: int | None
    seconds: float
    said: str
    put: int = 0
    stuck: bool = False

    @property
    def failed(self) -> bool:
        """Whether the program says that something is wrong, or hangs."""
        return self.status != 0


@dataclass(frozen=True, slots=True)
class Tried:
    """A finding, and the runs with delays at its lines; `problem` says why there are none, else ""."""

    finding: KernelFinding
    runs: tuple[RaceRun, ...] = ()
    problem: str = ""

    @property
    def shown(self) -> RaceRun | None:
        """The first run that fails, of those whose kernels had the delays."""
        return next((run for run in self.runs if run.failed and run.put), None)


@dataclass(frozen=True, slots=True)
class Races:
    """A program's runs without delays, and with delays for each finding."""

    program: str
    machine: dict[str, Any]
    usual: tuple[RaceRun, ...]
    tried: tuple[Tried, ...]
    kernels: int = 0

    @property
    def status(self) -> int:
        """The exit status: 1 where a race shows, 0 where none does."""
        return int(any(run.failed for run in self.usual) or any(one.shown for one in self.tried))


def plan(finding: KernelFinding, seed: int) -> tuple[Delay, ...]:
    """The delays of a seed: at the first line, at the second or at both; in which warps and blocks."""
    places = [one.where for one in finding.places[:2] if one.where.file]
    chance = random.Random(f"{seed}")
    chosen = places if len(places) < 2 or seed % 3 == 2 else [places[seed % 3]]
    made = {
        (one.file, one.line): Delay(
            one.file, one.line, chance.choice(_WARPS), chance.choice(_BLOCKS), chance.choice(_NANOSECONDS)
        )
        for one in chosen
    }
    return tuple(made.values())


def confirm_order(
    program: str,
    machine: dict[str, Any],
    *,
    seeds: Sequence[int],
    timeout_s: float = TIMEOUT_S,
    workers: int = 4,
    order_seconds: float = 20.0,
    launch: bool = True,
    progress: Progress | None = None,
) -> Races:
    """Trace `program` (a script with its arguments), check its order, and run it with delays at each finding.

    Seeds are tried until one shows the finding, `workers` findings at a time. `launch` False traces it
    without launching its kernels. `progress` hears of each of STAGES. Raises InputError.
    """
    tell = progress or (lambda *_: None)
    command = command_of(program)
    tell(STAGES[0], 0, 1)
    check = partial(check_module, seconds=order_seconds)
    try:
        with Lowering(copies=False, order=check) as lowering:
            trace = trace_script(
                command[0], command[1:], launch=launch, timeout_s=timeout_s, lowering=lowering
            )
    except DslUnavailable as error:
        raise InputError(f"nothing can be confirmed: {error}") from None
    if not trace.kernels:
        why = next((one.message for one in trace.failures), "") or next(iter(trace.notes), "")
        raise InputError(
            f"'{program[:200]}' compiled no kernel{': ' * bool(why) + why[:_SAID]}",
            expected="a program that compiles and launches kernels, and fails where a result is wrong",
        )
    if all(order.problem for order in trace.orders):
        raise InputError(f"the order was not checked: {trace.orders[0].problem}")
    findings = _wrong(finding for order in trace.orders for finding in order.findings)
    tell(STAGES[0], 1, 1)
    tell(STAGES[1], 0, len(findings))
    usual = run_delayed(command, [()] * USUAL_RUNS, timeout_s=timeout_s) if findings else ()
    if any(ran.stuck for ran in usual):
        tried = [Tried(one, problem=_STUCK) for one in findings]
    else:
        stop = threading.Event()
        attempt = partial(_try, command, seeds=seeds, timeout_s=timeout_s, stop=stop)
        tried = _each(attempt, findings, workers, stop, partial(tell, STAGES[1]))
    return Races(program, machine, usual, tuple(tried), len(trace.kernels))


def _each(
    attempt: Callable[[KernelFinding], Tried],
    findings: Sequence[KernelFinding],
    workers: int,
    stop: threading.Event,
    tell: Callable[[int, int], None],
) -> list[Tried]:
    """What `attempt` gives for each finding, `workers` at a time; after an interrupt (`stop`) none begins."""
    tried: list[Tried] = []
    with ThreadPoolExecutor(workers) as pool:
        try:
            for one in pool.map(attempt, findings):
                tried.append(one)
                tell(len(tried), len(findings))
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    return tried


def _try(
    command: Sequence[str],
    finding: KernelFinding,
    *,
    seeds: Sequence[int],
    timeout_s: float,
    stop: threading.Event,
) -> Tried:
    """A finding's runs: one with delays of no time, then seed after seed until one shows it."""
    plans = [plan(finding, seed) for seed in seeds]
    at_rest = tuple({(d.file, d.line): replace(d, nanoseconds=0) for p in plans for d in p}.values())
    rest, *runs = run_delayed(command, [at_rest, *plans], timeout_s=timeout_s, stop=stop)
    if rest.stuck:
        return Tried(finding, problem=_STUCK)
    lines = ", ".join(f"{Path(d.file).name}:{d.line}" for d in at_rest)
    if rest.put == 0:
        late = f": nothing was compiled within {timeout_s:g} s" if rest.status is None else ""
        what = f"no delay could be put before {lines}{late}"
        if rest.status is not None and rest.failed:
            what += f"; the program fails: {rest.said}"
        return Tried(finding, problem=what)
    if rest.failed:
        what = "hangs" if rest.status is None else f"fails ({rest.said or f'status {rest.status}'})"
        return Tried(finding, problem=f"the program {what} before any delay sleeps: no delay proves anything")
    return Tried(finding, tuple(replace(ran, seed=seed) for seed, ran in zip(seeds, runs, strict=False)))


def command_of(program: str) -> list[str]:
    """The words of a program and its arguments. Raises InputError if there is no such program."""
    try:
        command = shlex.split(program)
    except ValueError as error:
        raise InputError(f"'{program[:200]}' cannot be split into words: {error}") from None
    if not command or not Path(command[0]).is_file():
        raise InputError(
            f"no program '{program[:200]}'", expected="a Python file, with its arguments in the same word"
        )
    return command


def _wrong(findings: Iterable[KernelFinding]) -> list[KernelFinding]:
    """What is more than a note, once for each pair of lines that can be named."""
    found: dict[Any, KernelFinding] = {}
    for finding in findings:
        places = finding.lines
        if finding.severity == "wrong" and any(file for file, _ in places):
            found.setdefault((finding.code, places), finding)
    return list(found.values())


def run_delayed(
    command: Sequence[str],
    plans: Sequence[Sequence[Delay]],
    *,
    timeout_s: float,
    stop: threading.Event | None = None,
) -> tuple[RaceRun, ...]:
    """Run a program in one process with each of `plans` in turn; the last one is the first that fails.

    `stop` ends the run that is under way, as its time limit does.
    """
    places = list(dict.fromkeys((one.file, one.line) for delays in plans for one in delays))
    with tempfile.TemporaryDirectory(prefix="layoutcheck-", ignore_cleanup_errors=True) as folder:
        asked = {"places": places, "runs": [_rows(delays, places) for delays in plans]}
        (Path(folder) / "asked").write_text(json.dumps(asked))
        env = {**os.environ, **CACHES}
        env.pop("LAYOUTCHECK", None)
        with (Path(folder) / "said.txt").open("w+b") as said:
            process = subprocess.Popen(
                [sys.executable, "-m", "layoutcheck.dsl.repeated", folder, *command],
                stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT,
                env=env, start_new_session=True,
            )  # fmt: skip
            watched, gone = _Watched(Path(folder), plans, timeout_s), True
            try:
                while not (watched.late() or (stop is not None and stop.is_set())):
                    over = process.poll() is not None
                    watched.take()
                    if over:
                        break
                    time.sleep(_POLL_S)
            finally:
                gone = end(process)
            said.seek(0)
            *runs, last = watched.ran(process.returncode, said.read())
            return (*runs, last if gone else replace(last, stuck=True))


def _rows(delays: Sequence[Delay], places: Sequence[Place]) -> list[Row]:
    rows = {(one.file, one.line): (one.warps, one.blocks, one.nanoseconds) for one in delays}
    return [rows.get(place, REST) for place in places]


class _Watched:
    """What the process of several runs has left so far."""

    def __init__(self, folder: Path, plans: Sequence[Sequence[Delay]], timeout_s: float) -> None:
        self.folder, self.plans, self.timeout_s = folder, plans, timeout_s
        self.places = list(dict.fromkeys((one.file, one.line) for delays in plans for one in delays))
        self.counts: dict[str, dict[str, int]] = {}
        self.over: list[dict[str, Any]] = []
        self.begun_at = 0  # byte of the output
        self.since, self.longest = time.monotonic(), 0.0

    def take(self) -> None:
        """Read what has come."""
        for event in spool.read(self.folder):
            if event["kind"] == "delayed":
                self.counts[event["kernel"]] = event["counts"]
            elif event["kind"] == "begins":
                self.since, self.begun_at = time.monotonic(), event["at"]
            elif event["kind"] == "ran":
                self.over.append({**event, "from": self.begun_at})
                self.since, self.longest = time.monotonic(), max(self.longest, event["seconds"])

    def late(self) -> bool:
        """Whether the run that is under way is over its limit."""
        limit = max(_LEAST_S, _TIMES * self.longest) if self.over else self.timeout_s
        return time.monotonic() - self.since > min(limit, self.timeout_s)

    def ran(self, status: int | None, said: bytes) -> tuple[RaceRun, ...]:
        """The runs, and that in which the process was ended or died."""
        self.take()
        found = [
            RaceRun(None, tuple(self.plans[one["run"]]), one["status"], one["seconds"],
                _last(one["said"] or said[one["from"] : one["at"]].decode(errors="replace")),
                self._put(self.plans[one["run"]]))
            for one in self.over
        ]  # fmt: skip
        if len(found) < len(self.plans) and not (found and found[-1].failed):
            delays, seconds = self.plans[len(found)], round(time.monotonic() - self.since, 2)
            hangs = status is None or status == -signal.SIGTERM or status == -signal.SIGKILL
            text = _last(said[self.begun_at :].decode(errors="replace"))
            found.append(RaceRun(None, tuple(delays), None if hangs else status or 1, seconds, text,
                             self._put(delays)))  # fmt: skip
        return tuple(found)

    def _put(self, delays: Sequence[Delay]) -> int:
        numbers = {str(self.places.index((one.file, one.line))) for one in delays}
        return sum(n for counts in self.counts.values() for i, n in counts.items() if i in numbers)


def _last(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")[:_SAID]
