"""tcgen05.mma in inline PTX: its operands, as sums of an operand of the inline block and a constant.

    multiplications("... tcgen05.mma.cta_group::1.kind::f16 [$0], a, b, idesc, p; ...")

Registers that the text itself makes, by `mov`, `add` and `mov.b64 x, {low, high}`, are followed. What comes
from elsewhere (registers of another block of inline PTX) is not known, and a text with it is left out.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_MMA = re.compile(
    r"tcgen05\.mma\.cta_group::([12])\.kind::(\w+)\s+\[(.+?)\],\s*(.+?),\s*(\w+|\$[0-9]+),\s*(\w+|\$[0-9]+),"
)
_MOVE = re.compile(r"mov\.b32\s+(\w+),\s*([\w$-]+)\Z")
_ADD = re.compile(r"add\.[us]32\s+(\w+),\s*([\w$]+),\s*([\w$-]+)\Z")
_PAIR = re.compile(r"mov\.b64\s+(\w+),\s*\{\s*(\w+),\s*(\w+)\s*\}\Z")


class Sum(NamedTuple):
    """An operand of the block by its number (None: no operand), and what is added."""

    operand: int | None
    constant: int


class Descriptor(NamedTuple):
    """The two words of a matrix descriptor."""

    low: Sum
    high: Sum


class Multiplication(NamedTuple):
    """D and, where A is in tensor memory, A are addresses; B, A in shared memory are descriptors."""

    pair: bool
    kind: str
    d: Sum
    a: Sum | Descriptor
    b: Descriptor
    words: int


def multiplications(text: str) -> list[Multiplication] | None:
    """The MMAs of inline PTX, in order; None where an operand of one is not known."""
    words: dict[str, Sum] = {}
    pairs: dict[str, Descriptor] = {}
    found = []
    for part in text.split(";"):
        line = part.strip().lstrip("{").strip()
        if move := _MOVE.search(line):
            words[move[1]] = _value(move[2], words)
        elif add := _ADD.search(line):
            one, other = _value(add[2], words), _value(add[3], words)
            words[add[1]] = _sum(one, other)
        elif pair := _PAIR.search(line):
            pairs[pair[1]] = Descriptor(_value(pair[2], words), _value(pair[3], words))
        elif "tcgen05.mma" in line:
            made = _multiplication(line, words, pairs)
            if made is None:
                return None
            found.append(made)
    return found


_UNKNOWN = Sum(-1, 0)


def _value(word: str, words: dict[str, Sum]) -> Sum:
    if word.startswith("$"):
        return Sum(int(word[1:]), 0)
    if re.fullmatch(r"-?(?:0x[0-9a-fA-F]+|[0-9]+)", word):
        return Sum(None, int(word, 0))
    return words.get(word, _UNKNOWN)


def _sum(one: Sum, other: Sum) -> Sum:
    if _UNKNOWN in (one, other) or (one.operand is not None and other.operand is not None):
        return _UNKNOWN
    return Sum(other.operand if one.operand is None else one.operand, one.constant + other.constant)


def _multiplication(line: str, words: dict[str, Sum], pairs: dict[str, Descriptor]) -> Multiplication | None:
    match = _MMA.search(line)
    if match is None:
        return None
    group, kind, d, a, b, idesc = match.groups()
    to, second, instruction = _value(d.strip(), words), pairs.get(b), _value(idesc, words)
    first: Sum | Descriptor | None = pairs.get(a.strip())
    if a.startswith("["):
        first = Sum(None, 0)
        for term in a.strip("[] ").split("+"):
            first = _sum(first, _value(term.strip(), words))
    if first is None or second is None or instruction.operand is not None:
        return None
    parts = [to, *second, *(first if isinstance(first, Descriptor) else (first,))]
    return (
        None
        if _UNKNOWN in parts
        else Multiplication(group == "2", kind, to, first, second, instruction.constant)
    )
