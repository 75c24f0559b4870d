"""The rules of `words.toml`: what they say of a problem depends on its kind alone."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from layoutcheck.order.rules.rule import OrderRule, Places, Problem, does, line, ordered, two, who
from layoutcheck.sources.traced import KernelPlace

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


class _Party:
    """What a sentence may say of one party to a problem; by itself, its line."""

    def __init__(self, place: KernelPlace) -> None:
        self.line, self.what, self.thread = line(place), place.what, place.thread
        self.does, self.subject = does(place), who(place).capitalize()

    def __str__(self) -> str:
        return self.line


def worded() -> Iterator[OrderRule]:
    """Every rule of the file."""
    told = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
    for code, kinds in told.items():
        yield ordered(code, kinds, partial(_tell, kinds))


def _tell(kinds: Mapping[str, Mapping[str, Any]], problem: Problem, places: Places) -> tuple[str, str]:
    """Title and message of a problem."""
    parties = [_Party(place) for place in places]
    known: dict[str, Any] = dict(zip(("first", "second", "third"), parties, strict=False))
    known |= {"last": parties[-1], "facts": problem.facts}
    if len(places) > 1:
        known["two"] = two(problem, places)
    if problem.first is not None:
        known["byte"] = problem.first.address
    words = kinds[problem.kind]
    words = words if len(places) > 1 else words.get("alone", words)
    return words["title"].format_map(known), words["message"].format_map(known)
