"""`confirm_order(program)`: a program run with delays at the lines of what the order check finds.

A finding names two lines. Of a race one of them should wait for the other: sleeping there, in some warps and
blocks, turns the usual order around. The program launches its kernels, and ends with a status other than 0
where a result is wrong: a run that fails, or hangs, shows the race. Delays follow from the finding and a seed
alone, so that a run can be replayed. What needs no other order to go wrong (a wait for the wrong phase, a
missing proxy fence) shows without delays or not at all.
"""

from __future__ import annotations

import json
import os
import random
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from layoutcheck.dsl import spool
from layoutcheck.dsl.delays import VARIABLE
from layoutcheck.dsl.lowered.resolve import Lowering
from layoutcheck.dsl.session import DslUnavailable
from layoutcheck.dsl.trace import end, environment, trace_script
from layoutcheck.errors import InputError
from layoutcheck.order import check_module
from layoutcheck.progress import Progress
from layoutcheck.sources.traced import KernelFinding

USUAL_RUNS = 2  # without delays
MOST_SEEDS = 1000
_ALL = 0xFFFFFFFF
_WARPS = (_ALL, 0xFFFF0000, 0x0000FFFF, 0xAAAAAAAA, 0x55555555, 0xCCCCCCCC, 0x11111111)
_BLOCKS = (_ALL, 0xAAAAAAAA, 0x55555555)
_NANOSECONDS = (2_000, 20_000, 200_000)
_SAID = 200  # characters of what a program said last


@dataclass(frozen=True, slots=True)
class Delay:
    """Warps and blocks (as bits) that sleep before every operation of a line."""

    file: str
    line: int
    warps: int
    blocks: int
    nanoseconds: int


@dataclass(frozen=True, slots=True)
class Ran:
    """One run: its seed (None: no delays), its exit status (None: over the time limit), what it said last.

    `put` are the delays that its kernels had.
    """

    seed: int | None
    delays: tuple[Delay, ...]
    status: int | None
    seconds: float
    said: str
    put: int = 0

    @property
    def failed(self) -> bool:
        """Whether the program says that something is wrong, or hangs."""
        return self.status != 0


@dataclass(frozen=True, slots=True)
class Tried:
    """A finding, and the runs with delays at its lines."""

    finding: KernelFinding
    runs: tuple[Ran, ...] = ()

    @property
    def shown(self) -> Ran | None:
        """The first run that fails, of those whose kernels had the delays."""
        return next((run for run in self.runs if run.failed and run.put), None)


@dataclass(frozen=True, slots=True)
class Races:
    """A program's runs without delays, and with delays for each finding."""

    program: str
    machine: dict[str, Any]
    usual: tuple[Ran, ...]
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
    timeout_s: float = 60.0,
    workers: int = 4,
    order_seconds: float = 20.0,
    launch: bool = True,
    progress: Progress | None = None,
) -> Races:
    """Trace `program` (a script with its arguments), check its order, and run it with delays at each finding.

    Seeds are tried until one shows the finding, `workers` at a time. `launch` False traces it without
    launching its kernels. Raises InputError.
    """
    command = _command(program)
    check = partial(check_module, seconds=order_seconds)
    try:
        with Lowering(copies=False, order=check) as lowering:
            trace = trace_script(
                command[0], command[1:], launch=launch, timeout_s=timeout_s, output=subprocess.DEVNULL,
                lowering=lowering,
            )  # fmt: skip
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
    run = partial(run_delayed, command, timeout_s=timeout_s)
    tried = []
    with ThreadPoolExecutor(workers) as pool:
        usual = tuple(pool.map(run, [()] * USUAL_RUNS)) if findings else ()
        for number, finding in enumerate(findings):
            runs: list[Ran] = []
            for at in range(0, len(seeds), workers):
                made = [(seed, plan(finding, seed)) for seed in seeds[at : at + workers]]
                runs += [
                    replace(ran, seed=seed)
                    for (seed, _), ran in zip(made, pool.map(run, [d for _, d in made]), strict=True)
                ]
                if progress:
                    progress("run", number * len(seeds) + len(runs), len(findings) * len(seeds))
                if any(one.failed and one.put for one in runs):
                    break
            if runs and not any(one.put for one in runs):
                late = all(one.status is None for one in runs)
                why = f": no kernel was compiled within {timeout_s:g} s" if late else ""
                raise InputError(
                    f"no delay came into the PTX of any kernel{why}",
                    expected="kernels that are compiled in the run, and not loaded from a cache",
                )
            tried.append(Tried(finding, tuple(runs)))
    return Races(program, machine, usual, tuple(tried), len(trace.kernels))


def _command(program: str) -> list[str]:
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
        places = tuple((one.where.file, one.where.line) for one in finding.places[:2])
        if finding.severity == "wrong" and any(file for file, _ in places):
            found.setdefault((finding.code, places), finding)
    return list(found.values())


def run_delayed(command: Sequence[str], delays: Sequence[Delay], *, timeout_s: float) -> Ran:
    """Run a program with delays in its kernels; its seed is None."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="layoutcheck-", ignore_cleanup_errors=True) as folder:
        env = environment(folder, launch=True, arch=None, network=True)
        env[VARIABLE] = json.dumps([asdict(one) for one in delays])
        with (Path(folder) / "said.txt").open("w+b") as said:
            process = subprocess.Popen(
                [sys.executable, *command], stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT,
                env=env, start_new_session=True,
            )  # fmt: skip
            try:
                process.wait(timeout_s)
                status: int | None = process.returncode
            except subprocess.TimeoutExpired:
                status = None
            finally:
                end(process)
            said.seek(max(0, said.seek(0, os.SEEK_END) - 4000))
            lines = said.read().decode(errors="replace").strip().splitlines()
        put = sum(event["count"] for event in spool.read(Path(folder)) if event["kind"] == "delayed")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return Ran(None, tuple(delays), status, round(time.monotonic() - start, 2), last[:_SAID], put)
