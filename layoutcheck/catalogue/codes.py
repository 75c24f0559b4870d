"""What each code of the DSL's own errors means, and what to change: for texts that hold the code and not its message.

The codes are those of the DSL's `base_dsl/diagnostics.py` (since 4.8; some are printed since 4.6). A value of the run is a DSL
number or tensor (cutlass.Int32, Float32, Boolean); a run-time block is a loop or branch whose condition only the run knows.

`cause` is what a code's family means, `find` which code a message without one has: messages and suggestions are read from the
installed DSL (since 4.8), and nothing of them is kept.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from layoutcheck.catalogue import installed, meanings
from layoutcheck.catalogue.literals import Words, plain


class Meaning(NamedTuple):
    """What a code says, and what to change."""

    said: str
    helps: str


def meaning(code: str) -> Meaning | None:
    """What the installed DSL says of a code, each value by its name; None for a code that it does not have."""
    said = installed.coded().get(code)
    if said is None:
        return None
    return Meaning(*(_NAME.sub(_named, one) for one in (said, installed.suggestion(code))))


def _named(field: re.Match[str]) -> str:
    return _TERMS.get(field[1], field[1].replace("_", " "))


_ROWS = {one.name: one for one in meanings.read("codes")}  # of families, and of codes
_JOINS = meanings.read("joins")
_NAME = re.compile(r"`?\{(\w+)(?:[!:][^}]*)?\}`?")
_TERMS = {
    "staged": "value of the run",
    "meta": "Python value",
    "var": "a variable",
    "old_type": "T",
    "new_type": "U",
}
_FEWEST_LETTERS = 20
_FIELD_MOST = 300  # letters that the DSL puts in one place of a message: two classes with their modules
_FIELD = re.compile(r"\{(\w+)(?:[!:][^}]*)?\}")


class Coded(NamedTuple):
    """A message with its code, and what the DSL suggests."""

    code: str
    said: str
    fix: str


def cause(code: str) -> str:
    """Why errors of a code's family are raised; "" for a family that is not known."""
    family = _ROWS.get(code.partition("_")[0])
    return family.cause if family else ""


def told(code: str, said: str) -> dict[str, str]:
    """The cause of a coded message, and what helps where that, or the types that it prints, are known."""
    joined = meanings.first(_JOINS, said) if code.startswith("TYPE_") else None
    joined = joined or _ROWS.get(code)
    if joined is None:
        return {"cause": cause(code)}
    return {"cause": joined.cause, **({"fix": joined.helps} if joined.helps else {})}


def find(folded: str) -> Coded | None:
    """The code whose message stands in the text without it; None where there is none."""
    said = plain(folded)
    found = [
        (weight, Coded(code, match[0], _filled(code, match.groupdict())))
        for code, words, weight in _patterns()
        if (match := words.search(folded, said))
    ]
    return max(found)[1] if found else None


def _filled(code: str, values: dict[str, str]) -> str:
    """The DSL's suggestion with the values of the message in it."""
    fix = installed.suggestion(code)
    for name, value in values.items():
        fix = fix.replace(f"{{{name}}}", value)
    return installed.plain(fix)


@lru_cache(maxsize=1)
def _patterns() -> tuple[tuple[str, Words, int], ...]:
    """(code, message as a pattern, its own letters) of every code with enough words of its own."""
    made = []
    for code, said in installed.coded().items():
        parts = _FIELD.split(" ".join(said.split()))  # text, name, text, name, text
        weight = sum(letter.isalpha() for part in parts[::2] for letter in part)
        if weight < _FEWEST_LETTERS:
            continue
        pattern, named = "", set()
        for at, part in enumerate(parts):
            known = at % 2 and part in named
            pattern += (
                re.escape(part)
                if not at % 2
                else f".{{0,{_FIELD_MOST}}}?"
                if known
                else f"(?P<{part}>.{{0,{_FIELD_MOST}}}?)"
            )
            named |= {part} if at % 2 else set()
        made.append((code, Words(pattern), weight))
    return tuple(made)
