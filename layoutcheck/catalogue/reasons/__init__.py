"""Why the DSL refuses: families of its messages, each with one cause and one repair. `find` looks a message up.

A family is a row of a text file in this folder (`catalogue.rows`): `[example] place`, with the fields `words`, `where`, `cause`
and `helps`. The general kinds of refusal (`catalogue.refused`) answer what no family does.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from layoutcheck.catalogue.literals import Words, plain
from layoutcheck.catalogue.rows import Row, rows

PYTHON = ("layouts", "tensors", "copies", "kernels", "host")
LIBRARY = ("verifier", "instructions")
_VALUE = re.compile(r"\{([a-z]+)(?:/([0-9]+))?\}")


class Reason(NamedTuple):
    """A family of messages with one cause.

    - `example`: one of them, as the DSL prints it, `at` where it is raised ("" where that does not matter)
    - `words`: a pattern, searched in the message; `where`: one for the operation, or the DSL's file and function, that refuses
      (empty for any)
    - `cause`: a sentence or more; `helps`: what to change, without a full stop. `{have}` is a group of `words`, `{have/8}` an eighth of it
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

    def told(self, said: str) -> tuple[str, str]:
        """Cause and help with the values of a message of this family."""
        if (found := self.words.search(said)) is None:  # it fits by another wording
            return self.cause, self.helps
        values = found.groupdict()
        cause, helps = (
            _VALUE.sub(lambda one: _value(values, one), part) for part in (self.cause, self.helps)
        )
        return cause, helps

    def begins(self, said: str) -> bool:
        """Whether a message begins as those of this family do."""
        return self.words.may_match(plain(said)) and self.words.pattern.match(said) is not None


def _value(values: dict[str, str], asked: re.Match[str]) -> str:
    """A value of a message, or its part: of 128 bits an eighth, 16 bytes."""
    value = values.get(asked[1]) or asked[0]
    return str(int(value) // int(asked[2])) if asked[2] else value


def of(*files: str) -> tuple[Reason, ...]:
    """The families of these files."""
    return tuple(_family(row) for file in files for row in rows(f"reasons/{file}.txt"))


def _family(row: Row) -> Reason:
    words, where, cause, helps = map(row.field, ("words", "where", "cause", "helps"))
    return Reason(row.name, Words(words), Words(where), cause, helps, row.traits)


OF_PYTHON, OF_LIBRARY = of(*PYTHON), of(*LIBRARY)


def find(said: str, where: str = "") -> Reason | None:
    """The family of a message; `where` is the operation, or the DSL's file and function, that prints it ("" if unknown)."""
    families = (*OF_PYTHON, *OF_LIBRARY) if ".py" in where else (*OF_LIBRARY, *OF_PYTHON)
    return next((one for one in families if one.fits(said, where)), None)
