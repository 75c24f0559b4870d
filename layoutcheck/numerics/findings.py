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


def verdict(findings: tuple[Finding, ...]) -> str:
    """The worst severity, as a verdict: "wrong", "unknown", "slow" or "legal"."""
    severities = {finding.severity for finding in findings}
    return next((worst for worst in ("wrong", "unknown", "slow") if worst in severities), "legal")
