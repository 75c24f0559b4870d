"""Named cases as a command's copies: `--case NAME`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from layoutcheck.cli.output import style_of

if TYPE_CHECKING:
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
