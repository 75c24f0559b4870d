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

from layoutcheck.errors import InputError
from layoutcheck.gpu import tma
from layoutcheck.gpu.completion import STALLED
from layoutcheck.gpu.driver import Device, DeviceFault, DeviceUnavailable
from layoutcheck.gpu.images import POISON, SHARED, SHARED_START, coded, packed, poison, turns, unpacked
from layoutcheck.gpu.make_job import make_job
from layoutcheck.gpu.outcome import Outcome, Task, judge

_ALIGN = 1 << 16


def run(device: Device, task: Task) -> Outcome:
    """One job, as often as it takes to tell every unit of its source apart."""
    try:
        job = make_job(task.copy)
    except InputError as refused:
        return Outcome(error=refused.message)
    if task.words:
        return tma.run(device, task, job)
    try:
        module, function = device.load(task.ptx)
    except DeviceFault as refused:
        return Outcome(error=f"the driver refuses the module: {refused}")
    results = []
    ended = False
    unit = job.src.unit_bits
    for turn in range(turns(job.src.units, unit)):
        source = coded(np.arange(job.src.units), turn, unit, np.array(0))
        blank = coded(np.full(job.dst.units, POISON), turn, unit, poison(job.dst.units, turn, unit))
        data = {"src": packed(source, unit), "dst": packed(blank, unit), "pred": job.predicate}
        others = data["dst"] * (job.blocks - 1)
        if job.both_shared:  # one image, the source in its lower part
            data["dst"] = data["src"] + data["dst"][len(data["src"]) :]
        data["dst"] += others
        offsets, used = {}, _ALIGN
        for side in ("src", "dst", "pred"):
            offsets[side] = used
            used += -(-(len(data[side]) + 1) // _ALIGN) * _ALIGN
        images = {side: device.buffer + offset for side, offset in offsets.items()}
        images |= {"barrier": SHARED_START, "number": 0}
        shared = job.shared
        for side, place in (("src", job.src), ("dst", job.dst)):
            if place.space in SHARED:
                images[side] = SHARED_START
        records = b"".join(
            parameter.data(images).ljust(-(-size // 4) * 4, b"\0")
            for parameters in job.parameters
            for parameter, size in zip(parameters, task.sizes, strict=True)
        )
        for side, image in data.items():
            device.write(offsets[side], image)
        device.write(used, records)
        device.write(0, bytes(8) + job.expect)
        words = shared.size_bytes // 4 if shared is not None else 0
        image_at = device.buffer + offsets["src" if shared is job.src else "dst"]
        try:
            arguments = (device.buffer + used, image_at, words, device.buffer)
            device.launch(function, job.threads, words * 4, arguments, job.blocks)
        except DeviceFault as fault:
            return Outcome(fault=str(fault), expected_fault=job.fault)
        # Of a shared address of a cluster the fourth byte is the block's rank.
        start, stalled = (int.from_bytes(device.read(at, 3), "little") for at in (0, 4))
        if words and start != SHARED_START:
            return Outcome(error=f"dynamic shared memory begins at {start}, not at {SHARED_START}")
        ended |= bool(stalled)
        seen = unpacked(device.read(offsets["dst"], len(data["dst"])), unit).reshape(job.blocks, -1)
        if job.both_shared:  # the source's part is as good as untouched where it still holds the source
            part = seen[0, : len(source)]
            part[part == source] = blank[: len(source)][part == source]
        results.append(seen)
    device.unload(module)
    return judge(job, results, STALLED if ended else "")


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
