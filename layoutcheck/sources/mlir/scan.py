"""Pieces of MLIR text: locations, numbers, quoted strings. One pass, no recursion."""

from __future__ import annotations

import re
from functools import lru_cache

from layoutcheck.errors import InputError

_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_ESCAPE = re.compile(r"\\([0-9A-Fa-f]{2}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", '"': '"'}
_LOCATION = re.compile(r"\((?:[(),:0-9 ]|unknown|callsite|at|to)*\Z")  # one location, but for its strings
_PARENTHESES = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[()"]', re.DOTALL)
_INTEGER = re.compile(r"\s*(-?[0-9]{1,40}|-?0x[0-9a-fA-F]{1,32}|true|false)(?:\s*:\s*[\w<>!.]+)?\s*\Z")
_NUMBER = re.compile(r"-?[0-9]{1,40}|true|false")


def closing_parenthesis(text: str, at: int) -> int:
    """The same for a `(`, of text in which only parentheses and quotes count: a location.

    Locations are most of a module's text and mostly end their line, which is cheaper to see than to parse.
    """
    end = text.find("\n", at)
    end = len(text) if end < 0 else end
    bare = _STRING.sub("", text[at:end])
    if bare.endswith(")") and _LOCATION.match(bare) and bare.count("(") == bare.count(")"):
        return end
    depth = 1
    for match in _PARENTHESES.finditer(text, at + 1):
        token = match[0]
        if token == "(":
            depth += 1
        elif token == ")":
            depth -= 1
            if not depth:
                return match.end()
        elif token == '"':
            raise InputError("a quote that never ends", text=text, start=match.start())
    raise InputError("'(' is never closed", text=text, start=at, expected="')'")


def integer(text: str) -> int | None:
    """The value of an integer attribute, `4 : i32`; None where it is something else."""
    match = _INTEGER.match(text)
    if match is None:
        return None
    word = match[1]
    return int(word == "true") if word in ("true", "false") else int(word, 0) if "x" in word else int(word)


def integers(text: str) -> tuple[int, ...] | None:
    """The values of `array<i32: 1, 2>` or `dense<[1, 2]> : ...`; None where it is something else."""
    head, found, rest = text.partition("<")
    if not found or head.strip() not in ("array", "dense"):
        return None
    body = rest[: rest.rfind(">")] if head.strip() == "array" else rest.partition(">")[0]
    body = body.partition(":")[2] if head.strip() == "array" else body
    numbers = [int(n == "true") if n in ("true", "false") else int(n) for n in _NUMBER.findall(body)]
    return tuple(numbers)


@lru_cache(maxsize=2)  # many checks in a row look at one module
def without_locations(text: str) -> str:
    """A printed module without its `loc(...)`, most of its length; with the same operations.

    Raises InputError where a location never ends.
    """
    lines = []
    for line in text.split("\n"):
        at = line.find(" loc(")
        if at >= 0 and not line.lstrip().startswith("^"):
            line = line[:at]
        elif at >= 0:
            kept, last = [], 0
            while at >= 0:
                kept.append(line[last:at])
                last = closing_parenthesis(line, at + 4)
                at = line.find(" loc(", last)
            line = "".join(kept) + line[last:]
        lines.append(line)
    return "\n".join(lines)


def unescape(text: str) -> str:
    """A quoted string's content: MLIR writes what is not printable as two hexadecimal digits of a byte."""
    if "\\" not in text:
        return text
    raw = bytearray()
    last = 0
    for match in _ESCAPE.finditer(text):
        raw += text[last : match.start()].encode("utf-8", "surrogatepass")
        code = match[1]
        raw += bytes([int(code, 16)]) if len(code) == 2 else _ESCAPES.get(code, code).encode()
        last = match.end()
    raw += text[last:].encode("utf-8", "surrogatepass")
    return raw.decode("utf-8", "replace")
