"""The kinds of a library's message: no pattern takes a time that grows with the square of the text."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from typing import Any

import pytest

from layoutcheck.catalogue import demands

parser: Any = getattr(re, "_parser", None) or importlib.import_module("sre_parse")
EVERY = (*demands.DEMANDS, demands.INNER, *demands.COMPILED)


def endless(items: Any) -> bool:
    """Whether a sequence of items has a `.*`, in a look-ahead or a group as well."""
    return any(
        (operator in (parser.MAX_REPEAT, parser.MIN_REPEAT) and argument[1] == parser.MAXREPEAT
         and argument[2][0][0] is parser.ANY)
        or any(map(endless, sequences(operator, argument)))
        for operator, argument in items
    )  # fmt: skip


def sequences(operator: Any, argument: Any) -> Iterator[Any]:
    if operator is parser.SUBPATTERN:
        yield argument[-1]
    elif operator is parser.BRANCH:
        yield from argument[1]
    elif operator in (parser.ASSERT, parser.ASSERT_NOT):
        yield argument[1]
    elif operator in (parser.MAX_REPEAT, parser.MIN_REPEAT):
        yield argument[2]


def alternatives(items: Any) -> Iterator[Any]:
    """The alternatives of a pattern at its top."""
    if len(items) == 1 and items[0][0] in (parser.BRANCH, parser.SUBPATTERN):
        for one in sequences(*items[0]):
            yield from alternatives(one)
    else:
        yield items


def squared(pattern: str) -> bool:
    """Whether an alternative looks through the rest of the text from each of its places."""
    return any(
        endless(one) and one[0] != (parser.AT, parser.AT_BEGINNING)
        for one in alternatives(parser.parse(pattern))
    )


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [("(?=.*a)b", True), ("a|b.*c", True), ("^(?=.*a).*b", False), ("a.{0,9}b|^c.*", False)],
)
def test_a_pattern_that_looks_on_from_each_place_is_known(pattern: str, expected: bool) -> None:
    assert squared(pattern) is expected


def test_a_long_message_is_looked_through_once() -> None:
    assert [one.cause for one in EVERY if squared(one.words.text)] == []
    long = "expected index assert 1 == tile shared " * 1300
    assert len(long) > 50_000
    assert demands.demand(long) is demands.demand(long[:500])
