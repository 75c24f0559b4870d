"""What the modes and extents that a text prints decide: a mode that a tensor lacks, operands of an MMA that do not pair."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod

from layoutcheck.brackets import closing, split
from layoutcheck.catalogue import devices
from layoutcheck.catalogue.figures import TYPES, VECTOR, pitch
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
_TILE = re.compile(
    rf"(?i)(?P<role>\b(?:epilogue|output|accumulator)\b[^()0-9]{{0,20}})?\(? ?(?P<rows>[0-9]{{2,4}}) ?[,x×] ?(?P<columns>[0-9]{{2,4}}) ?\)?(?P<more> ?(?:and|\+|,) ?\(?[0-9]{{2,4}} ?[,x×] ?[0-9]{{2,4}}\)?)* ?(?:of )?(?P<type>{'|'.join(TYPES)})\b"
)
_EXTENTS = re.compile(r"(?P<rows>[0-9]{2,4}) ?[,x×] ?(?P<columns>[0-9]{2,4})")
_OF_TILES = re.compile(r"(?i)\btiles?\b|smem|shared[ _]mem|\bstages of\b")
_PROBLEM = re.compile(
    r"(?i)\b(?:problem|matri\w+|matmul|gemm|global|gmem|inputs?|shapes?|sizes?)\b[^.;()]{0,20}$"
)
_NEAR = 40  # characters
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
_TORCH = re.compile(
    rf"\btorch\.(?:randn?|empty|zeros|ones|full)\((?P<rows>(?:[0-9]+, ?){{1,3}})(?P<columns>[0-9]{{1,6}})\)?[^()]{{0,40}}?dtype ?= ?(?:torch\.)?(?P<type>{'|'.join(TYPES)})\b(?![^();]{{0,30}}\)\.(?:t\(|T\b|mT\b|permute|transpose|view|reshape))"
)
_PADDED = re.compile(r"(?i)\bpadded\b|\bF\.pad\b")
_VECTORS = re.compile(
    r"(?i)128[- ]?bit|16[- ]?bytes?\b|vectori[sz]|num_bits_per_copy ?= ?128|\bcp\.async|\balign"
)
_INIT = re.compile(
    r"\bmbarrier_init\([^,()]{1,40}, ?(?P<count>[0-9]{1,4})\)|(?i:\bmbarrier\b[^.;]{0,12}?\binit\w*(?: with)?(?: an?)?(?: arrival)? count(?: of)? (?P<said>[0-9]{1,4}))\b"
)
_ARRIVES = re.compile(
    r"(?i)\b(?:only|just) (?:(?P<one>one thread|a single thread|thread 0|lane 0|the elected thread)|warp 0|one warp|a single warp|the producer warp)(?: \w+)? arrives?\b|\b(?P<many>[0-9]{1,2}) (?:\w+ )?warps (?:that )?arriv\w+(?P<each>[^.;]{0,40}\b(?:elect\w*|lane|one thread)\b)"
)


def told(folded: str) -> tuple[str, ...]:
    """What the counts of a text decide; none where it has not both of a pair."""
    return (*_fragments(folded), *_room(folded), *_tails(folded), *_pitch(folded), *_arrivals(folded))


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


def _room(folded: str) -> Iterator[str]:
    """That the tiles of a text, times its stages, are more than the GPU that it names has in a block."""
    most, stages = devices.room(folded), devices.stages(folded)
    tiles = list(_TILE.finditer(folded))
    if not (most and tiles and _OF_TILES.search(folded)) or len(stages) != 1 or min(stages) < 2:
        return
    (count,) = stages
    terms, total = [], 0
    for tile in tiles:
        elements = [int(one["rows"]) * int(one["columns"]) for one in _EXTENTS.finditer(tile[0])]
        each = sum(elements) * TYPES[tile["type"].lower()][0] // 8
        if each > most or _PROBLEM.search(folded, max(0, tile.start() - _NEAR), tile.start()):
            return  # the extents of a problem
        times = 1 if tile["role"] else count
        total += each * times
        terms.append(f"{times} x {each:,}" if times > 1 else f"{each:,}")
    if total > most:
        yield f"the tiles of the text take {' + '.join(terms)} = {total:,} B of shared memory, above the {most:,} B of a block"


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


def _pitch(folded: str) -> Iterator[str]:
    """That rows of a tensor which the text makes begin at addresses that no 16-byte vector may have."""
    for made in _TORCH.finditer(folded) if _VECTORS.search(folded) else ():
        columns = int(made["columns"])
        row, shared, fits = pitch(columns, TYPES[made["type"].lower()][0])
        rows = prod(int(one) for one in re.findall(r"[0-9]+", made["rows"]))
        if shared < VECTOR and rows > 1 and not _PADDED.search(folded):
            yield f"a row of {columns} elements of {made['type']} is {row:,} B, a multiple of {shared} alone: no promise makes its second row begin at a multiple of {VECTOR} B; pad the columns to {fits}, or copy {8 * shared} bits at a time (LC101)"
            return


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
