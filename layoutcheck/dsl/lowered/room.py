"""The types of tensors in global memory with room between their modes, where their strides are static.

In a compact tensor the element behind a row's last is the next row's first. Static strides stand in the
types, and in those of every tile: the DSL makes them anew (`tasks.room`) for tensors whose strides are `ROOM`
times as large from mode to mode. `modes` compares.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from layoutcheck.algebra.integers import Dynamic
from layoutcheck.algebra.inttuple import flatten
from layoutcheck.algebra.layout import Layout
from layoutcheck.dsl.lowered.arguments import ROOM
from layoutcheck.dsl.lowered.tensors import GIVEN, tensor

ROOMS = (64, 32, 16, 8)  # the most that 32-bit offsets hold; `ROOM` where they hold none of these
_MOST_ELEMENTS = 1 << 30
_DYNAMIC = 1 << 12  # what a dynamic extent counts as; no stride lies close behind one
_LAYOUT = re.compile(r'"([^"]*):([^":]*)"')
_LEAF = re.compile(r"\?(?:\{[^}]*\})?|-?[0-9]+")


def roomier(types: Iterable[str]) -> dict[str, str]:
    """New types for those of tensors whose static strides leave no room; of their layouts and strides too."""
    found: dict[str, str] = {}
    for kind in types:
        memref, match = tensor(kind), _LAYOUT.search(kind)
        if (
            memref is None
            or memref.space not in GIVEN
            or match is None
            or not isinstance(memref.layout, Layout)
        ):
            continue
        strides = _spread(flatten(memref.layout.shape), flatten(memref.layout.stride))
        if strides is None or len(_LEAF.findall(match[2])) != len(strides):
            continue
        given = iter(strides)
        stride = _LEAF.sub(lambda leaf: next(given) or leaf[0], match[2])  # noqa: B023 - used at once
        layout = f'"{match[1]}:{stride}"'
        found[kind] = kind.replace(match[0], layout)
        found[f"!cute.layout<{match[0]}>"] = f"!cute.layout<{layout}>"
        found[f'!cute.stride<"{match[2]}">'] = f'!cute.stride<"{stride}">'
    return found


def _spread(shape: Sequence[object], stride: Sequence[object]) -> list[str | None] | None:
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
