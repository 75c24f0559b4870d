"""Loads and stores written in PTX: which operand is the address, how many bytes move, under which predicate.

    accesses_of("ld.global.nc.b32 $0, [$1];", results=1)   # (PtxAccess("load", "gmem", 4, operand=0),)

Only what stands in the text as it is: an address that is an operand with a constant, a predicate that an
operand decides. Of anything else that reaches memory `UNREAD` says so.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

UNREAD = "inline PTX reaches memory by an instruction whose address is not read here"
NOT_HELD = "where inline PTX reaches it"
_STATEMENT = re.compile(
    r"(?:@(?P<negated>!?)(?P<guard>%?\w+)\s+)?(?P<name>[a-z]\w*(?:\.[\w:]+)*)\s*(?P<rest>.*)", re.DOTALL
)
_PLACE = re.compile(
    r"\[\s*(?:\$\{?(?P<operand>[0-9]+)\}?|(?P<word>%?\w+))\s*(?:\+\s*(?P<offset>-?[0-9]+))?\s*\]"
)
_MADE = re.compile(r"(?:mov\.[bu]64|cvta\.to\.global\.u64)\s+(%?\w+)\s*,\s*\$([0-9]+)\s*$")
_TESTED = re.compile(r"setp\.ne(?:\.[bsu]32)\s+(%?\w+)\s*,\s*\$([0-9]+)\s*,\s*0\s*$")
_TYPE = re.compile(r"\.(?:[bsuf]|bf|tf)(8|16|32|64|128)(x2|x4)?(?=\.|$)")
_DECLARED = re.compile(r"\.reg\s+\.\w+\s+([^;<]*);")
_ESCAPED = re.compile(r"\\([0-9A-F]{2})")  # of a string as MLIR prints it
_KINDS = {"ld": "load.ext", "ldu": "load.ext", "st": "store.ext", "red": "red", "atom": "red"}
# What reaches global memory besides; TMA's tensors clamp, a prefetch faults nowhere.
_OTHERS = re.compile(
    r"(?:cp\.async\.(?:c[ag]|bulk\.(?!tensor|commit|wait|prefetch))|cp\.reduce\.async\.bulk\.(?!tensor)"
    r"|multimem\.)"
)

_SHARED = re.compile(
    r"(?<![\w.])(?:ld|st|red|atom|ldmatrix|stmatrix|cp\.async\.c[ag]|cp\.async\.bulk)(?:\.[\w:]+)*\.shared\b"
)


class PtxAccess(NamedTuple):
    """`kind` as `Recorded.op`; `operand` and `guard` number the operation's operands, guard -1: always."""

    kind: str
    space: str
    size: int
    operand: int
    offset: int = 0
    guard: int = -1
    negated: bool = False


def unescaped(text: str) -> str:
    """A string attribute as it was before MLIR printed it."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)


@cache
def reaches_shared(text: str) -> bool:
    """Whether inline PTX loads from shared memory or stores there; mbarriers are not meant."""
    return _SHARED.search(text) is not None


@cache
def accesses_of(text: str, results: int) -> tuple[PtxAccess, ...] | str:
    """The accesses to global memory of inline PTX; `UNREAD` where one is not known.

    `results` are numbered before the operands.
    """
    unread = _unread(text)
    made: dict[str, int] = {}
    tested: dict[str, int] = {}
    found = []
    for statement in (part.strip(" \t\n{}") for part in text.strip('"').split(";")):
        if one := _MADE.search(statement):
            made[one[1]] = int(one[2])
        if one := _TESTED.search(statement):
            tested[one[1]] = int(one[2])
        read = _one(statement, made, tested, results, unread)
        if read == UNREAD:
            return UNREAD
        if isinstance(read, PtxAccess):
            found.append(read)
    return tuple(found)


def _unread(text: str) -> frozenset[str]:
    """Registers of its own that a text writes once and never reads.

    ptxas does not load them: the halves of a vector that only they have are left out (seen in its SASS).
    """
    names = {one.strip() for found in _DECLARED.findall(text) for one in found.split(",")}
    return frozenset(one for one in names if len(re.findall(rf"(?<![\w%$]){re.escape(one)}\b", text)) == 2)


def _one(
    statement: str, made: dict[str, int], tested: dict[str, int], results: int, unread: frozenset[str]
) -> PtxAccess | str | None:
    """The access of one statement, None where it makes none in global memory."""
    match = _STATEMENT.match(statement)
    if match is None:
        return None
    if _OTHERS.match(match["name"] + "."):
        return UNREAD
    kind = _KINDS.get(match["name"].partition(".")[0])
    if kind is None or re.search(r"\.(?:shared|param|const|local)|async", match["name"]):
        return None
    place = _PLACE.search(match["rest"])
    width = _TYPE.search(match["name"])
    word = place["word"] if place else ""
    number = int(place["operand"]) if place and place["operand"] else made.get(word, -1)
    guard = tested.get(match["guard"], -1) if match["guard"] else results
    if place is None or width is None or number < results or guard < results:
        return UNREAD
    vector = re.search(r"\.v([248])\b", match["name"])
    count = int(vector[1]) if vector else 1
    registers = re.match(r"\{([^}]*)\}", match["rest"])
    if kind == "load.ext" and vector and registers:
        words = [word.strip() for word in registers[1].split(",")]
        while count > 1 and unread.issuperset(words[count // 2 :]):
            count, words = count // 2, words[: count // 2]
    size = int(width[1]) // 8 * int((width[2] or "x1")[1:]) * count
    space = "gmem" if ".global" in match["name"] else "generic"
    return PtxAccess(
        kind, space, size, number - results, int(place["offset"] or 0),
        guard - results if match["guard"] else -1, bool(match["negated"]),
    )  # fmt: skip
