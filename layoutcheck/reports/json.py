"""Reports as JSON, one object a line; docs/schemas/reports.py has their JSON Schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from layoutcheck.check import Report
from layoutcheck.findings import SCHEMA_VERSION, json_lines
from layoutcheck.reports.outcome import Explained, Failure, Message, Outcome
from layoutcheck.reports.style import Style
from layoutcheck.versions import MODELLED


def to_dict(outcome: Outcome) -> dict[str, Any]:
    """One outcome as the schema has it."""
    if isinstance(outcome, Report):
        return outcome.to_dict()
    if isinstance(outcome, Failure):
        error = {key: getattr(outcome.error, key) for key in ("message", "expected", "start", "end")}
        return {"schema_version": SCHEMA_VERSION, "subject": outcome.subject, "error": error}
    if isinstance(outcome, Explained):
        return _explained_to_dict(outcome)
    return _message_to_dict(outcome)


def render(outcomes: Sequence[Outcome], style: Style) -> str:
    """One line of JSON for each outcome."""
    return json_lines(map(to_dict, outcomes), ascii_=style.ascii)


def _message_to_dict(message: Message) -> dict[str, Any]:
    """A compiler error without its types: a report whose copy is unknown."""
    return {
        "schema_version": SCHEMA_VERSION,
        "subject": message.diagnostic.location,
        "copy": None,
        "assumptions": [],
        "verdict": message.verdict,
        "dsl": MODELLED,
        "compiler": {
            "outcome": "rejected",
            "message": message.diagnostic.message,
            "kind": "",
            "operand": message.operand,
        },
        "asked": None,
        "findings": [finding.to_dict() for finding in message.findings],
        "inference": {},
        "execution": {},
        "fixes": [],
        "obstacle": message.missing,
    }


def _explained_to_dict(outcome: Explained) -> dict[str, Any]:
    """An error of the catalogue."""
    answer = outcome.answer
    return {
        "schema_version": SCHEMA_VERSION,
        "subject": answer.place,
        "verdict": outcome.verdict,
        "answer": {
            **{key: getattr(answer.entry, key) for key in ("name", "rule")},
            **{key: getattr(answer, key) for key in ("title", "quote", "cause", "remedy")},
            "facts": list(answer.facts),
        },
    }
