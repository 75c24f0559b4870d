"""Which words a text must hold for a pattern to match: looked for first, they cost a hundredth of the search.

A pattern of the catalogue is a list of alternatives. Each has some run of plain letters that no match can lack; where
the text has none of these, in lower case, the pattern is not searched.
"""

from __future__ import annotations

import importlib
import itertools
import re
from functools import lru_cache
from typing import Any

_FEWEST = 3  # letters of a run worth looking for
_LONG = 1 << 12  # characters of a text for which it pays to find the words of all patterns first
_FEW = 64  # searches of shorter texts after which it pays as well
_searches = itertools.count(1)
_parser: Any = getattr(re, "_parser", None) or importlib.import_module(
    "sre_parse"
)  # the second is Python 3.10's


def where_to_look(text: str) -> str:
    """The text in lower case; "" where the patterns cost less than their words, and are to be searched at once."""
    return text.lower() if len(text) > _LONG or next(_searches) > _FEW else ""


def may_match(pattern: re.Pattern[str], lowered: str) -> bool:
    """Whether the pattern can match a text, which `where_to_look` gives; where that is empty, it can."""
    if not lowered:
        return True
    needed = _needed(pattern.pattern, pattern.flags)
    return needed is None or any(map(lowered.__contains__, needed))


@lru_cache(maxsize=4096)
def _needed(pattern: str, flags: int) -> frozenset[str] | None:
    """Runs of letters in lower case, one of which every match holds; None where there are no such.

    A string keeps its hash; a compiled pattern would hash its code at each look into the cache.
    """
    return _of_sequence(_parser.parse(pattern, flags))


def _of_sequence(items: Any) -> frozenset[str] | None:
    """Of items that follow one another: the needed words of the one whose shortest word is longest."""
    best: frozenset[str] | None = None
    run = ""
    for operator, argument in (*items, (None, None)):
        letter = _letter(operator, argument)
        if letter:
            run += letter
            continue
        best = _better(best, frozenset((run,)) if len(run) >= _FEWEST else None)
        run = ""
        best = _better(best, _of_item(operator, argument))
    return best


def _better(one: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    return max(
        (found for found in (one, other) if found), key=lambda words: min(map(len, words)), default=None
    )


def _letter(operator: Any, argument: Any) -> str:
    """The one letter, in lower case, that an item matches; "" for any other item."""
    if operator is _parser.LITERAL:
        return chr(argument).lower()
    if operator is _parser.IN and all(kind is _parser.LITERAL for kind, _ in argument):
        letters = {chr(code).lower() for _, code in argument}  # [Ff]
        return letters.pop() if len(letters) == 1 else ""
    return ""


def _of_item(operator: Any, argument: Any) -> frozenset[str] | None:
    if operator is _parser.SUBPATTERN:
        return _of_sequence(argument[-1])
    if operator is _parser.BRANCH:
        each = [_of_sequence(branch) for branch in argument[1]]
        return frozenset().union(*each) if all(each) else None  # type: ignore[arg-type]
    if operator in (_parser.MAX_REPEAT, _parser.MIN_REPEAT) and argument[0] > 0:
        return _of_sequence(argument[2])
    if operator is _parser.ASSERT and argument[0] > 0:
        return _of_sequence(argument[1])
    return None
