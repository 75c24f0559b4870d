"""Long lists of cases: a part of them in the normal run, the others with `-m sweep`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def thinned(cases: Iterable[Any], every: int) -> list[Any]:
    """The cases, all but each `every`-th marked as sweep: a `pytest.param`, a tuple or one argument each."""
    return [case if n % every == 0 else _in_sweep(case) for n, case in enumerate(cases)]


def _in_sweep(case: Any) -> Any:
    if hasattr(case, "marks"):
        return pytest.param(*case.values, marks=[*case.marks, pytest.mark.sweep], id=case.id)
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.sweep)
