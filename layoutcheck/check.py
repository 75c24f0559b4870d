"""`check(copy) -> Report`: the one entry point every frontend uses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

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
