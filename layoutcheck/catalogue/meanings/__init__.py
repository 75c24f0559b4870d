"""What kinds of message mean: by the words of one, its cause and what helps.

The kinds of this folder's files are rows (`catalogue.rows`), some with a name, with the fields `words`, `cause` and `helps`. They
are in order: the first whose words are in a message is its kind.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from layoutcheck.catalogue.literals import Words, plain
from layoutcheck.catalogue.rows import rows


class Meaning(NamedTuple):
    """A kind of message: the words that tell it, its `cause` as a sentence, and what `helps` ("" where the place tells)."""

    words: Words
    cause: str
    helps: str = ""
    name: str = ""


def read(file: str) -> tuple[Meaning, ...]:
    """The kinds of a file."""
    return tuple(
        Meaning(Words(row.field("words")), row.field("cause"), row.field("helps"), row.name)
        for row in rows(f"meanings/{file}.txt")
    )


def named(file: str) -> dict[str, str]:
    """The causes of a file's rows by each word of their names."""
    return {name: row.field("cause") for row in rows(f"meanings/{file}.txt") for name in row.name.split()}


def first(kinds: Iterable[Meaning], said: str) -> Meaning | None:
    """The kind of a message; None where its words tell none."""
    within = plain(said)
    return next((one for one in kinds if one.words.search(said, within)), None)
