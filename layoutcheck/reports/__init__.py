"""Reports: what `check` found, as text for eyes or as data for machines. One format a module."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, TypeAlias

from layoutcheck.formats import check_format

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from layoutcheck.reports.outcome import Outcome
    from layoutcheck.reports.style import Style

Renderer: TypeAlias = "Callable[[Sequence[Outcome], Style], str]"


def renderer(name: str, command: str = "explain") -> Renderer:
    """The renderer of a format, the module of its name here. Raises InputError where the command has none."""
    check_format(command, name)
    render: Renderer = importlib.import_module(f"{__name__}.{name}").render
    return render
