"""The laws of `laws.txt`: what each is about, the details and the symptoms that make it the likelier one, and what it says."""

from __future__ import annotations

import re
from dataclasses import dataclass

from layoutcheck.catalogue.orders import ORDERS
from layoutcheck.catalogue.rows import Row, rows

_BETWEEN = re.compile(r"[^a-z0-9.@<>+%]+|\.(?=\s|$)")
NAME = re.compile(r"(?![A-Z]?[a-z]+\b(?!(?:\.|::)\w))(?=[\w.:]{3})[A-Za-z_]\w+(?:(?:\.|::)\w+)*")
_BULK = re.compile(r"cp[. ]async[. ]bulk")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|\b(?:cute|cutlass)\.(?:\w+\.)*")  # what parts the words of a name
SHORT = 3  # letters of a word that is looked for whole


@dataclass(frozen=True, slots=True, eq=False)
class Law:
    """`nouns`: what it is about; `details`: words that make it the likelier one; `fails`: the symptoms that follow.

    `names`: the nouns that are names of code. `says`: the law; `tells`: what one sees where it is the one that is broken; `source`: what stands behind it, apart by "; ":
    rules, a page of docs/, a vendor's document with its section, or the test that compiles it.
    """

    nouns: tuple[str, ...]
    details: tuple[str, ...]
    fails: frozenset[str]
    says: str
    source: str
    tells: str = ""
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.says} ({self.source})"


def _law(row: Row) -> Law:
    """The law of a row, whose words are given apart by spaces: each is how a word begins, `|` stands for a space, `-` or `_` in it.

    One with an `order` is that of two accesses, "cp.async > reads", the second by another name where it has a third part.
    """
    about = words_of(row.field("nouns"))
    more = tuple(word for word in words_of(row.field("details")) if word not in about)
    says, source = row.field("says"), row.field("source")
    if pair := row.field("order"):
        first, second, called = (*pair.split(" > "), "")[:3]
        says, source = ORDERS[first, second].called(called), ORDERS[first, second].source
    names = tuple(filter(NAME.fullmatch, row.field("nouns").split()))
    return Law(about, more, frozenset(row.field("fails").split()), says, source, row.field("tells"), names)


def normal(text: str) -> str:
    """The words of a text in lower case between single spaces, and behind them those of its names apart: of CamelCase, of cute.NAME."""
    return "".join(f" {_words(one)} " for one in (text, _CAMEL.sub(" ", text)))


def words_of(listed: str) -> tuple[str, ...]:
    """Each word as it is looked for in a text that is `normal`: from the space before it on, a short last one to the space behind it."""
    plain = (_words(one).strip() for one in listed.split())
    return tuple(
        dict.fromkeys(f" {one} " if len(one.split()[-1]) <= SHORT else f" {one}" for one in plain if one)
    )


def _words(text: str) -> str:
    """The words in lower case; a bulk copy is no cp.async, whose name begins its own."""
    return _BULK.sub("cp.bulk", _BETWEEN.sub(" ", text.lower()))


LAWS = tuple(map(_law, rows("laws.txt")))
