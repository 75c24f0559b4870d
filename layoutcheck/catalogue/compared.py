"""What two layouts of a text are to each other, where it asks; what a rank that a message asks for is to a printed tensor."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from layoutcheck.algebra import Layout, cosize, parse_layout, size
from layoutcheck.algebra.image import image
from layoutcheck.catalogue.figures import sentences
from layoutcheck.catalogue.symptoms import placed

_ASKED = re.compile(
    r"(?i)\bsame (?:layout|function|map\w*|thing|order|offsets?)|\b(?:equal|equivalent|identical)\b|\bdifference between\b"
)
_OF_ONE_MODE = re.compile(r"(?<![\w.:,(<])_?(?P<extent>[0-9]{1,5}):_?(?P<stride>[0-9]{1,5})(?![\w.:,)>])")
_PAIR = 2
_MOST = 1 << 16  # coordinates


def told(folded: str) -> tuple[str, ...]:
    """Whether the two layouts of a sentence are one function of an index, where it asks; none of more or fewer layouts."""
    pairs = (_pair(said) for said in sentences(folded) if _ASKED.search(said))
    return tuple(fact for pair in pairs if len(pair) == _PAIR for fact in _compared(*pair))


def _pair(folded: str) -> list[Layout]:
    """The layouts of a sentence; none where one of them is not known whole, or large."""
    found: dict[str, Layout | None] = {text: layout for _, text, layout in placed(folded)}
    if found:  # of numbers alone "12:30" is a time
        found |= {
            one[0]: parse_layout(f"{one['extent']}:{one['stride']}") for one in _OF_ONE_MODE.finditer(folded)
        }
    layouts = [one for one in found.values() if one is not None and one.is_static]
    sizes = [size(one) for one in layouts]
    return (
        layouts
        if len(layouts) == len(found) and all(isinstance(one, int) and one <= _MOST for one in sizes)
        else []
    )


def _compared(one: Layout, other: Layout) -> Iterator[str]:
    """Whether both have the same offset at each index, the first mode fastest; else where not, and whether they reach the same elements."""
    first, second = image(one), image(other)
    both = f"{one} and {other}"
    if first.size != second.size:
        yield f"{both} have {first.size} and {second.size} coordinates: they are no one function"
        return
    apart = np.nonzero(first != second)[0]
    if not apart.size:
        yield f"{both} are one function of an index from 0 to {first.size - 1} (the first mode counts fastest): they differ in the shape of their coordinates alone"
        return
    at = int(apart[0])
    same = np.array_equal(np.sort(first), np.sort(second))
    reach = (
        "both reach the same offsets, in another order"
        if same
        else f"they reach other offsets, {cosize(one)} and {cosize(other)} elements"
    )
    yield f"{both} are two functions: index {at} (the first mode counts fastest) lies at {int(first[at])} in the first and at {int(second[at])} in the second; {reach}"
