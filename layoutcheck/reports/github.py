"""Findings as annotations of a pull request: GitHub's workflow commands, one a line.

https://docs.github.com/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

from collections.abc import Sequence

from layoutcheck.reports.located import LEVELS, Located, of_outcomes
from layoutcheck.reports.outcome import Outcome
from layoutcheck.reports.style import Style

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def render(outcomes: Sequence[Outcome], style: Style) -> str:
    """The findings of reports."""
    return render_located(of_outcomes(outcomes), style)


def render_located(found: Sequence[Located], style: Style) -> str:
    """One command for each finding."""
    return "".join(_command(one) + "\n" for one in found)


def _command(one: Located) -> str:
    properties = {}
    if one.path:
        properties = {"file": one.path, "line": str(max(1, one.line)), "col": str(max(1, one.column))}
        if one.end_line:
            properties |= {"endLine": str(one.end_line), "endColumn": str(max(1, one.end_column))}
    properties["title"] = f"{one.code} {one.severity}"
    given = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    lead = f"{one.subject}: " if one.subject and not one.path else ""
    text = f"{lead}{one.title}" + (f"\n{one.message}" if one.message else "")
    return f"::{_COMMANDS[LEVELS[one.severity]]} {given}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
