"""The compiler's instructions executed on byte-accurate memory, where no GPU is: one thread after another.

ldmatrix and stmatrix exchange data between lanes, which one thread at a time cannot show: those copies are
not simulated, and the outcome says so.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from layoutcheck.copies.atom import WarpAtom
from layoutcheck.copies.offsets import IntArray
from layoutcheck.dsl import ptx
from layoutcheck.errors import InputError
from layoutcheck.gpu.completion import STALLED
from layoutcheck.gpu.images import OUTSIDE, POISON, SHARED, SHARED_START, ZERO, coded, poison, turns
from layoutcheck.gpu.job import Job
from layoutcheck.gpu.make_job import make_job
from layoutcheck.gpu.outcome import Outcome, Task, judge

THREADS_MOST = 64
_IMAGE = {"src": 1 << 40, "dst": 1 << 41, "pred": 1 << 42}
_FUNCTION = re.compile(r"\.func (\w+)\(.*?\n\}\n", re.DOTALL)


def simulate(task: Task) -> Outcome:
    """The outcome of a task, or its `error` where the interpreter cannot run it."""
    try:
        job = make_job(task.copy)
    except InputError as refused:
        return Outcome(error=refused.message)
    if why := _not_simulated(job, task):
        return Outcome(error=why)
    found = _FUNCTION.search(task.ptx)
    assert found is not None
    text = found[0].replace(".func ", ".visible .entry ", 1)
    names = ptx.parameters(text)
    shared = [side for side, place in (("src", job.src), ("dst", job.dst)) if place.space in SHARED]
    images = _IMAGE | dict.fromkeys([*shared, "barrier"], SHARED_START) | {"number": 0}
    arrived = 0
    contents = np.full(job.dst.units, POISON, dtype=np.int64)
    for parameters in job.parameters:
        values = {name: p.data(images) for name, p in zip(names, parameters, strict=True)}
        try:
            trace = ptx.run(text, values, _bits(job, images))
        except InputError as error:
            return Outcome(error=error.message)
        if fault := next(filter(None, (_fault(access, job, images) for access in trace.accesses)), ""):
            return Outcome(fault, job.fault)
        _store(job, trace.memory, images, contents)
        arrived += trace.arrived_bytes
    stalled = STALLED if job.expect_bytes not in (None, arrived) else ""
    unit, digit = job.dst.unit_bits, job.digit_bits
    blank = (poison(job.dst.units, turn, unit) for turn in range(turns(job.src.units, digit)))
    seen = [coded(contents, turn, digit, values)[None] for turn, values in enumerate(blank)]
    return judge(job, seen, stalled)


def _not_simulated(job: Job, task: Task) -> str:
    """Why the interpreter does not run a copy; "" where it does."""
    if job.threads > THREADS_MOST:
        return f"{job.threads} threads are not simulated (at most {THREADS_MOST})"
    others = {
        "ldmatrix and stmatrix": isinstance(job.copy.atom, WarpAtom),
        "copies between blocks": job.blocks > 1 or not job.receivers,
        "TMA copies": bool(task.words),
    }
    return next((f"{what} are not simulated: they need a GPU" for what, is_so in others.items() if is_so), "")


def _fault(access: ptx.ThreadAccess, job: Job, images: dict[str, int]) -> str:
    """The fault that an access is, "" for none: operands and predicate lie in memory of their own."""
    held = {"src": job.src.size_bytes, "dst": job.dst.size_bytes, "pred": len(job.predicate)}
    multiple = access.multiple_bytes or access.width_bytes
    if multiple and access.address % multiple:
        return f"misaligned address {access.address:#x} ({access.name})"
    if not any(0 <= access.address - images[side] < size for side, size in held.items()):
        return f"unmapped address {access.address:#x} ({access.name})"
    return ""


def _bits(job: Job, images: dict[str, int]) -> Any:
    """What a bit of memory is before the copy: the predicate's value, or its place (space, bit address)."""
    base = images["pred"] * 8
    known = len(job.predicate) * 8

    def read(space: str, at: int) -> Any:
        if base <= at < base + known:
            return job.predicate[(at - base) // 8] >> ((at - base) % 8) & 1
        return (space, at)

    return read


def _store(job: Job, memory: Any, images: dict[str, int], contents: IntArray) -> None:
    """Enter a thread's final memory into the destination's contents, unit by unit."""
    unit = job.dst.unit_bits
    src, dst = images["src"], images["dst"]
    for (_, address), bits in memory.items():
        for k in range(8 // unit):
            at = (address - dst) * (8 // unit) + k
            if not 0 <= at < job.dst.units:
                continue
            first = bits[k * unit]
            if all(bit == 0 for bit in bits[k * unit : (k + 1) * unit]):
                contents[at] = ZERO
            elif isinstance(first, tuple):
                source = first[1] // unit - src * (8 // unit)
                contents[at] = source if 0 <= source < job.src.units else OUTSIDE
