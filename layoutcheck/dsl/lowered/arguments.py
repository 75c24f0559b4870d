"""Numbers for what a kernel is given at run time: dynamic extents and strides, pointers, integers.

`Numbers` are those of a call that the program makes. With another `extent`, all dynamic extents become
that number, so that those which must be equal are; of several numbers, those of mode i of every tensor the
i-th, of further modes the last; `Unequal` gives those of one tensor other numbers. Otherwise a tensor's
dynamic extents become 512, or 1024 where its stride is 1, made a multiple of what the type promises. Its
dynamic strides make it compact, from the mode of stride 1 outwards; with `Spread` each leaves room. Each
pointer is an object of its own. An integer, of which nothing is known, is 1024.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.inttuple import flatten
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.notation import parse_any_layout
from layoutcheck.algebra.swizzle import ComposedLayout
from layoutcheck.dsl.lowered import spaces
from layoutcheck.dsl.lowered.held import Contents
from layoutcheck.dsl.lowered.tensors import GIVEN, tensor
from layoutcheck.dsl.lowered.types import SHARED, Type
from layoutcheck.dsl.lowered.values import Value
from layoutcheck.errors import InputError

Extent: TypeAlias = "int | tuple[int, ...] | Unequal | Spread | Numbers | None"

INNER_EXTENT, EXTENT, INTEGER = 1024, 512, 1024
ROOM = 4  # what strays by a whole extent, as an index of the other mode may, is in the room's nearer half
EXTENTS = "dynamic extents and strides are given numbers"  # what rests on these alone says so
OTHERS = "dynamic arguments are given numbers"
SHARED_ARGUMENT = 1 << 20  # where a pointer to shared memory points that a kernel is given

_LAYOUT = re.compile(r'"([^"]*:[^"]*)"')


@dataclass(frozen=True, slots=True)
class Unequal:
    """Numbers for the dynamic extents of the argument `index`, and of all others: one, or one by mode."""

    index: int
    own: int | tuple[int, ...]
    others: int | tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Numbers:
    """A call's numbers: of each argument those for its `?`, extents before strides, or an integer's.

    None is said of arguments that have none, or that are not known. `extents` are those of all tensors,
    `name` the tensors' shapes and the integers, as they are told. `contents` are what tensors of integers
    hold, of each argument, where that is known of one.
    """

    arguments: tuple[tuple[int, ...] | None, ...]
    extents: tuple[int, ...]
    name: str
    contents: tuple[Contents | None, ...] = ()

    def of(self, index: int) -> tuple[int, ...] | None:
        """Those of one argument."""
        return self.arguments[index] if index < len(self.arguments) else None

    @property
    def told(self) -> str:
        """The call in words, with what its tensors hold."""
        held = dict.fromkeys(map(str, filter(None, self.contents)))
        return f"{self.name}, where {'; '.join(held)}" if held else self.name


@dataclass(frozen=True, slots=True)
class Spread:
    """These extents, with room between the modes: each dynamic stride is four times what is behind it."""

    extent: int | tuple[int, ...] | Unequal | Numbers


class TooLarge(OverflowError):
    """A number that no argument holds: the strides of a tensor with these extents need more than 64 bits."""


def instantiate(
    kind: Type, cute_type: str, index: int, extent: Extent = None, integer: int | None = None
) -> Value:
    """A value of the lowered type `kind` for argument `index`, whose type was `cute_type` when traced.

    Raises TooLarge.
    """
    if isinstance(extent, Numbers):
        return _fill(kind, iter(extent.of(index) or ()), index, INTEGER if integer is None else integer)
    room = ROOM if isinstance(extent, Spread) else 1
    extent = extent.extent if isinstance(extent, Spread) else extent
    if isinstance(extent, Unequal):
        extent = extent.own if extent.index == index else extent.others
    layout = dynamic_layout(cute_type)
    if isinstance(extent, Numbers):
        given = extent.of(index) or ()
        numbers = iter(given if layout is None else _spread(layout, given))
        return _fill(kind, numbers, index, INTEGER if integer is None else integer)
    numbers = iter([] if layout is None else dynamic_leaves(layout, extent, room))
    return _fill(kind, numbers, index, INTEGER if integer is None else integer)


def _fill(kind: Type, numbers: Iterator[int], index: int, integer: int) -> Value:
    if kind.kind == "struct":
        return tuple(_fill(part, numbers, index, integer) for part in kind.parts)
    if kind.kind == "array":
        return tuple(_fill(kind.parts[0], numbers, index, integer) for _ in range(kind.count))
    if kind.kind == "pointer":
        return SHARED_ARGUMENT if kind.space == SHARED else spaces.object_at(index + 1)
    if kind.bits == 1:
        return 0
    found = next(numbers, integer if kind.bits >= 32 else 0)
    if found >= 1 << 63:
        raise TooLarge
    return found


@cache
def dynamic_layout(cute_type: str) -> Layout | None:
    """The layout of a printed type, where something of it is dynamic."""
    match = _LAYOUT.search(cute_type)
    if match is None or "?" not in match[1]:
        return None
    try:
        layout: Any = parse_any_layout(match[1])
    except InputError:
        return None
    while isinstance(layout, ComposedLayout):
        layout = layout.outer
    return layout


def dynamic_leaves(layout: Layout, extent: int | tuple[int, ...] | None, room: int) -> list[int]:
    """Numbers for the `?` of a layout, extents before strides, left to right; these `room` times compact."""
    shape, stride = flatten(layout.shape), flatten(layout.stride)
    given = iter(_by_leaf(layout, extent))
    extents: list[int] = []
    chosen: list[int] = []
    for leaf, step in zip(shape, stride, strict=True):
        number = next(given)
        if isinstance(leaf, Dynamic):
            size = number or (INNER_EXTENT if step == 1 else EXTENT)
            chosen.append(-(-size // leaf.divisor) * leaf.divisor)
            extents.append(chosen[-1])
        else:
            extents.append(int(leaf))
    return [*chosen, *_compact(extents, stride, room)]


def _spread(layout: Layout, given: Sequence[int]) -> list[int]:
    """A call's numbers for the `?` of a layout, with room between its modes in the order of its strides."""
    shape, stride = flatten(layout.shape), flatten(layout.stride)
    numbers = iter(given)
    extents, steps = (
        [next(numbers, 0) if isinstance(leaf, Dynamic) else int(leaf) for leaf in part]
        for part in (shape, stride)
    )
    reach = max((e * abs(s) for e, s, leaf in zip(extents, steps, stride, strict=True)
                 if not isinstance(leaf, Dynamic)), default=1)  # fmt: skip
    dynamic = [i for i, leaf in enumerate(stride) if isinstance(leaf, Dynamic)]
    found = dict(zip(dynamic, (steps[i] for i in dynamic), strict=True))
    for i in sorted(dynamic, key=steps.__getitem__):
        if steps[i] > 0:  # what is broadcast stays so
            divisor = stride[i].divisor
            found[i] = -(-reach * (ROOM if reach > 1 else 1) // divisor) * divisor
            reach = max(reach, found[i] * extents[i])
    chosen = [extents[i] for i, leaf in enumerate(shape) if isinstance(leaf, Dynamic)]
    return [*chosen, *(found[i] for i in dynamic)]


def _by_leaf(layout: Layout, extent: int | tuple[int, ...] | None) -> Iterator[int | None]:
    """The number that `extent` gives each leaf, whether it is dynamic or not."""
    modes = layout.shape if isinstance(layout.shape, tuple) else (layout.shape,)
    for i, mode in enumerate(modes):
        number = extent[min(i, len(extent) - 1)] if isinstance(extent, tuple) else extent
        yield from (number for _ in flatten(mode))


def _compact(extents: list[int], stride: tuple[Any, ...], room: int) -> list[int]:
    """Strides for the dynamic ones: each `room` times what is behind it."""
    reach = 1
    for extent, step in zip(extents, stride, strict=True):
        if isinstance(step, int):
            reach = max(reach, extent * abs(step))
    dynamic = [i for i, step in enumerate(stride) if isinstance(step, Dynamic)]
    last_is_inner = bool(stride) and stride[-1] == 1
    found: dict[int, int] = {}
    for i in reversed(dynamic) if last_is_inner else dynamic:
        divisor = stride[i].divisor
        found[i] = -(-reach * (room if reach > 1 else 1) // divisor) * divisor
        reach = found[i] * extents[i]
    return [found[i] for i in dynamic]


ROOMS = (65, 33, 17, 9)  # odd: alignments stay. The most that 32-bit offsets hold, else `ROOM`
_MOST_ELEMENTS = 1 << 30
_DYNAMIC = 1 << 12  # what a dynamic extent counts as; no stride lies close behind one
_PRINTED_LAYOUT = re.compile(r'"([^"]*):([^":]*)"')
_LEAF = re.compile(r"\?(?:\{[^}]*\})?|-?[0-9]+")


def roomier(types: Iterable[str]) -> dict[str, str]:
    """New types for those of tensors whose static strides leave no room; of their layouts and strides too.

    In a compact tensor the element behind a row's last is the next row's first. Static strides stand in the
    types, and in those of every tile: the DSL makes them anew (`tasks.room`) for tensors whose strides are
    `ROOM` times as large from mode to mode. `modes` compares.
    """
    found: dict[str, str] = {}
    for kind in types:
        memref, match = tensor(kind), _PRINTED_LAYOUT.search(kind)
        if (
            memref is None
            or memref.space not in GIVEN
            or match is None
            or not isinstance(memref.layout, Layout)
        ):
            continue
        strides = _with_room(flatten(memref.layout.shape), flatten(memref.layout.stride))
        if strides is None or len(_LEAF.findall(match[2])) != len(strides):
            continue
        given = iter(strides)
        stride = _LEAF.sub(lambda leaf: next(given) or leaf[0], match[2])  # noqa: B023 - used at once
        layout = f'"{match[1]}:{stride}"'
        found[kind] = kind.replace(match[0], layout)
        found[f"!cute.layout<{match[0]}>"] = f"!cute.layout<{layout}>"
        found[f'!cute.stride<"{match[2]}">'] = f'!cute.stride<"{stride}">'
    return found


def _with_room(shape: Sequence[object], stride: Sequence[object]) -> list[str | None] | None:
    """Strides with room behind each mode that lies close behind another; None for those that stay.

    No list where none changes.
    """
    leaves: list[tuple[int, int, int]] = []  # stride, extent, which
    for i, (extent, step) in enumerate(zip(shape, stride, strict=True)):
        if isinstance(step, Dynamic) or extent == 1:
            continue
        if not isinstance(step, int) or step < 1:
            return None
        leaves.append((step, extent if isinstance(extent, int) else _DYNAMIC, i))
    leaves.sort()
    close = [i > 0 and leaves[i - 1][0] * leaves[i - 1][1] == leaves[i][0] for i in range(len(leaves))]
    most = max((step * extent for step, extent, _ in leaves), default=1)
    room = next((n for n in ROOMS if most * n ** sum(close) <= _MOST_ELEMENTS), ROOM)
    found: list[str | None] = [None] * len(stride)
    times = 1
    for (step, _, i), behind in zip(leaves, close, strict=True):
        times *= room if behind else 1
        found[i] = str(step * times) if times > 1 else None
    return found if any(found) else None
