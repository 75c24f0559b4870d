"""`confirm(copies)`: what the verdict says, what the compiler says, and what the machine did, side by side.

On a GPU every copy runs through the compiler's own instructions and its destination is compared bit for bit,
once with what `execution` predicts and once with what the layouts ask for. Without one the same instructions
are interpreted on byte-accurate memory (`simulate.py`), and the result says so.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import Empty, Queue
from typing import Any

from layoutcheck.check import check
from layoutcheck.copies.copy import Copy
from layoutcheck.copies.opaque import OtherOperand
from layoutcheck.dsl.lower import Lowered, lower
from layoutcheck.dsl.session import Session
from layoutcheck.errors import InputError
from layoutcheck.gpu import tma
from layoutcheck.gpu.completion import STALLED, UNSETTLED, completion
from layoutcheck.gpu.driver import DeviceUnavailable
from layoutcheck.gpu.outcome import Outcome, Task
from layoutcheck.gpu.simulate import simulate
from layoutcheck.gpu.worker import read, write
from layoutcheck.gpu.wrapper import UnexpectedPtx, wrap
from layoutcheck.machine.arch import has_atom, parse_arch

# Wrong although every byte arrives where it was asked to: bits in a tensor of another type.
BY_TYPE = frozenset({"LC208"})

LIMIT_SECONDS = 20.0  # a kernel that has not come back by then never will
BATCH = 32  # copies compiled between two reports of progress

Progress = Callable[
    [str, int, int], None
]  # what is being done ("compile" or "run"), copies done, of how many


@dataclass(frozen=True, slots=True)
class Confirmation:
    """One copy's three answers.

    `verdict` is ours; `compiler` "accepted" or what it said; `ran` "gpu", "simulator" or "nothing" with the
    reason in `note`. `expected_fault` and `fault` name faults ("" for none). `as_predicted`, `as_asked`,
    `guard_untouched` are None where nothing ran to its end.
    """

    name: str
    verdict: str
    codes: tuple[str, ...]
    compiler: str
    ran: str
    note: str = ""
    expected_fault: str = ""
    fault: str = ""
    as_predicted: bool | None = None
    as_asked: bool | None = None
    guard_untouched: bool | None = None
    first: dict[str, Any] = field(default_factory=dict)

    @property
    def agrees(self) -> bool | None:
        """Whether model and machine tell the same story; None where nothing ran.

        The machine does what `execution` predicts, a `legal` or `slow` copy does what the layouts ask, and a
        `wrong` one does not (unless it is wrong by its types alone: `BY_TYPE`).
        """
        if self.ran not in ("gpu", "simulator"):
            return None
        if self.expected_fault == UNSETTLED:
            return self.verdict == "wrong" and self.fault in ("", STALLED)
        if bool(self.fault) != bool(self.expected_fault):
            return False
        if self.as_predicted is False or (not self.fault and not self.as_predicted):
            return False
        right = not self.fault and bool(self.as_asked) and bool(self.guard_untouched)
        if self.verdict in ("legal", "slow"):
            return right
        if self.verdict == "wrong" and not BY_TYPE & set(self.codes):
            return not right
        return True

    @property
    def compiler_agrees(self) -> bool | None:
        """Whether the compiler refuses what we call `rejected` and nothing else; None if we do not know."""
        if self.verdict == "unknown":
            return None
        return (self.verdict == "rejected") == (self.compiler != "accepted")

    @property
    def disagrees(self) -> bool:
        """Whether the compiler or the machine told another story than the model."""
        return self.agrees is False or self.compiler_agrees is False

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "name": self.name,
            "verdict": self.verdict,
            "codes": list(self.codes),
            "compiler": self.compiler,
            "ran": self.ran,
            "note": self.note,
            "expected_fault": self.expected_fault,
            "fault": self.fault,
            "as_predicted": self.as_predicted,
            "as_asked": self.as_asked,
            "guard_untouched": self.guard_untouched,
            "agrees": self.agrees,
            "compiler_agrees": self.compiler_agrees,
            "first": self.first,
        }


@dataclass(frozen=True, slots=True)
class Prepared:
    """A named copy with its verdict and, where it can run, its task, compiled for `arch`."""

    name: str
    copy: Copy
    verdict: str
    codes: tuple[str, ...]
    compiler: str
    task: Task | None
    note: str = ""
    arch: str = "sm_90a"


def no_gpu() -> str:
    """Why no GPU can be used here; empty where one can."""
    return str(machine_here().get("why", ""))


def machine_here() -> dict[str, Any]:
    """The GPU to run on: `name`, `arch` and `driver`; or the simulator, and `why` there is no GPU."""
    try:
        with Process() as probe:
            return probe.machine
    except DeviceUnavailable as error:
        return {"name": "simulator", "why": str(error)}


def prepare(
    named: Sequence[tuple[str, Copy]],
    machine: str | None = None,
    *,
    session: Session | None = None,
    progress: Progress | None = None,
) -> list[Prepared]:
    """Verdict, compiler's answer and task of every copy. Raises DslUnavailable without a usable DSL.

    `machine` is the architecture of the GPU that will run them; None compiles each copy for its own.
    """
    if session is None:
        with Session() as session:
            return prepare(named, machine, session=session, progress=progress)
    prepared: list[Prepared] = []
    for at in range(0, len(named), BATCH):
        batch = named[at : at + BATCH]
        targets = [target(copy, machine) for _, copy in batch]
        plain = [i for i, (_, copy) in enumerate(batch) if not tma.runs_here(copy)]
        lowered = dict(
            zip(
                plain,
                lower([batch[i][1] for i in plain], [targets[i] for i in plain], session=session),
                strict=True,
            )
        )
        prepared += [
            _prepared(name, copy, lowered[i], arch)
            if i in lowered
            else _prepared_tma(name, copy, arch, session)
            for i, ((name, copy), arch) in enumerate(zip(batch, targets, strict=True))
        ]
        if progress:
            progress("compile", len(prepared), len(named))
    return prepared


def target(copy: Copy, machine: str | None) -> str:
    """What the copy is compiled for: the machine's architecture where that has its instruction, else its own.

    The architecture-specific target (suffix a) of the machine is taken from sm_90 on, as the DSL does.
    """
    own = parse_arch(copy.arch)
    if machine is None:
        return str(own)
    there = parse_arch(machine)
    if there.number >= 90 and not there.suffix:
        there = replace(there, suffix="a")
    if copy.atom is not None and not has_atom(there, copy.atom) and has_atom(own, copy.atom):
        return str(own)
    return str(there)


def _prepared(name: str, copy: Copy, low: Lowered, arch: str) -> Prepared:
    report = check(copy)
    codes = tuple(finding.code for finding in report.findings if finding.severity != "note")

    def made(compiler: str, task: Task | None = None, note: str = "") -> Prepared:
        return Prepared(name, copy, report.verdict, codes, compiler, task, note, arch)

    if low.ptx is None or low.error:
        return made(low.error or "no PTX", note="the compiler made nothing")
    foreign = next((view for view in (copy.src, copy.dst) if isinstance(view, OtherOperand)), None)
    if foreign is not None:  # its address is in a descriptor, which the harness does not make
        return made("accepted", note=f"{foreign.name}: this harness runs copies between tensors in memory")
    try:
        ptx, sizes = wrap(low.ptx, arch, completion(copy))
        return made("accepted", Task(copy, ptx, tuple(sizes)))
    except UnexpectedPtx as error:
        return made("accepted", note=str(error).splitlines()[0])


def _prepared_tma(name: str, copy: Copy, arch: str, session: Session) -> Prepared:
    report = check(copy)
    codes = tuple(finding.code for finding in report.findings if finding.severity != "note")
    compiler, note, task = "accepted", "", None
    try:
        task, refused = tma.prepare(copy, arch, session)
        if refused:
            compiler, note = refused, "the compiler made nothing"
    except InputError as error:
        compiler = "accepted" if report.compiler.accepted else report.compiler.message
        note = error.message
    except UnexpectedPtx as error:
        note = str(error).splitlines()[0]
    return Prepared(name, copy, report.verdict, codes, compiler, task, note, arch)


def confirm(
    named: Sequence[tuple[str, Copy]],
    *,
    workers: int = 4,
    session: Session | None = None,
    progress: Progress | None = None,
) -> tuple[list[Confirmation], dict[str, Any]]:
    """Run every copy: on the GPU where there is one, else in the simulator; and the machine's description.

    `workers` processes share the GPU; `session` spares the DSL's start. Raises DslUnavailable where the DSL
    cannot be asked.
    """
    machine = machine_here()
    prepared = prepare(named, machine.get("arch"), session=session, progress=progress)
    return run(prepared, workers=workers, progress=progress, machine=machine)


def run(
    prepared: Sequence[Prepared],
    *,
    workers: int = 4,
    progress: Progress | None = None,
    machine: dict[str, Any] | None = None,
) -> tuple[list[Confirmation], dict[str, Any]]:
    """`confirm` for copies already prepared (perhaps elsewhere); `machine` is what `machine_here` said."""
    machine = machine_here() if machine is None else machine
    if "why" in machine:
        out = []
        for i, one in enumerate(prepared):
            out.append(_judged(one, simulate(one.task), "simulator") if one.task else _unrun(one))
            if progress:
                progress("run", i + 1, len(prepared))
        return out, machine
    prepared = [_for_machine(one, str(machine["arch"])) for one in prepared]
    outcomes = _on_gpu(prepared, workers, progress)
    return [
        _judged(one, outcome, "gpu") if outcome is not None else _unrun(one)
        for one, outcome in zip(prepared, outcomes, strict=True)
    ], machine


def _for_machine(one: Prepared, machine: str) -> Prepared:
    """What is compiled for a newer architecture, or for another one's own instructions, is not run."""
    needed, there = parse_arch(one.arch), parse_arch(machine)
    if one.task is None or needed.number == there.number or (needed < there and not needed.suffix):
        return one
    return replace(one, task=None, note=f"compiled for {needed}, the GPU is {there}")


