"""Reports as one SVG file: the pictures of every copy."""

from __future__ import annotations

from collections.abc import Sequence

from layoutcheck.reports.draw import drawn_outcomes
from layoutcheck.reports.outcome import Outcome
from layoutcheck.reports.pictures.svg import document
from layoutcheck.reports.style import Style


def render(outcomes: Sequence[Outcome], style: Style) -> str:
    """The pictures below each other. Raises InputError where there is nothing to draw."""
    return document(drawn_outcomes(outcomes)) + "\n"
