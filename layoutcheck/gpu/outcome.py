"""What came of running one copy, judged against what was predicted and what was asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from layoutcheck.copies.copy import Copy
from layoutcheck.copies.offsets import IntArray
from layoutcheck.gpu.completion import STALLED, UNSETTLED
from layoutcheck.gpu.images import ANY, POISON, UNMAPPED, coded, poison
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
    """The destination's contents after each turn, a row for each block, compared.

    What is predicted and asked is so of the blocks that receive, and that the others stay as they are.
    `fault` is one that memory outlives.
    """
    nothing = np.full(job.dst.units, POISON, dtype=np.int64)
    first: dict[str, Any] = {}
    right, untouched = not job.unmeetable, True
    for block in range(job.blocks):
        seen = [values[block] for values in observed]
        gets = block in job.receivers
        asked = job.asked if gets else nothing
        found = _difference(job, job.predicted if gets else nothing, seen, np.ones(job.dst.units, dtype=bool))
        first = first or (found | {"block": block} if found and job.blocks > 1 else found)
        right &= not _difference(job, asked, seen, asked != POISON)
        untouched &= not _difference(job, asked, seen, asked == POISON)
    return Outcome(fault, job.fault, not first, right, untouched, first)


def _difference(
    job: Job, contents: IntArray, observed: Sequence[IntArray], where: np.ndarray
) -> dict[str, Any]:
    """The first determined unit, among those that `where` names, that does not hold `contents`."""
    unit = job.dst.unit_bits
    where = where & (contents != ANY)
    for turn, values in enumerate(observed):
        off = where & (coded(contents, turn, job.digit_bits, poison(job.dst.units, turn, unit)) != values)
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


# Wrong although every byte arrives where it was asked to: bits in a tensor of another type.
BY_TYPE = frozenset({"LC208"})


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
        `wrong` one does not (unless it is wrong by its types alone: `BY_TYPE`). An address far from all
        tensors faults, unless something else of the process is mapped there (seen on an H200, 2^29 bytes on).
        """
        if self.ran not in ("gpu", "simulator"):
            return None
        if self.expected_fault == UNSETTLED:
            return self.verdict == "wrong" and self.fault in ("", STALLED)
        strayed = self.expected_fault == UNMAPPED and not self.fault
        if bool(self.fault) != bool(self.expected_fault) and not strayed:
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
        return asdict(self) | {"agrees": self.agrees, "compiler_agrees": self.compiler_agrees}
