"""`Confirmation`: one copy's three answers, and whether they agree."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from layoutcheck.gpu.completion import STALLED, UNSETTLED
from layoutcheck.gpu.images import UNMAPPED

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
