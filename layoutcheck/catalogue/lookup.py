"""`Lookup`: which of many texts hold a run of words."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache, reduce
from operator import or_

_LAST = "\U0010ffff"  # behind every letter


class Lookup:
    """Texts whose words a single space parts. A set of them is a number here: text i is its bit i."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        having: dict[str, int] = {}
        for i, text in enumerate(texts):
            for word in set(text.split()):
                having[word] = having.get(word, 0) | 1 << i
        self._having = having
        self._words = sorted(having)
        self._backwards = sorted(word[::-1] for word in having)

    @lru_cache(maxsize=1 << 14)  # noqa: B019 - there is one for the life of the process
    def holding(self, run: tuple[str, ...]) -> tuple[int, ...]:
        """The texts that hold these words in a row, of which the first and the last may be parts of theirs."""
        left = (1 << len(self._texts)) - 1
        for word in run[1:-1]:
            left &= self._having.get(word, 0)
        if len(run) > 1 and left:
            left &= self._beginning(run[-1]) & self._ending(run[0])
        window = " ".join(run)
        return tuple(i for i in _bits(left) if window in self._texts[i])

    @cache  # noqa: B019
    def _beginning(self, part: str) -> int:
        """The texts with a word that begins so."""
        words = self._words[bisect_left(self._words, part) : bisect_left(self._words, part + _LAST)]
        return reduce(or_, map(self._having.__getitem__, words), 0)

    @cache  # noqa: B019
    def _ending(self, part: str) -> int:
        """The texts with a word that ends so."""
        turned, words = part[::-1], self._backwards
        found = words[bisect_left(words, turned) : bisect_left(words, turned + _LAST)]
        return reduce(or_, (self._having[word[::-1]] for word in found), 0)


def _bits(number: int) -> Iterator[int]:
    while number:
        lowest = number & -number
        yield lowest.bit_length() - 1
        number ^= lowest
