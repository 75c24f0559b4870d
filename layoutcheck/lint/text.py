"""A Python file as text and as a tree. Nothing is imported or run.

A file that cannot be read or parsed raises `Unreadable`, which says why.
"""

from __future__ import annotations

import ast
import sys
import warnings

from layoutcheck.errors import InputError
from layoutcheck.regular import MAX_BYTES


class Unreadable(InputError):
    """Why a file cannot be read, and where in it."""

    def __init__(self, reason: str, line: int = 1, column: int = 1, path: str = "") -> None:
        super().__init__(f"'{path}' {reason}" if path else reason)
        self.reason, self.line, self.column = reason, line, column


def decode(raw: bytes) -> str:
    """The text of a file. Raises Unreadable for what is no UTF-8 text, or too long."""
    if len(raw) > MAX_BYTES:
        raise Unreadable(f"{len(raw) >> 20} MiB long; files of more than {MAX_BYTES >> 20} MiB are not read")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - raw.rfind(b"\n", 0, error.start)
        raise Unreadable(f"not UTF-8: byte 0x{raw[error.start]:02x}", line, column) from None


def parsed(text: str, path: str = "") -> ast.Module:
    """The tree. Raises Unreadable for what Python cannot parse."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a bad escape in a user's string is not ours to report
            return ast.parse(text)
    except SyntaxError as error:
        said = error.msg
        if said.startswith("f-string") and sys.version_info < (3, 12):
            here = f"{sys.version_info.major}.{sys.version_info.minor}"
            said += f" (as Python {here} reads it; an f-string of 3.12 or later needs that Python)"
        raise Unreadable(f"does not parse: {said}", error.lineno or 1, error.offset or 1, path) from None
    except ValueError as error:
        raise Unreadable(f"does not parse: {error}", path=path) from None
    except (RecursionError, MemoryError):
        raise Unreadable("nested too deep for Python's parser", path=path) from None
