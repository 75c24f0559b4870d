"""Why the DSL refuses something, for a family of its messages."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from layoutcheck.catalogue.rows import Row


class Reason(NamedTuple):
    """A family of messages with one cause.

    - `example`: one of them, as the DSL prints it, `at` where it is raised ("" where that does not matter)
    - `words`: a pattern, searched in the message; `where`: one for the operation, or the DSL's file and function, that refuses
      ("" for any). They are compiled when they are asked for
    - `cause`: a sentence or more; `helps`: what to change, without a full stop
    """

    example: str
    words: str
    where: str
    cause: str
    helps: str
    at: str = ""

    def fits(self, said: str, where: str = "") -> bool:
        """Whether a message that is printed there is of this family."""
        return (
            _compiled(self.words).search(said) is not None and _compiled(self.where).search(where) is not None
        )

    def begins(self, said: str) -> bool:
        """Whether a message begins as those of this family do."""
        return _compiled(self.words).match(said) is not None


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def reason(row: Row) -> Reason:
    """The family of a row: `[example] place`, with the fields `words`, `where`, `cause` and `helps`."""
    words, where, cause, helps = map(row.field, ("words", "where", "cause", "helps"))
    return Reason(row.name, words, where, cause, helps, row.traits)
