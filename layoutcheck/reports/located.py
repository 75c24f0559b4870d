"""A finding with its place in a file, the one form that annotations (SARIF, GitHub) are made of."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from layoutcheck.cells import file_of
from layoutcheck.lint.finding import LintFinding
from layoutcheck.reports.outcome import Failure, Outcome

LEVELS = {"rejected": "error", "wrong": "error", "unknown": "warning", "slow": "warning", "note": "note"}
"""What a severity is called where there are three."""

_PLACE = re.compile(r"(?P<path>[^\n:]+\.(?:py|cu|cuh|h|hpp))[:\"]+(?P<line>[0-9]+)(?::(?P<column>[0-9]+))?")


@dataclass(frozen=True, slots=True)
class Located:
    """`path` is empty and `line` 0 where a finding has no place; `subject` then says what it is about.

    `related` are other places, each with what happens there: path, line, column, words. `evidence` is the
    finding's own, for formats that have room for it.
    """

    code: str
    severity: str
    title: str
    message: str
    path: str = ""
    line: int = 0
    column: int = 0
    end_line: int = 0
    end_column: int = 0
    subject: str = ""
    related: tuple[tuple[str, int, int, str], ...] = ()
    evidence: Mapping[str, Any] = field(default_factory=dict, hash=False)


def of_lint(findings: Sequence[LintFinding]) -> list[Located]:
    """The lint's findings."""
    return list(map(_of_finding, findings))


def _of_finding(f: LintFinding) -> Located:
    """A notebook is JSON: its cells have no lines of the file's."""
    file, cell = file_of(f.path)
    if cell:
        title = f"cell {cell}, line {f.line}: {f.title}"
        return Located(f.code, f.severity, title, f.message, file, 1, 1, evidence=f.evidence)
    place = (f.path, f.line, f.column, f.end_line, f.end_column)
    return Located(f.code, f.severity, f.title, f.message, *place, evidence=f.evidence)


def of_outcomes(outcomes: Sequence[Outcome]) -> list[Located]:
    """The findings of reports, at the place that their subject names, if any; unusable input is one too."""
    found = []
    for outcome in outcomes:
        if isinstance(outcome, Failure):
            error = outcome.error
            found.append(Located("LC910", "unknown", error.message, str(error), subject=outcome.subject))
            continue
        subject = outcome.subject or ""
        place = _PLACE.search(subject)
        at = (place["path"].strip(), int(place["line"]), int(place["column"] or 1)) if place else ("", 0, 0)
        found += [
            Located(f.code, f.severity, f.title, f.message, *at, subject=subject, evidence=f.evidence)
            for f in outcome.findings
        ]
    return found
