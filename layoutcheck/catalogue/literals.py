"""Which words a text must hold for a pattern to match: looked for first, they cost a hundredth of the search.

A pattern of the catalogue is a list of alternatives. Each has some run of plain letters that no match can lack; where
the text has none of these, in lower case, the pattern is neither compiled nor searched.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

_FEWEST, _LONGEST = 3, 1000  # letters of a run worth looking for, and of any
_PLAIN = r"[\w ,;:'\"`=<>/!#%&@~-]|\\[^\w]"
_TOKEN = re.compile(
    rf"(?P<open>\((?:\?(?:P<\w+>|<?[=!]|[a-z]*:))?)|(?P<end>[|)])|(?P<times>(?:[*?+]|\{{[0-9,]+\}})\??)"
    rf"|(?P<run>(?:{_PLAIN})+(?![*?+{{])|{_PLAIN})|(?:\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?[a-z]+\)|\(\?P=\w+\)|\\.|.)"
)
_NEVER_NEEDED = ("(?!", "(?<")  # groups that a match does not hold


@dataclass(frozen=True, eq=False)
class Words:
    """A pattern, which is compiled when a text may match it."""

    text: str

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Compiled when it is first asked for."""
        return re.compile(self.text)

    @cached_property
    def needed(self) -> frozenset[str]:
        """Runs of letters in lower case, one of which every match holds; none where there are no such."""
        tokens = [(found.lastgroup, found[0]) for found in _TOKEN.finditer(self.text)]
        return frozenset(_of_alternatives([*tokens, ("end", ")")], 0)[1])

    def may_match(self, lowered: str) -> bool:
        """Whether a text can match, which is given in lower case."""
        return not self.needed or any(map(lowered.__contains__, self.needed))

    def search(self, text: str, lowered: str | None = None) -> re.Match[str] | None:
        """The first match in a text; `lowered` is the text in lower case, where it is at hand."""
        may = self.may_match(text.lower() if lowered is None else lowered)
        return self.pattern.search(text) if may else None


def _of_alternatives(tokens: list[tuple[str | None, str]], at: int) -> tuple[int, list[str], int]:
    """Of a group that begins here: the length of the shortest needed word, these words, and where it ends."""
    every: list[str] = []
    shortest = _LONGEST
    while True:
        least, words, at = _of_sequence(tokens, at)
        every += words
        shortest = min(shortest, least)
        at += 1
        if tokens[at - 1][1] == ")":
            return (shortest, every, at) if shortest else (0, [], at)


def _of_sequence(tokens: list[tuple[str | None, str]], at: int) -> tuple[int, list[str], int]:
    """Of items that follow one another: the needed words of the one whose shortest word is longest."""
    longest, best, run = 0, list[str](), ""
    while tokens[at][0] != "end":
        (kind, text), at, least, inner = tokens[at], at + 1, 0, list[str]()
        if kind == "open":
            least, inner, at = _of_alternatives(tokens, at)
        letters = text if kind == "run" else _one_letter(text)
        times = tokens[at][1] if tokens[at][0] == "times" else ""
        at += bool(times)
        optional = times.startswith(("*", "?", "{0", "{,"))
        if not optional:
            run += letters
            if least > longest and not text.startswith(_NEVER_NEEDED):
                longest, best = least, inner
        if times or not letters:
            longest, best, run = *_longer(longest, best, run), ""
    return *_longer(longest, best, run), at


def _longer(longest: int, best: list[str], run: str) -> tuple[int, list[str]]:
    """The run, if it is longer than the shortest of the best words so far."""
    word = run.replace("\\", "").lower()
    return (len(word), [word]) if len(word) > max(longest, _FEWEST - 1) else (longest, best)


def _one_letter(item: str) -> str:
    """The letter of a class that has it twice, [Ff]; "" for any other item."""
    return item[1] if len(item) == 4 and item[0] == "[" and item[1:3].lower() == item[1].lower() * 2 else ""
