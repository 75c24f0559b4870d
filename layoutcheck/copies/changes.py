"""What a fix changes: every argument of a copy in which the repaired one differs, from what to what.

The list is worked out from the two copies and believed from nobody: an argument that is not in it is as it
was given, and a fix whose list is empty is none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.inttuple import flatten, unflatten, wrap
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.notation import print_tiler
from layoutcheck.algebra.simplify import coalesce
from layoutcheck.copies.copy import Copy, TmaTile
from layoutcheck.copies.opaque import OtherOperand

SIDES = ("src", "dst")


class Change(NamedTuple):
    """`argument` ("dst layout", "atom", "threads launched", ...) goes from `before` to `after`."""

    argument: str
    before: str
    after: str


def changes(given: Copy, made: tuple[Copy, ...]) -> tuple[Change, ...]:
    """Every argument of `given` that the copies `made` in its place have otherwise.

    Several copies are one after the other: the first reads the source, the last writes the destination, what
    is between them is new.
    """
    first, last = made[0], made[-1]
    found = [*_operand("src", given, first), *_operand("dst", given, last)]
    found += _differing("copies", "1", str(len(made)))
    found += _differing("atom", str(given.atom), ", ".join(dict.fromkeys(str(one.atom) for one in made)))
    found += _differing("threads and values", _threads(given), _threads(first))
    found += _differing("threads launched", _launched(given), _launched(first))
    for name in ("pred", "index", "aux"):
        found += _differing(name, str(getattr(given, name)), str(getattr(first, name)))
    found += _differing("operation", given.op, ", ".join(dict.fromkeys(one.op for one in made)))
    return (*found, *_of_barriers(given, first))


def moved_sides(given: Copy, made: Copy) -> Iterator[str]:
    """The sides of whose tensors some element lies elsewhere; what is promised of run-time strides aside."""
    for side in SIDES:
        old, new = given.whole(side), made.whole(side)
        known = not isinstance(old, OtherOperand) and not isinstance(new, OtherOperand)
        if known and (_unpromised(old.layout), old.swizzle) != (_unpromised(new.layout), new.swizzle):
            yield side


def _unpromised(layout: Layout) -> Layout:
    """The layout in fewest modes, without what is promised of its run-time strides."""
    strides = (Dynamic(1, d.bits) if isinstance(d, Dynamic) else d for d in flatten(wrap(layout.stride)))
    return coalesce(Layout(layout.shape, unflatten(strides, layout.shape)))


def _of_barriers(given: Copy, made: Copy) -> Iterator[Change]:
    """What bulk and TMA copies have beside their tensors."""
    if (given.issue is None) != (made.issue is None):
        yield from _differing("barrier", _known(given.issue), _known(made.issue))
    elif given.issue is not None and made.issue is not None:
        yield from _differing("issuing threads", str(given.issue.threads), str(made.issue.threads))
        yield from _differing("expected bytes", str(given.issue.expect_bytes), str(made.issue.expect_bytes))
        yield from _differing("cluster", str(given.issue.cluster), str(made.issue.cluster))
    yield from _differing("TMA tile", _tile(given.tma), _tile(made.tma))


def _tile(tile: TmaTile | None) -> str:
    if tile is None:
        return "None"
    parts = [str(tile.tiler), f"at {tile.coord}" if tile.coord else ""]
    for name, value in (
        ("described as", tile.described),
        ("held as", tile.internal),
        ("im2col", tile.im2col),
    ):
        parts.append("" if value is None else f"{name} {value}")
    return " ".join(filter(None, parts))


def _known(value: object) -> str:
    return "None" if value is None else "known"


def _operand(side: str, given: Copy, made: Copy) -> Iterator[Change]:
    """What differs of the tensor behind an operand: of the whole tile where both have one."""
    old, new = given.whole(side), made.side(side) if given.tiling is None else made.whole(side)
    if given.tiling and made.tiling and old == new and given.tiling.tiled == made.tiling.tiled:
        old, new = given.side(side), made.side(side)
    if isinstance(old, OtherOperand) or isinstance(new, OtherOperand):
        yield from _differing(side, str(old), str(new))
        return
    yield from _differing(f"{side} element type", str(old.dtype), str(new.dtype))
    yield from _differing(f"{side} space", old.space, new.space)
    yield from _differing(f"{side} layout", str(old.layout), str(new.layout))
    if new.space != "rmem":  # registers have no address
        old_align, new_align = old.proved_align_bytes, new.proved_align_bytes
        yield from _differing(f"{side} alignment", f"{old_align} B", f"{new_align} B")
    yield from _differing(f"{side} swizzle", str(old.swizzle), str(new.swizzle))


def _threads(copy: Copy) -> str:
    tiled = copy.tiling.tiled if copy.tiling is not None else copy.tiled
    return "None" if tiled is None else f"{tiled.layout_tv} over {print_tiler(tiled.tiler)}"


def _launched(copy: Copy) -> str:
    return str(copy.block_threads)


def _differing(argument: str, before: str, after: str) -> list[Change]:
    return [] if before == after else [Change(argument, before, after)]
