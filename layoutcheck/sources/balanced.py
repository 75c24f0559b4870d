"""Finding where a printed type ends: brackets balanced over quotes, in one pass and without recursion."""

from __future__ import annotations

from layoutcheck.errors import InputError

MAX_TYPE = 1 << 16  # characters; the longest type seen in real kernels has about 400

_OPEN = {"<": ">", "(": ")", "[": "]", "{": "}"}
_CLOSE = {close: opening for opening, close in _OPEN.items()}


def span_end(text: str, start: int, limit: int | None = None) -> int:
    """The index just past the bracket that closes the one at `start`, looking no further than `limit`.

    A quoted part is skipped as a whole, and the `>` of an arrow `->` closes nothing.
    Raises InputError where a bracket or quote is left open or closed by another kind.
    """
    stack: list[int] = []
    whole = len(text) if limit is None else limit
    at, stop = start, min(whole, start + MAX_TYPE)
    while at < stop:
        char = text[at]
        if char == '"':
            quote = text.find('"', at + 1, stop)
            if quote < 0:
                raise InputError("a quote that never ends", text=text, start=at, expected="'\"'")
            at = quote
        elif char in _OPEN:
            stack.append(at)
        elif char in _CLOSE and not (char == ">" and text[at - 1] == "-"):
            if not stack or text[stack[-1]] != _CLOSE[char]:
                raise InputError(f"'{char}' closes nothing", text=text, start=at)
            stack.pop()
            if not stack:
                return at + 1
        at += 1
    if stop < whole:
        raise InputError(f"a type of more than {MAX_TYPE} characters", text=text, start=start)
    opening = stack[-1]
    raise InputError(
        f"'{text[opening]}' is never closed", text=text, start=opening, expected=f"'{_OPEN[text[opening]]}'"
    )


def split_commas(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The spans of `text[start:end]` between the commas outside all brackets and quotes."""
    spans: list[tuple[int, int]] = []
    at = first = start
    while at < end:
        char = text[at]
        if char in _OPEN:
            at = span_end(text, at)
            continue
        if char == '"':
            at = text.find('"', at + 1, end)
            if at < 0:
                break
        elif char == ",":
            spans.append((first, at))
            first = at + 1
        at += 1
    spans.append((first, end))
    return spans
