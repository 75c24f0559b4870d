"""Tests of a run whose time is limited, in an order in which what differs comes early.

pytest runs all parameters of the first test, then those of the second. A run that is ended after a while has
then seen the first test's kernels a hundred times and the last test's never. Here every test of a file has
its turn, and of a test's parameters those that lie far apart come first.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

from layoutcheck.dsl.imports import when_imported

MAIN = "_pytest.main"
T = TypeVar("T")
_GOLDEN = (5**0.5 - 1) / 2  # steps of this share of a circle visit it evenly, however many are made


def spread_tests() -> None:
    """Have pytest run its tests in this order, from here on."""
    when_imported(MAIN, lambda module: _watch(module.Session))


def spread(items: Sequence[T], group: Callable[[T], Hashable]) -> list[T]:
    """The items, one of each group in turn; a group's own in steps that visit it evenly. Each comes once."""
    groups: dict[Hashable, list[T]] = {}
    for item in items:
        groups.setdefault(group(item), []).append(item)
    ranked = [
        (rank, number, mine[at])
        for number, mine in enumerate(groups.values())
        for rank, at in enumerate(_evenly(len(mine)))
    ]
    return [item for _, _, item in sorted(ranked, key=lambda one: one[:2])]


def _evenly(size: int) -> dict[int, None]:
    """The numbers below `size`, in the order of golden steps around a circle of that many places.

    N steps leave no gap above 1.9 / N of the circle (three-distance theorem): 3 * `size` meet every place.
    """
    return dict.fromkeys(int(step * _GOLDEN % 1 * size) for step in range(3 * size))


def _watch(session: Any) -> None:
    collect = session.perform_collect

    def perform_collect(self: Any, *args: Any, **named: Any) -> Any:
        made = collect(self, *args, **named)
        self.items[:] = spread(self.items, lambda item: item.nodeid.partition("[")[0])
        return made

    session.perform_collect = perform_collect
