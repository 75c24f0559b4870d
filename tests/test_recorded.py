"""Nothing that is said of the recorded copies changes unseen: see `tests/recorded.py`."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from layoutcheck.copies.copy import Copy
from tests.recorded import FILE, answer, copies

RECORDED: list[dict[str, Any]] = [json.loads(text) for text in FILE.read_text("utf-8").splitlines()]
AT_A_TIME = 12


@cache
def made() -> list[tuple[str, Copy]]:
    return list(copies())


def test_the_copies_are_those_that_were_recorded() -> None:
    assert [name for name, _ in made()] == [one["name"] for one in RECORDED]


@pytest.mark.parametrize("first", range(0, len(RECORDED), AT_A_TIME))
def test_what_is_said_is_what_was_recorded(first: int) -> None:
    """Where a change is meant, run `python -m tests.recorded` and read the diff."""
    for (name, copy), expected in zip(
        made()[first : first + AT_A_TIME], RECORDED[first : first + AT_A_TIME], strict=True
    ):
        found = json.loads(json.dumps(answer(name, copy)))
        for key, value in expected.items():
            assert found.get(key) == value, f"{key} of {name}: {copy}"


def test_no_address_of_the_model_is_said() -> None:
    """Operands lie in regions far apart; what a finding says counts from where the operand begins."""
    far = [
        (one["name"], code, key)
        for one in RECORDED
        for code, _, _, facts, _ in one["findings"]
        for key, value in facts.items()
        if isinstance(value, int) and abs(value) >= 1 << 40
    ]
    assert far == []
