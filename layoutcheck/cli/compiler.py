"""`--compiler`: the installed DSL's own answer beside the model's."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from layoutcheck.reports.outcome import Outcome


def asked(outcomes: list[Outcome]) -> list[Outcome]:
    """The outcomes with what the installed DSL says of every copy and of every fix."""
    from layoutcheck.api import ask_compiler
    from layoutcheck.check import Report

    answered = iter(ask_compiler([outcome for outcome in outcomes if isinstance(outcome, Report)]))
    return [next(answered) if isinstance(outcome, Report) else outcome for outcome in outcomes]
