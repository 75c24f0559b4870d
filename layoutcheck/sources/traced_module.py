"""`TracedModule`: a module as the DSL traced it, with the places of its operations in the user's source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from layoutcheck.digits import is_number
from layoutcheck.sources.printed import where_of
from layoutcheck.sources.traced import Frame, KernelPlace


class TracedModule(NamedTuple):
    """A module in MLIR's generic form.

    `sites` says of each operation's name at which of `places` its operations stand, in the order of the text;
    `places` are locations as the DSL prints them. `calls` are the program's, as `dsl/called.py` tells them.
    `caller` is the line that had the module built.
    """

    text: str
    kernel: str
    arch: str
    sites: Mapping[str, Sequence[int]]
    places: Sequence[str]
    calls: Sequence[tuple[Any, ...] | None] = ()
    caller: Frame = Frame("", 0)

    @property
    def lines(self) -> tuple[Frame, ...]:
        """The innermost line of each of the places."""
        return tuple(frame for place in self.places for frame in where_of(place)[:1])

    def frames(self, tag: str) -> list[Frame]:
        """The place of an operation ("cute.copy#3") and its callers, innermost first; [] for none."""
        name, _, number = tag.partition("#")
        sites = self.sites.get(name, ())
        at = int(number) if is_number(number) else -1
        known = 0 <= at < len(sites) and sites[at] < len(self.places)
        return where_of(self.places[sites[at]]) if known else []

    def place(self, tag: str, what: str, thread: int = 0) -> KernelPlace:
        """The place of an operation, at which `thread` does `what`; line 0 of no file where none is known."""
        where, *stack = self.frames(tag) or [Frame("", 0)]
        return KernelPlace(what, where, tuple(stack), thread)


def tags(names: Iterable[str]) -> list[str]:
    """The tags of operations, given by their names in the order of the text: the fourth is "cute.copy#3"."""
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        found.append(f"{name}#{seen[name]}")
        seen[name] += 1
    return found
