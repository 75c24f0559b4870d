"""What threads hand on in registers: copies that fill them and copies that empty them hold the same elements.

A trace shows every copy by itself. A fragment that is filled by one thread-value layout and emptied by
another moves its elements to other places, though each copy is legal. So an edit that changes which elements
a thread holds must change it alike for a copy on the other side of the registers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from layoutcheck.algebra.simplify import coalesce
from layoutcheck.copies.copy import Copy
from layoutcheck.sources.traced import Distinct

Place: TypeAlias = tuple[str, int]
Held: TypeAlias = tuple[str, frozenset[object]]
"""Which side of a place's copies is registers ("src", "dst"), and which elements their threads hold."""


def held(copies: Iterable[Distinct]) -> dict[Place, Held]:
    """What threads hold at every place whose copies have one side in registers and a known tiled copy."""
    found: dict[Place, tuple[str, set[object]]] = {}
    for one in copies:
        copy = one.first.copy
        sides = [] if copy is None else [side for side in ("src", "dst") if copy.side(side).space == "rmem"]
        if copy is not None and copy.tiling is not None and len(sides) == 1:
            place = one.first.where.file, one.first.where.line
            found.setdefault(place, (sides[0], set()))[1].add(_elements(copy))
    return {place: (side, frozenset(maps)) for place, (side, maps) in found.items()}


def _elements(copy: Copy) -> object:
    assert copy.tiling is not None
    tiled = copy.tiling.tiled
    return (*(str(coalesce(mode)) for mode in tiled.layout_tv.modes), str(tiled.tiler))


def torn(before: dict[Place, Held], after: dict[Place, Held], moved: Callable[[Place], Place]) -> bool:
    """Whether a place's threads hold other elements than they did, and no place opposite does so with it.

    `moved` says where a place is after the edit.
    """
    for place, (side, maps) in before.items():
        now = after.get(moved(place))
        if now is None or now[1] == maps:
            continue
        opposite = [at for at, (other, theirs) in before.items() if other != side and theirs == maps]
        if not opposite or any(after.get(moved(at), ("", None))[1] != now[1] for at in opposite):
            return True
    return False
