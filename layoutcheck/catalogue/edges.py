"""Which sizes a person's report tells to be right and which wrong, and what that says: a part of a tile at the edge, or a limit."""

from __future__ import annotations

import re
from collections.abc import Iterator

_CLAUSES = re.compile(
    r"[.!?](?= |$)|[;\n]|,? \b(?:but|while|whereas|however|and (?=\w+ (?:fail|crash|break)))\b|,(?! ?[0-9])|\)(?= )"
)
_WELL = re.compile(
    r"(?i)\b(?:right|works?|working|worked|correct(?:ly)?|fine|pass(?:es|ed)?|ok|good|match(?:es)?|succeeds?)\b"
)
_ILL = re.compile(
    r"(?i)\b(?:wrong|incorrect\w*|fail(?:s|ed|ing|ure)?|broken|breaks?|garbage|crash(?:es|ed)?|faults?|nans?|illegal|misaligned|hangs?|corrupt\w*|mismatch\w*|bad)\b|\b(?:not|n't|never) (?:\w+ )?(?:work|correct|pass|match|right)\w*"
)
# A size, and no version, time, share or count of something else.
_SIZE = re.compile(
    r"(?<![\w.#/:-])(?P<size>[0-9]{1,6})(?![\w%#/]|[.:][0-9]|,[0-9]{3}| ?(?:%|[GMKT]i?B|ms|us|ns|s\b|x\b|bits?\b|bytes?\b|TFLOPS|GPUs?|times|hours?|min|errors?|hazards?|cores?))"
)
# What stands before one.
_OF_SIZE = re.compile(
    r"(?i)(?:\b(?:for|with|at|when|if|is|of|to|than|and|or|by|from|sizes?|dims?|[mnk]|len\w*|seq\w*|head\w*)|[=,(\[x\u00d7*])[ `]{0,2}$"
)
_OTHERWISE = re.compile(
    r"(?i)\b(?:CUDA|Python|versions?|v|releases?|driver|lines?|rows?|threads?|steps?|iterations?|tests?|cases?|SM|rank|GPU|PR|issue|max|min|diff\w*|error|atol|rtol)[ :=#]{0,3}$"
)
_BEFORE = 24  # characters
_FEWEST, _MOST = 2, 12  # sizes that are read
_WHOLE = (256, 128, 64, 32, 16, 8, 4, 2)
# What says in words that a size leaves a part of a tile.
_PARTIAL = re.compile(
    r"(?i)(?:\b(?:not|non|no|un)|n't)[- ]?(?:be |an? |exactly |evenly |perfectly |exact |integer |whole )*(?:multiples?(?: of)?|divisible|divides?|divided|power(?:s)?[- ]of[- ](?:2|two|eight|8))\b"
    r"|% ?\(?[\w.]{1,24}\)? ?(?:!=|>) ?0\b|\bnon-?(?:multiple|divisible|power)|\bindivisible\b|\b(?:only|just) (?:\w+ ){0,6}?(?:if|when|for|to) (?:\w+ ){0,5}?(?:multiples? of|divisible by|powers? of)\b"
    r"|\b(?:smaller|shorter|less) than (?:the |one |a )?(?:block|tile|CTA|vector)\w*(?:[ _]\w+)?\b|\b(?:odd|ragged|uneven|prime) (?:\w+ )?(?:[MNK]|sizes?|shapes?|extents?|lengths?|dimensions?|dims?|seq\w*|numbers?)\b|\b[mnk] (?:as|is|=) odd\b|\bpartial (?:\w+ )?(?:blocks?|tiles?|vectors?|pages?)\b|\b(?:no|without|lacks?|missing|absent) (?:any )?(?:out-of-)?bounds?[- ]?check\w*|\b(?:see|sees|saw|find|has) any bounds?[- ]check\w*"
)
_TILE = re.compile(
    r"(?i)(?<![a-z0-9])(?:\w{0,12}(?:block|tile)_?(?:size_?|dim_?)?(?P<of>[mnkqv]|kv)?|(?:cta_|b)(?P<mode>[mnk])) ?= ?(?:\w+ ?= ?)*(?P<size>[0-9]{1,5})\b"
)
_EXTENT = re.compile(
    r"(?i)\b(?P<name>(?:q_?|kv_?|k_)?seq_?\w{0,8}|seqlen\w*|(?:gemm_)?[mnk]|head_?dim|dim|size|len(?:gth)?|rows?|cols?|columns?) ?(?:=|is|of) ?(?P<size>[0-9]{1,6})\b"
)
_BY_SIZE = re.compile(
    r"(?i)\b(?:when|if|for|with|at|only|once)\b (?P<said>[^.:;]{0,60}\b(?:[MNK]|sizes?|shapes?|extents?|dims?|dimensions?|tiles?|warps?|warp count|columns?|rows?|lengths?|tokens|m ?= ?[0-9]+)\b[^.:;]{0,40}?"
    r"\b(?:(?:is|are) (?:larger|greater|bigger|used)|larger than|more than|exceeds?|odd|beyond)\b)"
)
LEAVES = "the sizes tell it"  # what begins a fact that says it is the edge
_LONGEST = 90  # characters of what is quoted


