"""Tests of a function with very many parameters: a part of them is collected at first, all of them later.

A product of parameters may have 400,000 tests, which pytest takes minutes to collect; the time limit ends
their run after some hundreds. Each process collects the same part, so that they can share it (`shares.py`).
One that has gone through it collects all tests, and goes on with the others.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from layoutcheck.dsl.imports import when_imported

MAIN, FUNCTIONS = "_pytest.main", "_pytest.python"
MOST = 2048  # tests of a function at first: a quarter of a second to collect


class Thin:
    """Whether a part is collected now, in the first collection of a process, and whether tests are left."""

    now = begun = left = False


def thin_tests() -> None:
    """Have pytest collect a part at first, from here on; `rest` collects the others."""
    when_imported(MAIN, lambda module: _watch_session(module.Session))
    when_imported(FUNCTIONS, lambda module: _watch_product(module.Metafunc))


def rest(session: Any) -> list[Any]:
    """All tests of the session, if a part was collected: else none. Its own `items` stay as they are."""
    if not Thin.left:
        return []
    items, failed = session.items, session.testsfailed
    Thin.left = False
    try:
        session.perform_collect()
        return list(session.items)
    finally:
        session.items, session.testsfailed = items, failed


def _watch_session(session: Any) -> None:
    collect = session.perform_collect

    def perform_collect(self: Any, *args: Any, **named: Any) -> Any:
        Thin.now, Thin.begun = not Thin.begun and _may_thin(self.config), True
        try:
            return collect(self, *args, **named)
        finally:
            Thin.now = False

    session.perform_collect = perform_collect


def _may_thin(config: Any) -> bool:
    """Not where tests are named, nor where pytest-xdist, whose loop is its own, gives them out."""
    named = any("::" in str(word) for word in config.args)
    return not (named or hasattr(config, "workerinput"))


def _watch_product(functions: Any) -> None:
    parametrize = functions.parametrize

    def some(self: Any, *args: Any, **named: Any) -> None:
        parametrize(self, *args, **named)
        if Thin.now and len(self._calls) > MOST:
            self._calls, Thin.left = part(self._calls, self.definition.nodeid), True

    functions.parametrize = some


def part(calls: Sequence[Any], name: str) -> list[Any]:
    """`MOST` of these in their order, taken at random: steps might keep to one value of a parameter."""
    return [calls[at] for at in sorted(random.Random(name).sample(range(len(calls)), MOST))]
