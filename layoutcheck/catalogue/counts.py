"""What the modes and extents that a text prints decide: a mode that a tensor lacks, operands of an MMA that do not pair."""

from __future__ import annotations

import re
from collections.abc import Iterator

from layoutcheck.brackets import closing, split
from layoutcheck.catalogue import devices
from layoutcheck.catalogue.figures import TYPES
from layoutcheck.errors import InputError

_NAMED = re.compile(
    r"\b(?P<name>[A-Za-z_]\w*)`?(?:\.layout|\.shape)? ?(?:=|:|->|is|has|gives) ?(?:[^()\n;]{0,60}?)(?=\()"
)
_MODE = re.compile(
    r"\bsize\(`?(?P<name>[A-Za-z_]\w*)(?:\.shape|\.layout)?, mode ?= ?\[(?P<mode>[0-9]{1,2})\]\)"
)
_OF_MMA = re.compile(r"(?i)\bgemm\b|\bmma\b|partition_[ABC]")
_FRAGMENT = re.compile(
    r"(?<![\w.])(?:t?C?r?)(?P<operand>[ABCD])\b`?(?:\.shape)? ?(?:is|:|=|has|of)? ?(?=\(\()"
)
_PAIRS = (("M", "A", 1, "C", 1), ("N", "B", 1, "C", 2), ("K", "A", 2, "B", 2))
_TILE = re.compile(
    rf"(?i)(?P<role>\b(?:epilogue|output|accumulator)\b[^()0-9]{{0,20}})?\(? ?(?P<rows>[0-9]{{2,4}}) ?[,x×] ?(?P<columns>[0-9]{{2,4}}) ?\)?(?P<more> ?(?:and|\+|,) ?\(?[0-9]{{2,4}} ?[,x×] ?[0-9]{{2,4}}\)?)* ?(?:of )?(?P<type>{'|'.join(TYPES)})\b"
)
_EXTENTS = re.compile(r"(?P<rows>[0-9]{2,4}) ?[,x×] ?(?P<columns>[0-9]{2,4})")
_STAGES = re.compile(
    r"(?i)\b(?P<count>[2-9]|1[0-6])[- ]stages?\b|\b(?:num_)?stages? ?[=:] ?(?P<given>[2-9]|1[0-6])\b"
)


def told(folded: str) -> tuple[str, ...]:
    """What the counts of a text decide; none where it has not both of a pair."""
    return (*_fragments(folded), *_room(folded))


def lacking(folded: str) -> Iterator[str]:
    """That size(NAME, mode=[m]) asks for a mode that the printed shape of NAME lacks."""
    for call in _MODE.finditer(folded):
        shape = next(
            (_shape(folded, one.end()) for one in _NAMED.finditer(folded) if one["name"] == call["name"]), ""
        )
        parts = split(shape[1:-1]) if shape else []
        if parts and int(call["mode"]) >= len(parts):
            yield f"{call['name']} is printed as {shape}: {len(parts)} modes, 0 to {len(parts) - 1}, and no mode {call['mode']}"


def _fragments(folded: str) -> Iterator[str]:
    """Which of the modes (V, M, K), (V, N, K) and (V, M, N) do not pair among the operands of an MMA."""
    shapes = (
        {one["operand"]: _shape(folded, one.end()) for one in _FRAGMENT.finditer(folded)}
        if _OF_MMA.search(folded)
        else {}
    )
    modes = {name: [one.strip() for one in split(shape[1:-1])] for name, shape in shapes.items() if shape}
    modes.setdefault("C", modes.get("D", []))
    for mode, first, at, second, there in _PAIRS:
        have, other = modes.get(first, []), modes.get(second, [])
        if len(have) == len(other) == 3 and have[at] != other[there]:
            yield f"{mode} is {have[at]} in {first} {shapes[first]} and {other[there]} in {second} {shapes.get(second) or shapes['D']}: both count instructions of one tile, so that they were partitioned from tiles, or with MMAs, that differ"


def _shape(folded: str, start: int) -> str:
    """The bracketed shape that begins at a place; "" where it is cut, or no shape."""
    try:
        shape = folded[start : closing(folded, start)]
    except InputError:
        return ""
    return shape if re.fullmatch(r"[0-9(),?_ ]+", shape) else ""


def _room(folded: str) -> Iterator[str]:
    """That the tiles of a text, times its stages, are more than the GPU that it names has in a block."""
    most, stages = (
        devices.room(folded),
        {int(one["count"] or one["given"]) for one in _STAGES.finditer(folded)},
    )
    tiles = list(_TILE.finditer(folded))
    if not (most and tiles) or len(stages) != 1:
        return
    (count,) = stages
    terms, total = [], 0
    for tile in tiles:
        elements = [int(one["rows"]) * int(one["columns"]) for one in _EXTENTS.finditer(tile[0])]
        each = sum(elements) * TYPES[tile["type"].lower()][0] // 8
        times = 1 if tile["role"] else count
        total += each * times
        terms.append(f"{times} x {each:,}" if times > 1 else f"{each:,}")
    if total > most:
        yield f"the tiles of the text take {' + '.join(terms)} = {total:,} B of shared memory, above the {most:,} B of a block"
