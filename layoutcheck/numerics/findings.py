"""The findings of numerics, `LC4xx`, in the shape every layoutcheck report has.

`layoutcheck.rules` is about copies and numerics stands beside it, so the type is stated once more here; the
tests compare the two.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class Finding:
    """`title` is one line; `message` gives the reason; `evidence` the numbers. `severity` as in the rules."""

    code: str
    severity: str  # "wrong", "unknown", "slow" or "note"
    title: str
    message: str
    evidence: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """As the JSON schema has it."""
        return {
            "code": self.code,
            "severity": self.severity,
            "title": self.title,
            "message": self.message,
            "where": {},
            "evidence": self.evidence,
        }


CODES = {
    "LC401": "two paths round at different places and their results differ beyond the tolerance",
    "LC402": "the tolerance is below one step of the output: a test of bit equality",
    "LC403": "the tolerance cannot see a missing product",
    "LC404": "the tolerance is below what a correct kernel may be wrong by",
    "LC405": "the accumulator keeps fewer bits than its type promises",
    "LC406": "the hardware's answers are not the model's",
}


def verdict(findings: tuple[Finding, ...]) -> str:
    """The worst severity, as a verdict: "wrong", "unknown", "slow" or "legal"."""
    severities = {finding.severity for finding in findings}
    return next((worst for worst in ("wrong", "unknown", "slow") if worst in severities), "legal")
