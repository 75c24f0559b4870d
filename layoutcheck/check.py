"""`check(copy) -> Report`: the one entry point every frontend uses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from layoutcheck.copies.as_dict import copy_to_dict
from layoutcheck.copies.compiler import Prediction
from layoutcheck.copies.copy import Copy
from layoutcheck.rules.finding import Finding

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class Fix:
    """One repaired version: paste-ready `code`, the re-checked `copies` it makes, and what confirmed it.

    `verdict` is "legal" or "slow"; `predicted` holds counts such as `instructions_per_thread`; `confirmed_by`
    a subset of ("model", "compiler", "gpu").
    """

    strategy: str
    title: str
    verdict: str
    code: str
    copies: tuple[Copy, ...]
    predicted: dict[str, Any] = field(default_factory=dict)
    confirmed_by: tuple[str, ...] = ("model",)
    note: str = ""  # what the fix costs or asks elsewhere, one line

    def to_dict(self) -> dict[str, Any]:
        """As the JSON schema has it."""
        return {
            "strategy": self.strategy,
            "title": self.title,
            "verdict": self.verdict,
            "code": self.code,
            "copies": [copy_to_dict(copy) for copy in self.copies],
            "predicted": self.predicted,
            "confirmed_by": list(self.confirmed_by),
            "note": self.note,
        }


@dataclass(frozen=True, slots=True)
class Report:
    """The three answers about a copy, and the fixes proposed for it.

    `verdict` is "legal", "slow", "wrong", "rejected" or "unknown"; `inference` and `execution` are the
    JSON schema's objects of that name; `drawing` what a report needs to draw the offending vector
    (see `reports.text`); `obstacle` says why no fix is offered, where none is.
    """

    copy: Copy
    verdict: str
    findings: tuple[Finding, ...]
    compiler: Prediction
    inference: dict[str, Any] = field(default_factory=dict)
    execution: dict[str, Any] = field(default_factory=dict)
    drawing: dict[str, Any] = field(default_factory=dict)
    fixes: tuple[Fix, ...] = ()
    obstacle: str | None = None
    subject: str | None = None  # the case's name or the place the copy came from
    assumptions: tuple[str, ...] = ()  # what was taken for granted because the input did not say it

    def to_dict(self) -> dict[str, Any]:
        """As the JSON schema has it (`reports/schema.json`)."""
        return {
            "schema_version": SCHEMA_VERSION,
            "subject": self.subject,
            "copy": copy_to_dict(self.copy),
            "assumptions": list(self.assumptions),
            "verdict": self.verdict,
            "compiler": {
                "outcome": self.compiler.outcome,
                "message": self.compiler.message,
                "kind": self.compiler.kind,
                "operand": self.compiler.operand,
            },
            "findings": [finding.to_dict() for finding in self.findings],
            "inference": self.inference,
            "execution": self.execution,
            "fixes": [fix.to_dict() for fix in self.fixes],
            "obstacle": self.obstacle,
        }
