"""Which words a text must hold for a pattern to match: looked for first, they cost a hundredth of the search.

A pattern of the catalogue is a list of alternatives. Each has some run of plain letters that no match can lack; where
the text has none of these, in lower case, the pattern is neither compiled nor searched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

_FEWEST, _ANY = 3, 1000  # letters of a run worth looking for; more than any run has
_PLAIN = r"[\w ,;:'\"`=<>/!#%&@~-]|\\[^\w]"
# A group's begin, its end with what makes it optional, a run of letters that all stand in a match; else one item.
_TOKEN = re.compile(
    rf"\((?!\?(?:[a-z]+\)|P=))(?P<open>\?(?:P<\w+>|<?[=!]|[a-z]*:))?|(?P<end>\||\)(?:[*?]|\{{[0,][0-9,]*\}})?)|(?P<run>(?:{_PLAIN})+(?![*?+{{]))"
    r"|\{[0-9,]+\}|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?[^)]*\)|\\.|."
)
_ESCAPE = re.compile(r"\\(.)")
_Tokens = Iterator[re.Match[str]]


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
        return frozenset(_of_group(_TOKEN.finditer(f"{self.text})"))[1])

    def may_match(self, lowered: str) -> bool:
        """Whether a text can match, which is given in lower case."""
        for word in self.needed:  # a loop: this is asked of hundreds of patterns for each text
            if word in lowered:
                return True
        return not self.needed

    def search(self, text: str, lowered: str | None = None) -> re.Match[str] | None:
        """The first match in a text; `lowered` is the text in lower case, where it is at hand."""
        may = self.may_match(text.lower() if lowered is None else lowered)
        return self.pattern.search(text) if may else None


def _of_group(tokens: _Tokens) -> tuple[int, list[str]]:
    """Of a group that begins here: the letters of the shortest needed word, and these words; 0 where it has none.

    Of what follows one another, the words of the item whose shortest word is longest; of alternatives those of each.
    """
    shortest, every = _ANY, list[str]()
    longest, best = 0, list[str]()
    for token in tokens:
        kind, text = token.lastgroup, token[0]
        if kind == "run":
            word = (_ESCAPE.sub(r"\1", text) if "\\" in text else text).lower()
            if len(word) >= max(longest + 1, _FEWEST):
                longest, best = len(word), [word]
        elif text[0] == "(" and text[-1] != ")":
            least, words = _of_group(tokens)
            if least > longest and not text.startswith(("(?!", "(?<!", "(?<=")):
                longest, best = least, words
        elif kind == "end":
            shortest, every = min(shortest, longest), [*every, *best]
            if text != "|":
                return (shortest, every) if shortest and text == ")" else (0, [])
            longest, best = 0, []
    raise ValueError("a group that does not end")
