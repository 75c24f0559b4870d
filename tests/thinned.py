"""Long lists of cases: a part of them in the normal run, the others with `-m sweep`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def thinned(cases: Iterable[Any], every: int) -> list[Any]:
    """The cases, all but each `every`-th marked as sweep."""
    return [
        case if n % every == 0 else pytest.param(*values(case), marks=pytest.mark.sweep)
        for n, case in enumerate(cases)
    ]


def values(case: Any) -> tuple[Any, ...]:
    """The arguments of a case."""
    return case if isinstance(case, tuple) else (case,)
