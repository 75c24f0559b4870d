"""Why the DSL refuses something, for a family of its messages."""

from __future__ import annotations

from typing import NamedTuple

from layoutcheck.catalogue.literals import Words
from layoutcheck.catalogue.rows import Row


class Reason(NamedTuple):
    """A family of messages with one cause.

    - `example`: one of them, as the DSL prints it, `at` where it is raised ("" where that does not matter)
    - `words`: a pattern, searched in the message; `where`: one for the operation, or the DSL's file and function, that refuses
      (empty for any)
    - `cause`: a sentence or more; `helps`: what to change, without a full stop
    """

    example: str
    words: Words
    where: Words
    cause: str
    helps: str
    at: str = ""

    def fits(self, said: str, where: str = "") -> bool:
        """Whether a message that is printed there is of this family."""
        return self.words.search(said) is not None and self.where.search(where) is not None

    def begins(self, said: str) -> bool:
        """Whether a message begins as those of this family do."""
        return self.words.may_match(said.lower()) and self.words.pattern.match(said) is not None


def reason(row: Row) -> Reason:
    """The family of a row: `[example] place`, with the fields `words`, `where`, `cause` and `helps`."""
    words, where, cause, helps = map(row.field, ("words", "where", "cause", "helps"))
    return Reason(row.name, Words(words), Words(where), cause, helps, row.traits)