def depends(folded: str) -> str:
    """The words of a text that say that a fault depends on a size; "" where none do."""
    size = _BY_SIZE.search(folded)
    return partial(folded) or (size["said"] if size else "")


def partial(folded: str) -> str:
    """The words of a text that say that a fault depends on parts of tiles; "" where none do."""
    found = _PARTIAL.search(folded)
    if found is None:
        return ""
    start = max(0, folded.rfind(" ", 0, max(0, found.start() - _LONGEST // 2)) + 1)
    return folded[start : found.end()].strip(" (*`") if found else ""


def by_edge(folded: str) -> bool:
    """Whether a text tells sizes of which all that are wrong leave a part of a tile, or says so."""
    return bool(_PARTIAL.search(folded)) or any(one.startswith(LEAVES) for one in told(folded))


def told(folded: str) -> Iterator[str]:
    """What the sizes of a text say of its fault."""
    right, wrong = _sizes(folded)
    if right and wrong:
        whole = next(
            (m for m in _WHOLE if all(one % m == 0 for one in right) and all(one % m for one in wrong)), 0
        )
        if whole:
            listed, left = _listed(right), ", ".join(f"{one} leaves {one % whole}" for one in wrong)
            yield f"{LEAVES}: {listed} {'is a multiple' if len(right) == 1 else 'are multiples'} of {whole}, and {left}: the part of a tile or vector at the edge; its loads, stores and rows beyond it need predicates (TMA cuts off at the tensor's edge alone)"
        elif min(wrong) > max(right):
            yield f"up to {max(right)} it is right, from {min(wrong)} on it is not, and divisors do not tell them apart: look at what begins between them: the second tile, stage or block, the turn in which a buffer is used again, a limit of shared memory or grid, an offset beyond 2^31"
    elif not right:
        yield from _against_tile(folded)


def _sizes(folded: str) -> tuple[list[int], list[int]]:
    """The sizes of the clauses that tell a right result, and those of the ones that tell a wrong one."""
    right, wrong = dict[int, None](), dict[int, None]()
    for clause in _CLAUSES.split(folded):
        ill, well = _ILL.search(clause or ""), _WELL.search(clause or "")
        if (ill or well) and not (ill and well and ill.start() > well.end()):
            found = (int(one["size"]) for one in _SIZE.finditer(clause) if _is_size(clause[: one.start()]))
            (wrong if ill else right).update((one, None) for one in found if one > 1)
    many = max(len(right), len(wrong)) > _MOST or right.keys() & wrong.keys()
    return ([], []) if many else (list(right), list(wrong))


def _is_size(before: str) -> bool:
    """Whether a number behind these words is a size."""
    near = before[-_BEFORE:]
    return bool(_OF_SIZE.search(near)) and not _OTHERWISE.search(near)


def _against_tile(folded: str) -> Iterator[str]:
    """Of each extent that the text gives a number, whether it is a multiple of its mode's tile, or of the one tile."""
    tiles = {(one["of"] or one["mode"] or "").lower(): int(one["size"]) for one in _TILE.finditer(folded)}
    one = next(iter(tiles.values())) if len(tiles) == 1 and _PARTIAL.search(folded) else 0
    left = {}
    for found in _EXTENT.finditer(folded):
        size, tile = int(found["size"]), tiles.get(found["name"][-1].lower(), one)
        if tile > 1 and size > tile and size % tile:
            left[found["name"]] = f"{found['name']} = {size} leaves {size % tile} of a tile of {tile}"
    if left:
        yield f"{LEAVES}: {', '.join([*left.values()][:_FEWEST])}"


def _listed(sizes: list[int]) -> str:
    return ", ".join(map(str, sizes[: _FEWEST + 1]))
