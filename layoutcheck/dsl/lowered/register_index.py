"""Elements of a tensor in registers at an index that it does not have: `beyond(text)`, of a traced module.

The DSL takes a layout for the function that it is, and checks no index: of (1):(0) index 1 is element 0
again, of 4:1 index 4 is whatever register lies behind. Neither is what the index says, though both compile.
Only indices are looked at that are numbers in the module, as those of unrolled loops are.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from math import prod
from typing import NamedTuple

from layoutcheck.algebra.inttuple import flatten
from layoutcheck.algebra.layout import Layout
from layoutcheck.algebra.notation import parse_any_layout, parse_tree
from layoutcheck.errors import InputError

_ACCESS = re.compile(
    r'"(cute\.memref\.(load|store))"\('
    r'(?:[^\n]*?\) : \(!cute\.memref<[^",]*, rmem[^"\n]*"([^"\n]*)">, !cute\.coord<"([^"\n?_]*)">)?'
)


class Beyond(NamedTuple):
    """An element that is written, or read: the tensor's layout, where, the elements of the mode it is in.

    The layout gives it `offset`, and the tensor's last element `last`.
    """

    write: bool
    layout: str
    at: str
    elements: int
    offset: int
    last: int


def beyond(text: str) -> Iterator[tuple[str, Beyond]]:
    """(tag, access) of those that leave their tensor, in order."""
    seen: Counter[str] = Counter()
    for match in _ACCESS.finditer(text):
        name, kind, layout, index = match.groups()
        tag = f"{name}#{seen[name]}"
        seen[name] += 1
        found = _outside(layout, index) if layout is not None else None
        if found is not None:
            yield tag, Beyond(kind == "store", layout, index, *found)


@cache
def _outside(text: str, index: str) -> tuple[int, int, int] | None:
    """The elements of the mode that an index leaves, its offset and the last element's; None inside."""
    try:
        layout, at = parse_any_layout(text), parse_tree(index)
    except InputError:
        return None
    if not isinstance(layout, Layout) or not layout.is_static:
        return None
    size = prod(map(int, flatten(layout.shape)))
    modes = [(at, size)] if isinstance(at, int) else []
    if isinstance(at, tuple) and len(at) == len(layout):
        counts = (prod(map(int, flatten(mode.shape))) for mode in layout.modes)
        modes = list(zip(at, counts, strict=True))
    left = [count for one, count in modes if isinstance(one, int) and one >= count]
    return (left[0], int(layout(at)), int(layout(size - 1))) if left else None
