"""Why the DSL refuses something, for a family of its messages."""

from __future__ import annotations

import re
from typing import NamedTuple


class Reason(NamedTuple):
    """A family of messages with one cause.

    - `example`: one of them, as the DSL prints it, `at` where it is raised ("" where that does not matter)
    - `words`: searched in the message; `where` in the operation, or in the DSL's file and function, that refuses ("" for any)
    - `cause`: a sentence or more; `helps`: what to change, without a full stop
    """

    example: str
    words: re.Pattern[str]
    where: re.Pattern[str]
    cause: str
    helps: str
    at: str = ""


def reason(example: str, words: str, cause: str, helps: str, where: str = "", at: str = "") -> Reason:
    """A family whose patterns are given as text."""
    return Reason(example, re.compile(words), re.compile(where), cause, helps, at)
