"""What the modes and extents that a text prints decide: a mode that a tensor lacks, operands of an MMA that do not pair."""

from __future__ import annotations

import re
from collections.abc import Iterator

from layoutcheck.brackets import closing, split
from layoutcheck.errors import InputError
from layoutcheck.machine.arch import WARP

_NAMED = re.compile(
    r"\b(?P<name>[A-Za-z_]\w*)`?(?:\.layout|\.shape)? ?(?:=|:|->|is|has|gives|printed as) ?(?:!cute\.memref<[^()\n;]{0,60}|tensor<[^()\n;]{0,60}|(?:an? |the |shape |layout |modes |of |[\"'`]){0,4})(?=\()"
)
_MODE = re.compile(
    r"\bsize\(`?(?P<name>[A-Za-z_]\w*)(?:\.shape|\.layout)?, mode ?= ?\[(?P<mode>[0-9]{1,2})\]\)"
)
_OF_MMA = re.compile(r"(?i)\bgemm\b|\bmma\b|partition_[ABC]")
_FRAGMENT = re.compile(
    r"(?<![\w.])(?:t?C?r?)(?P<operand>[ABCD])\b`?(?:\.shape)? ?(?:is|:|=|has|of)? ?(?=\(\()"
)
_PAIRS = (("M", "A", 1, "C", 1), ("N", "B", 1, "C", 2), ("K", "A", 2, "B", 2))
_TILER = re.compile(
    r"(?i)\btile(?:r|s|_?shape|[ _]size)?(?: of| is)?[ :=]{0,3}\(? ?([0-9]{1,4}) ?[,x×] ?([0-9]{1,4})(?: ?[,x×] ?([0-9]{1,4}))?(?![0-9])"
)
_EXTENT = re.compile(r"\b(?P<name>[MNK]) ?= ?(?P<extent>[0-9]{1,7})\b(?! ?[*/])")
_PREDICATED = re.compile(
    r"(?i)\bresidue|\b(?:with|have|has|had|use|uses|using|is|are|all) (?:\w+ )?predicat(?:es|ion|ed)\b|\bmasked\b"
)
_FAULT = re.compile(
    r"(?i)\b(?:illegal|invalid|out[- ]of[- ]bounds?|wrong|garbage|incorrect|fault\w*|mismatch\w*|nan)\b"
)
_INIT = re.compile(
    r"\bmbarrier_init\([^,()]{1,40}, ?(?P<count>[0-9]{1,4})\)|(?i:\bmbarrier\b[^.;]{0,12}?\binit\w*(?: with)?(?: an?)?(?: arrival)? count(?: of)? (?P<said>[0-9]{1,4}))\b"
)
_ARRIVES = re.compile(
    r"(?i)\b(?:only|just) (?:(?P<one>one thread|a single thread|thread 0|lane 0|the elected thread)|warp 0|one warp|a single warp|the producer warp)(?: \w+)? arrives?\b|\b(?P<many>[0-9]{1,2}) (?:\w+ )?warps (?:that )?arriv\w+(?P<each>[^.;]{0,40}\b(?:elect\w*|lane|one thread)\b)"
)


def told(folded: str) -> tuple[str, ...]:
    """What the counts of a text decide; none where it has not both of a pair."""
    return (*_fragments(folded), *_tails(folded), *_arrivals(folded))


def lacking(folded: str) -> Iterator[str]:
    """That size(NAME, mode=[m]) asks for a mode that the printed shape of NAME lacks."""
    for call in _MODE.finditer(folded):
        shapes = {_shape(folded, one.end()) for one in _NAMED.finditer(folded) if one["name"] == call["name"]}
        shape = shapes.pop() if len(shapes) == 1 else ""  # another one may be of a slice
        parts = split(shape[1:-1]) if shape else []
        if parts and int(call["mode"]) >= len(parts):
            yield f"{call['name']} is printed as {shape}: {len(parts)} modes, 0 to {len(parts) - 1}, and no mode {call['mode']}"


def _fragments(folded: str) -> Iterator[str]:
    """Which of the modes (V, M, K), (V, N, K) and (V, M, N) do not pair among the operands of an MMA."""
    shapes: dict[str, str] = {}
    for one in _FRAGMENT.finditer(folded) if _OF_MMA.search(folded) else ():
        shape = _shape(folded, one.end())
        if shapes.setdefault(one["operand"], shape) != shape:
            return  # of another case
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


def _tails(folded: str) -> Iterator[str]:
    """How far the last tile of each mode reaches beyond the extents M, N and K that a text names beside its tile."""
    tile = _TILER.search(folded)
    if tile is None or not _FAULT.search(folded) or _PREDICATED.search(folded):
        return
    extents: dict[str, set[int]] = {}
    for one in _EXTENT.finditer(folded):
        extents.setdefault(one["name"], set()).add(int(one["extent"]))
    for name, each in zip("MNK", (int(one) for one in tile.groups() if one), strict=False):
        extent = extents[name].pop() if len(extents.get(name, ())) == 1 else 0
        whole, left = divmod(extent, each or 1)
        if left:
            yield f"{name} = {extent} is {whole} tile{'s' * (whole != 1)} of {each} and {left} more: the last tile reaches {each - left} beyond, which copies without a predicate read and write (LC204)"


def _arrivals(folded: str) -> Iterator[str]:
    """That a barrier is initialised for another number of arrivals than the threads that the text has arrive."""
    counts, who = (
        {int(one["count"] or one["said"]) for one in _INIT.finditer(folded)},
        _ARRIVES.search(folded),
    )
    if len(counts) != 1 or who is None:  # of several barriers the text says by no number who arrives at which
        return
    (count,) = counts
    arrive = int(who["many"]) if who["each"] else 1 if who["one"] or "elect_one" in folded else WARP
    if count != arrive:
        yield f"the barrier is initialised for {count} arrivals, and '{who[0]}' makes {arrive} of them: each phase needs as many as the count, so initialise it with {arrive}, or let {count} threads arrive"
