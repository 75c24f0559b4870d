"""`confirm(copies)`: what the verdict says, what the compiler says, and what the machine did, side by side.

On a GPU every copy runs through the compiler's own instructions and its destination is compared bit for bit,
once with what `execution` predicts and once with what the layouts ask for. Without one the same instructions
are interpreted on byte-accurate memory (`simulate.py`), and the result says so.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import fields, replace
from queue import Empty, Queue
from typing import Any

from layoutcheck.copies.copy import Copy
from layoutcheck.dsl.session import Session
from layoutcheck.gpu.completion import STALLED
from layoutcheck.gpu.outcome import Confirmation, Outcome, Task
from layoutcheck.gpu.prepare import Prepared, Progress, prepare
from layoutcheck.gpu.process import Process, machine_here
from layoutcheck.gpu.simulate import simulate
from layoutcheck.machine.arch import parse_arch


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
    if progress:
        progress("run", 0, len(prepared))
    if "why" in machine:
        out = []
        for i, one in enumerate(prepared):
            out.append(_judged(one, simulate(one.task) if one.task else None, "simulator"))
            if progress:
                progress("run", i + 1, len(prepared))
        return out, machine
    prepared = [_for_machine(one, str(machine["arch"])) for one in prepared]
    outcomes = _on_gpu(prepared, workers, progress)
    return [_judged(*pair, "gpu") for pair in zip(prepared, outcomes, strict=True)], machine


def _for_machine(one: Prepared, machine: str) -> Prepared:
    """What is compiled for a newer architecture, or for another one's own instructions, is not run."""
    needed, there = parse_arch(one.arch), parse_arch(machine)
    if one.task is None or needed.number == there.number or (needed < there and not needed.suffix):
        return one
    return replace(one, task=None, note=f"compiled for {needed}, the GPU is {there}")


def _judged(one: Prepared, outcome: Outcome | None, ran: str) -> Confirmation:
    """A copy's three answers; nothing ran where there is no outcome, or where that has an error."""
    answers = one.name, one.verdict, one.codes, one.compiler
    if outcome is None or outcome.error:
        return Confirmation(*answers, "nothing", one.note if outcome is None else outcome.error)
    seen = {each.name: getattr(outcome, each.name) for each in fields(outcome) if each.name != "error"}
    return Confirmation(*answers, ran, **seen)


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