def _unrun(one: Prepared) -> Confirmation:
    return Confirmation(one.name, one.verdict, one.codes, one.compiler, "nothing", one.note)


def _judged(one: Prepared, outcome: Outcome, ran: str) -> Confirmation:
    if outcome.error:
        return Confirmation(one.name, one.verdict, one.codes, one.compiler, "nothing", outcome.error)
    return Confirmation(
        one.name,
        one.verdict,
        one.codes,
        one.compiler,
        ran,
        "",
        outcome.expected_fault,
        outcome.fault,
        outcome.as_predicted,
        outcome.as_asked,
        outcome.guard_untouched,
        outcome.first,
    )


class Process:
    """The parent's end of one `layoutcheck.gpu.worker`. Raises DeviceUnavailable where there is no GPU."""

    def __enter__(self) -> Process:
        path = os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
        self._child = subprocess.Popen(
            [sys.executable, "-m", "layoutcheck.gpu.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,
        )
        assert self._child.stdout is not None
        greeting = read(self._child.stdout)  # type: ignore[arg-type]
        if greeting is None or "unavailable" in greeting:
            self.close()
            raise DeviceUnavailable((greeting or {}).get("unavailable", "the worker ended at once"))
        self.machine: dict[str, Any] = greeting
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the worker."""
        self._child.kill()
        self._child.wait()
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def run(self, task: Task) -> Outcome:
        """One task's outcome; a worker that dies or hangs on it is the outcome's fault, and ends here."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        timer = threading.Timer(LIMIT_SECONDS, self._child.kill)
        timer.start()
        try:
            write(self._child.stdin, task)  # type: ignore[arg-type]
            outcome = read(self._child.stdout)  # type: ignore[arg-type]
        except (OSError, EOFError):
            outcome = None
        finally:
            hung = not timer.is_alive()
            timer.cancel()
        if isinstance(outcome, Outcome):
            return outcome
        return Outcome(fault="no answer within the time limit" if hung else "the worker died")


def _on_gpu(prepared: Sequence[Prepared], workers: int, progress: Progress | None) -> list[Outcome | None]:
    """Every task's outcome. Those that should run clean go first: few processes are lost to faults."""
    outcomes: list[Outcome | None] = [None] * len(prepared)
    queue: Queue[tuple[int, Task]] = Queue()
    ready = [(one.verdict == "wrong", i, one.task) for i, one in enumerate(prepared) if one.task is not None]
    for _, i, task in sorted(ready, key=lambda entry: entry[:2]):
        queue.put((i, task))
    done = 0
    lock = threading.Lock()

    def serve() -> None:
        nonlocal done
        process: Process | None = None
        try:
            while True:
                try:
                    i, task = queue.get_nowait()
                except Empty:
                    return
                process = process or Process().__enter__()
                outcome = process.run(task)
                if outcome.fault and outcome.fault != STALLED:
                    process.close()
                    process = None
                outcomes[i] = outcome
                with lock:
                    done += 1
                    if progress:
                        progress("run", done, len(ready))
        finally:
            if process is not None:
                process.close()

    threads = [threading.Thread(target=serve) for _ in range(max(1, min(workers, len(ready))))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes
