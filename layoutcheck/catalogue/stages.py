"""What the tiles of a text take of a block's shared memory: how many stages of them fit, or by how much they do not."""

from __future__ import annotations

import re
from collections.abc import Iterator

from layoutcheck.catalogue import devices, tiles
from layoutcheck.catalogue.figures import TYPES
from layoutcheck.machine import arch

_TYPE = re.compile(rf"(?i)\b(?:{'|'.join(TYPES)})")
_GEMM = re.compile(
    r"\b(?P<m>64|128|192|256) ?[x×,] ?(?P<n>8|16|32|64|96|128|160|192|224|256) ?[x×,] ?(?P<k>16|32|64|128|256)\b"
)
_STAGES = re.compile(
    r"(?i)\b(?:num_?|k)?stages? ?[=:]? ?([0-9]{1,2})\b|\b([0-9]{1,2})[- ]stages?\b|\b(?P<one>one|single)[- ]stage\b"
)
_HOW_MANY = re.compile(
    r"(?i)\b(?:how many|max\w*|most|the number of)\b[^.?;]{0,40}\bstages?\b|\bstages?\b[^.?;]{0,40}\b(?:fit|possible|maximum|at most)\b"
)
_GENERATION = re.compile(r"\b(?:Ampere|Ada|Hopper|Blackwell)\b")
_OF = {"Ampere": (80, 86), "Ada": (89,), "Hopper": (90,), "Blackwell": (100, 120)}
_ONCE = re.compile(r"(?i)\b(?:epilogue|output|accumulator)\b[^()0-9]{0,20}\(?$")
_OF_TILES = re.compile(r"(?i)\btiles?\b|smem|shared[ _]mem|\bstages of\b")
_PROBLEM = re.compile(
    r"(?i)\b(?:problem|matri\w+|matmul|gemm|global|gmem|inputs?|shapes?|sizes?)\b[^.;()]{0,20}$"
)
_NEAR = 40  # characters


def told(folded: str) -> tuple[str, ...]:
    """What the stages of a text come to; none where it has not tile, type and GPU, or asks for none of them."""
    return tuple(_of_gemm(folded)) or tuple(_of_tiles(folded))


def _named(folded: str) -> set[int]:
    """The numbers of stages that a text names."""
    return {1 if one["one"] else int(one[1] or one[2]) for one in _STAGES.finditer(folded)}


def _of_gemm(folded: str) -> Iterator[str]:
    """Of a tile of M x N x K: the stages that are too many, or how many fit where the text asks that."""
    tile, typed = _GEMM.search(folded), _TYPE.search(folded)
    if not (tile and typed):
        return
    m, n, k = (int(tile[name]) for name in "mnk")
    bits, most = TYPES[typed[0].lower()], devices.room(folded)
    each = (m + n) * k * bits // 8
    parts = f"({m} + {n}) x {k} elements of {typed[0]}"
    for count in sorted(_named(folded)):
        if 0 < most < count * each:
            yield f"{count} stages of A and B, {parts}, are {count * each:,} B, above the {most:,} B of a block: {most // each} fit, without the epilogue's tile"
    if not _HOW_MANY.search(folded):
        return
    named = _OF.get(generation[0]) if (generation := _GENERATION.search(folded)) else None
    rooms = [(most, "a block")] if most else _rooms(named or [one for one in arch.numbers() if one >= 80])
    fit = "; ".join(
        f"{room // each} fit the {room:,} B of {of}, {max(room - m * n * bits // 8, 0) // each} beside an epilogue's tile of {m} x {n} {typed[0]}"
        for room, of in rooms
    )
    yield f"a stage of A and B, {parts}, takes {each:,} B of shared memory: {fit}. Barriers take 16 B a stage; more stages than hide the latency gain nothing, and a block that takes all of it is alone on its multiprocessor (`layoutcheck resources`)"


def _rooms(numbers: list[int] | tuple[int, ...]) -> list[tuple[int, str]]:
    """The bytes of a block on these architectures, the most first, each with those that have as many."""
    rooms: dict[int, list[str]] = {}
    for one in numbers:
        rooms.setdefault(arch.most_shared(one), []).append(f"sm_{one}")
    return [(most, f"a block of {', '.join(names)}") for most, names in sorted(rooms.items(), reverse=True)]


def _of_tiles(folded: str) -> Iterator[str]:
    """That the tiles of a text, times its stages, are more than the GPU that it names has in a block; which half of one fits."""
    most, stages = devices.room(folded), _named(folded)
    every = tiles.find(folded)
    if not (most and every and _OF_TILES.search(folded)) or len(stages) != 1:
        return
    (count,), taken, terms, at = stages, list[int](), list[str](), 0
    for tile in every:
        at = folded.index(tile.said, at)
        if tile.bytes > most or _PROBLEM.search(folded, max(0, at - _NEAR), at):
            return  # the extents of a problem
        times = 1 if _ONCE.search(folded, max(0, at - _NEAR), at) else count
        taken.append(tile.bytes * times)
        terms.append(f"{times} x {tile.bytes:,}" if times > 1 else f"{tile.bytes:,}")
    total = sum(taken)
    if total <= most:
        return
    halves = (
        (one, total - bytes_ // 2)
        for one, bytes_ in zip(every, taken, strict=True)
        if total - bytes_ // 2 <= most
    )
    fits = next(
        (
            f": with {one.rows // 2} rows in place of the {one.rows} of {one.said} it is {left:,} B, which fits"
            for one, left in sorted(halves, key=lambda half: half[0].rows)
        ),
        "; take smaller tiles or fewer stages",
    )
    yield f"the tiles of the text take {' + '.join(terms)} = {total:,} B of shared memory, {total - most:,} above the {most:,} B of a block{fits}"
