"""One law of `tables.laws`, and how well it fits a text: by what it is about, its details, and the symptom it explains."""

from __future__ import annotations

import re
from dataclasses import dataclass

_BETWEEN = re.compile(r"[^a-z0-9.@<>+%]+|\.(?=\s|$)")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
SHORT = 3  # letters of a word that is looked for whole


@dataclass(frozen=True, slots=True, eq=False)
class Law:
    """`nouns`: what it is about; `details`: words that make it the likelier one; `fails`: the symptoms that follow.

    `says`: the law; `source`: what stands behind it, apart by "; ": rules, a page of docs/, a vendor's document with its
    section, or the test that compiles it.
    """

    nouns: tuple[str, ...]
    details: tuple[str, ...]
    fails: frozenset[str]
    says: str
    source: str

    def __str__(self) -> str:
        return f"{self.says} ({self.source})"


def law(nouns: str, details: str, fails: str, says: str, source: str) -> Law:
    """A law whose words are given apart by spaces: each is how a word begins, `|` stands for a space, `-` or `_` in it."""
    about = words_of(nouns)
    more = tuple(word for word in words_of(details) if word not in about)
    return Law(about, more, frozenset(fails.split()), says, source)


def normal(text: str) -> str:
    """The words of a text in lower case between single spaces, and behind them those of its names in CamelCase apart."""
    return "".join(f" {_BETWEEN.sub(' ', one.lower())} " for one in (text, _CAMEL.sub(" ", text)))


def words_of(listed: str) -> tuple[str, ...]:
    """Each word as it is looked for in a text that is `normal`: from the space before it on, a short last one to the space behind it."""
    plain = (_BETWEEN.sub(" ", one.lower()).strip() for one in listed.split())
    return tuple(
        dict.fromkeys(f" {one} " if len(one.split()[-1]) <= SHORT else f" {one}" for one in plain if one)
    )
