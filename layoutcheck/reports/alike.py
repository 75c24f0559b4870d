"""Reasons that say the same with other examples, told once."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from layoutcheck.sources.traced import KEPT

# Where the example begins: "... its own: with 64 beside 128 it is left", "...: thread 8 of block (3,2,0) ..."
_EXAMPLE = re.compile(r": (?:with [0-9]|thread [0-9])")


class Alike(NamedTuple):
    """The first of them in words, how often all of them together, and each."""

    words: str
    times: int
    reasons: tuple[str, ...]


def alike(reasons: Iterable[tuple[str, int]]) -> list[Alike]:
    """Reasons with their counts, those that differ in their example alone as one; the most frequent first."""
    groups: dict[tuple[str, bool], list[tuple[str, int]]] = {}
    for reason, count in reasons:
        groups.setdefault((_EXAMPLE.split(reason, maxsplit=1)[0], KEPT in reason), []).append((reason, count))
    found = []
    for members in groups.values():
        members.sort(key=lambda one: -one[1])
        first = members[0][0]
        more = f"; {len(members) - 1} more such, with other numbers" if len(members) > 1 else ""
        found.append(Alike(first + more, sum(n for _, n in members), tuple(reason for reason, _ in members)))
    return sorted(found, key=lambda one: -one.times)
