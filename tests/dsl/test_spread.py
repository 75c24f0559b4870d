"""Tests in an order in which what differs comes early."""

from __future__ import annotations

from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from layoutcheck.dsl import spread as module
from layoutcheck.dsl.spread import spread


def function(name: str) -> str:
    return name.partition("[")[0]


@given(st.lists(st.sampled_from("abc"), max_size=60))
def test_every_test_comes_once_and_every_function_has_its_turn(groups: list[str]) -> None:
    items = [f"{group}[{i}]" for i, group in enumerate(groups)]
    found = spread(items, function)
    assert sorted(found) == sorted(items)
    turns = {
        group: [i for i, item in enumerate(found) if function(item) == group]
        for group in dict.fromkeys(groups)  # as they stand in the file
    }
    for rank in range(max(map(len, turns.values()), default=0)):
        at = [places[rank] for places in turns.values() if rank < len(places)]
        assert at == sorted(at) and max(at) - min(at) == len(at) - 1


@given(st.integers(8, 5000), st.integers(3, 40))
def test_the_first_parameters_lie_far_apart(size: int, taken: int) -> None:
    """No gap between `taken` of them is longer than 1.9 even ones: the three-distance theorem, rounded."""
    first = sorted(spread(list(range(size)), lambda _: 0)[: min(taken, size)])
    gaps = [b - a for a, b in zip(first, [*first[1:], first[0] + size], strict=True)]
    assert max(gaps) <= 1.9 * size / len(first) + 1


def test_a_session_runs_them_in_this_order() -> None:
    class Session:
        items: list[SimpleNamespace]

        def perform_collect(self, *, genitems: bool = True) -> list[SimpleNamespace]:
            self.items = [
                SimpleNamespace(nodeid=f"f.py::{name}") for name in (*(f"a[{i}]" for i in range(4)), "b")
            ]
            return self.items

    module._watch(Session)
    session = Session()
    session.perform_collect(genitems=True)
    assert [item.nodeid[6:] for item in session.items] == ["a[0]", "b", "a[2]", "a[3]", "a[1]"]
