"""What came of running one copy, judged against what was predicted and what was asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from layoutcheck.copies.copy import Copy
from layoutcheck.copies.offsets import IntArray
from layoutcheck.gpu.images import ANY, POISON, coded, poison
from layoutcheck.gpu.job import Job


@dataclass(frozen=True, slots=True)
class Task:
    """A copy, the PTX that performs it inside the harness, and the bytes of each of its parameters.

    `words` are a TMA copy's tensor map, made for a tensor at address 0.
    """

    copy: Copy
    ptx: str
    sizes: tuple[int, ...]
    words: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """`fault` names the fault that came, `expected_fault` the one that was predicted ("" for none).

    `as_predicted`, `as_asked` and `guard_untouched` compare the destination, unit by unit, with `execution`,
    with `intent`, and with the poison outside what was to be written; None where nothing ran to its end.
    `first` tells of the first unit that was not as predicted. `error` says why nothing was run.
    """

    fault: str = ""
    expected_fault: str = ""
    as_predicted: bool | None = None
    as_asked: bool | None = None
    guard_untouched: bool | None = None
    first: dict[str, Any] = field(default_factory=dict)
    error: str = ""


def judge(job: Job, observed: Sequence[IntArray], fault: str = "") -> Outcome:
    """The destination's contents after each turn, compared; `fault` is one that memory outlives."""
    everywhere = np.ones(job.dst.units, dtype=bool)
    first = _difference(job, job.predicted, observed, everywhere)
    return Outcome(
        fault,
        job.fault,
        not first,
        not job.unmeetable and not _difference(job, job.asked, observed, job.asked != POISON),
        not _difference(job, job.asked, observed, job.asked == POISON),
        first,
    )


def _difference(
    job: Job, contents: IntArray, observed: Sequence[IntArray], where: np.ndarray
) -> dict[str, Any]:
    """The first determined unit, among those that `where` names, that does not hold `contents`."""
    unit = job.dst.unit_bits
    where = where & (contents != ANY)
    for turn, values in enumerate(observed):
        off = where & (coded(contents, turn, unit, poison(job.dst.units, turn, unit)) != values)
        if off.any():
            at = int(np.argmax(off))
            return {
                "unit": at - job.dst.origin * 8 // unit,
                "expected": int(contents[at]),
                "turn": turn,
                "value": int(values[at]),
                "differing": int(np.count_nonzero(off)),
            }
    return {}
