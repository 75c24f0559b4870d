"""Reports: what `check` found, as text for eyes or as data for machines. One format a module."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, TypeAlias

from layoutcheck.errors import check_format

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from layoutcheck.reports.outcome import Outcome
    from layoutcheck.reports.style import Style

Renderer: TypeAlias = "Callable[[Sequence[Outcome], Style], str]"

# A format is a module with `render(outcomes, style) -> str`.
FORMATS = {
    "text": "layoutcheck.reports.text",
    "json": "layoutcheck.reports.json",
    "github": "layoutcheck.reports.github",
    "sarif": "layoutcheck.reports.sarif",
    "html": "layoutcheck.reports.html",
    "svg": "layoutcheck.reports.svg",
}


def renderer(name: str) -> Renderer:
    """The renderer of a format; raises InputError for one that there is not."""
    check_format("a report", name, list(FORMATS))
    render: Renderer = importlib.import_module(FORMATS[name]).render
    return render
