"""A process that runs jobs on the GPU, one after another: `python -m layoutcheck.gpu.worker`.

Reads pickled tasks from standard input and answers each with a pickled `Outcome` on standard output, a length
of eight bytes before each. After a fault the context is lost: the process answers and ends, and its parent
starts another. A fault, or a kernel that never ends, thus costs one process and no other copy's result.
"""

from __future__ import annotations

import os
import pickle
import sys
from typing import Any, BinaryIO

import numpy as np

from layoutcheck.algebra.integers import round_up
from layoutcheck.copies.offsets import IntArray
from layoutcheck.errors import InputError
from layoutcheck.gpu import tma
from layoutcheck.gpu.completion import STALLED
from layoutcheck.gpu.driver import Device, DeviceFault, DeviceUnavailable
from layoutcheck.gpu.images import (
    SHARED,
    SHARED_START,
    NotRunnable,
    coded,
    packed,
    poison,
    turns,
    unpacked,
)
from layoutcheck.gpu.job import Job
from layoutcheck.gpu.make_job import make_job
from layoutcheck.gpu.outcome import Outcome, Task, judge

_ALIGN = 1 << 16


def run(device: Device, task: Task) -> Outcome:
    """One job, as often as it takes to tell every unit of its source apart."""
    try:
        job = make_job(task.copy)
    except InputError as refused:
        return Outcome(error=refused.message)
    try:
        module, function = device.load(task.ptx)
    except DeviceFault as refused:
        return Outcome(error=f"the driver refuses the module: {refused}")
    try:
        turned = [_turn(device, function, task, job, n) for n in range(turns(job.src.units, job.digit_bits))]
    except DeviceFault as fault:
        return Outcome(fault=str(fault), expected_fault=job.fault)
    except InputError as refused:
        return Outcome(error=refused.message)
    device.unload(module)
    stalled = any(stalled for _, stalled in turned)
    return judge(job, [seen for seen, _ in turned], STALLED if stalled else "")


def _turn(device: Device, function: Any, task: Task, job: Job, turn: int) -> tuple[IntArray, bool]:
    """The destination after a turn, a row of units for each block; and whether a wait was broken off.

    Raises DeviceFault, and InputError where shared memory is not where the images are made for.
    """
    source, blank = _units(job, turn)
    data = _images(job, source, blank)
    offsets, used = {}, _ALIGN
    for side, image in data.items():
        offsets[side] = used
        device.write(used, image)
        used += round_up(len(image) + 1, _ALIGN)
    device.write(used, _records(device, task, job, offsets))
    device.write(0, bytes(8) + job.expect)
    shared_bytes = job.shared.size_bytes if job.shared is not None else 0
    image_at = device.buffer + offsets["src" if job.shared is job.src else "dst"]
    arguments = (device.buffer + used, image_at, shared_bytes // 4, device.buffer)
    threads, behind = (tma.THREADS, tma.BARRIER_BYTES) if task.words else (job.threads, 0)
    device.launch(function, threads, shared_bytes + behind, arguments, job.blocks)
    # Of a shared address of a cluster the fourth byte is the block's rank.
    start, stalled = (int.from_bytes(device.read(at, 3), "little") for at in (0, 4))
    if shared_bytes and start != SHARED_START:
        raise NotRunnable(f"dynamic shared memory begins at {start}, not at {SHARED_START}")
    seen = unpacked(device.read(offsets["dst"], len(data["dst"])), job.dst.unit_bits).reshape(job.blocks, -1)
    if job.both_shared:  # the source's part is as good as untouched where it still holds the source
        part = seen[0, : len(source)]
        part[part == source] = blank[: len(source)][part == source]
    return seen, bool(stalled)


def _units(job: Job, turn: int) -> tuple[IntArray, IntArray]:
    """The units of source and destination, of one block, before a turn."""
    source = coded(np.arange(job.src.units), turn, job.digit_bits, np.array(0))
    return source, poison(job.dst.units, turn, job.src.unit_bits)


def _images(job: Job, source: IntArray, blank: IntArray) -> dict[str, bytes]:
    """The memory of both operands, the destination's for each block, and of the predicate."""
    unit = job.src.unit_bits
    data = {"src": packed(source, unit), "dst": packed(blank, unit), "pred": job.predicate}
    others = data["dst"] * (job.blocks - 1)
    if job.both_shared:  # one image, the source in its lower part
        data["dst"] = data["src"] + data["dst"][len(data["src"]) :]
    data["dst"] += others
    return data


def _records(device: Device, task: Task, job: Job, offsets: dict[str, int]) -> bytes:
    """The parameters of each thread; of a TMA copy, its tensor map and the kernel's parameters."""
    images = {side: device.buffer + offset for side, offset in offsets.items()}
    images |= {"barrier": SHARED_START, "number": 0}
    images |= {side: SHARED_START for side in ("src", "dst") if getattr(job, side).space in SHARED}
    if task.words:
        return tma.record(task, job, images)
    return b"".join(
        parameter.data(images).ljust(round_up(size, 4), b"\0")
        for parameters in job.parameters
        for parameter, size in zip(parameters, task.sizes, strict=True)
    )


def read(pipe: BinaryIO) -> Any:
    """The next object; None at the end."""
    head = pipe.read(8)
    return pickle.loads(pipe.read(int.from_bytes(head, "little"))) if len(head) == 8 else None


def write(pipe: BinaryIO, value: Any) -> None:
    """Send an object."""
    data = pickle.dumps(value)
    pipe.write(len(data).to_bytes(8, "little") + data)
    pipe.flush()


def main() -> None:
    """Greet, then answer tasks until standard input ends or the GPU faults."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        with Device() as device:
            write(
                answers,
                {
                    "name": device.name,
                    "arch": f"sm_{device.major}{device.minor}",
                    "driver": device.driver_version,
                },
            )
            while (task := read(sys.stdin.buffer)) is not None:
                outcome = run(device, task)
                write(answers, outcome)
                if outcome.fault and outcome.fault != STALLED:
                    os._exit(0)  # the context is lost, and so is every way of leaving politely
    except DeviceUnavailable as error:
        write(answers, {"unavailable": str(error)})


if __name__ == "__main__":
    main()
