"""What `explain`, `check` and `draw` ask beside one copy: named cases, the DSL, an MMA's operands."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from layoutcheck.cli.output import style_of
from layoutcheck.errors import InputError, option_of

if TYPE_CHECKING:
    from layoutcheck.operands import MmaReport
    from layoutcheck.reports.outcome import Outcome


def outcomes_of_case(name: str) -> list[Outcome]:
    """A report of each of its copies. Raises InputError where there is no such case."""
    from layoutcheck.api import check_copy
    from layoutcheck.sources.cases import case
    from layoutcheck.sources.request import build

    found = case(name)
    subject = f"{found.name}: {found.title} ({found.url})"
    made = [build(**request) for request in found.copies]
    return [check_copy(copy, assumptions=assumptions, subject=subject) for copy, assumptions in made]


def list_cases() -> int:
    """Print every named case and its title."""
    from layoutcheck.sources.cases import case, case_names

    style = style_of(sys.stdout)
    width = max(map(len, case_names()))
    for name in case_names():
        lines = style.wrap(case(name).title, " " * (width + 2), f"{name:<{width}}  ")
        sys.stdout.write("\n".join(lines) + "\n")
    return 0


def asked_dsl(outcomes: list[Outcome]) -> list[Outcome]:
    """The outcomes with what the installed DSL says of every copy and of every fix."""
    from layoutcheck.api import ask_compiler
    from layoutcheck.check import Report

    answered = iter(ask_compiler([outcome for outcome in outcomes if isinstance(outcome, Report)]))
    return [next(answered) if isinstance(outcome, Report) else outcome for outcome in outcomes]


def asked_mma(given: Mapping[str, str]) -> MmaReport | None:
    """The answers; None without --mma. Raises InputError, naming the option whose text is unusable."""
    if "mma" not in given:
        for name in given:
            raise InputError(f"{option_of(name)} is not used without --mma", expected="--mma MMA")
        return None
    from layoutcheck.operands.answers import answered

    return answered(**given)
