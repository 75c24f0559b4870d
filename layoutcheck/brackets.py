"""Where a bracket closes and where a list is cut, quotes passed over; in one pass, without recursion."""

from __future__ import annotations

import re

from layoutcheck.errors import InputError

MAX_TYPE = 1 << 16  # characters; the longest type seen in real kernels has about 400

# A quoted part counts as a whole, and the `>` of an arrow `->` closes nothing.
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|->|[<>()\[\]{},"]', re.DOTALL)
_PLAIN = re.compile(r'"[^"]*"|->|[<>()\[\]{},"]')  # types hold no escapes, pasted quotes may be escaped
_CLOSED_BY = {"<": ">", "(": ")", "[": "]", "{": "}"}
_CLOSING = frozenset(_CLOSED_BY.values())


def closing(text: str, at: int, end: int | None = None, token: re.Pattern[str] = _TOKEN) -> int:
    """The index just past the bracket that closes the one at `at`, looking no further than `end`.

    Raises InputError where a bracket or quote is left open or closed by another kind.
    """
    opened = [at]
    for match in token.finditer(text, at + 1, len(text) if end is None else end):
        found = match[0]
        if found in _CLOSED_BY:
            opened.append(match.start())
        elif found in _CLOSING:
            expected = _CLOSED_BY[text[opened[-1]]]
            if found != expected:
                raise InputError(
                    f"'{found}' closes nothing", text=text, start=match.start(), expected=f"'{expected}'"
                )
            opened.pop()
            if not opened:
                return match.end()
        elif found == '"':
            raise InputError("a quote that never ends", text=text, start=match.start(), expected="'\"'")
    last = text[opened[-1]]
    raise InputError(
        f"'{last}' is never closed", text=text, start=opened[-1], expected=f"'{_CLOSED_BY[last]}'"
    )


def type_end(text: str, at: int, end: int | None = None) -> int:
    """As `closing`, of a printed type. Raises InputError also where it is longer than `MAX_TYPE`."""
    whole = len(text) if end is None else end
    try:
        return closing(text, at, min(whole, at + MAX_TYPE), _PLAIN)
    except InputError:
        if at + MAX_TYPE < whole:
            raise InputError(f"a type of more than {MAX_TYPE} characters", text=text, start=at) from None
        raise


def split(text: str, token: re.Pattern[str] = _TOKEN) -> list[str]:
    """`text` cut at the commas outside all brackets and quotes, trimmed; [] for blank text.

    Raises InputError where brackets do not match.
    """
    if not text.strip():
        return []
    parts: list[str] = []
    expected: list[str] = []
    first = 0
    for match in token.finditer(text):
        found = match[0]
        if found == "," and not expected:
            parts.append(text[first : match.start()].strip())
            first = match.end()
        elif found in _CLOSED_BY:
            expected.append(_CLOSED_BY[found])
        elif found in _CLOSING:
            if not expected or found != expected.pop():
                raise InputError(f"'{found}' closes nothing", text=text, start=match.start())
        elif found == '"':
            raise InputError("a quote that never ends", text=text, start=match.start())
    if expected:
        raise InputError(f"'{expected[-1]}' is missing", text=text, start=len(text))
    parts.append(text[first:].strip())
    return parts
