"""Where an operation comes from: `loc(...)` of a module printed with debug information.

"k.py":9:4 to 13:5                     a place in a file, from its start to its end
"name"(LOCATION)                       named; also a Python frame: the function's name and its place
callsite(LOCATION at LOCATION)         inner frame at the outer one that called it
fused[LOCATION, ...]                   merged by a pass
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from layoutcheck.errors import InputError
from layoutcheck.sources.mlir.scan import unescape

MAX_DEPTH = 200  # frames of a call stack; the DSL keeps 24 or so

_SPACE = re.compile(r"\s*")
_STRING = re.compile(r'"([^"\\]*(?:\\.[^"\\]*)*)"', re.DOTALL)
_POSITION = re.compile(r":([0-9]{1,10}):([0-9]{1,10})(?:\s+to\s+([0-9]{1,10})?:([0-9]{1,10}))?")
_ALIAS = re.compile(r"#[\w$.-]+")


@dataclass(frozen=True, slots=True)
class Unknown:
    """`loc(unknown)`, or no location at all."""

    def frames(self) -> Iterator[tuple[str, FileLine]]:
        """Nothing."""
        return iter(())


@dataclass(frozen=True, slots=True)
class FileLine:
    """A place in a file; lines count from 1, columns from 0 as Python's frames give them."""

    path: str
    line: int
    column: int
    end_line: int | None = None
    end_column: int | None = None

    def frames(self) -> Iterator[tuple[str, FileLine]]:
        """Itself."""
        yield "", self


@dataclass(frozen=True, slots=True)
class Named:
    """A name, and the location that it was given to."""

    name: str
    child: Location

    def frames(self) -> Iterator[tuple[str, FileLine]]:
        """The child's frames, its bare places under this name."""
        for name, place in self.child.frames():
            yield name or self.name, place


@dataclass(frozen=True, slots=True)
class CallSite:
    """`callee` is the inner frame, `caller` the outer one."""

    callee: Location
    caller: Location

    def frames(self) -> Iterator[tuple[str, FileLine]]:
        """The inner frames, then the outer ones."""
        yield from self.callee.frames()
        yield from self.caller.frames()


@dataclass(frozen=True, slots=True)
class Fused:
    """Several locations of one operation."""

    locations: tuple[Location, ...]
    metadata: str = ""

    def frames(self) -> Iterator[tuple[str, FileLine]]:
        """The frames of each, in order."""
        for location in self.locations:
            yield from location.frames()


Location: TypeAlias = "Unknown | FileLine | Named | CallSite | Fused"


def parse_location(text: str, aliases: Mapping[str, str] | None = None) -> Location:
    """The location inside `loc(...)`; `frames()` of it are (function or name, place), innermost first.

    Raises InputError with the place.
    """
    if not text:
        return Unknown()
    location, at = _location(text, 0, aliases or {}, 0)
    at = _skip(text, at)
    if at < len(text):
        raise InputError("unexpected text after the location", text=text, start=at)
    return location


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    assert match is not None
    return match.end()


def _location(text: str, at: int, aliases: Mapping[str, str], depth: int) -> tuple[Location, int]:
    at = _skip(text, at)
    if depth > MAX_DEPTH:
        raise InputError(f"locations nested more than {MAX_DEPTH} deep", text=text, start=at)
    if text.startswith("loc(", at):  # as an attribute prints it
        inner, at = _location(text, at + 4, aliases, depth + 1)
        return inner, _expect(text, at, ")")
    if text.startswith("unknown", at):
        return Unknown(), at + len("unknown")
    if text.startswith("callsite(", at):
        callee, at = _location(text, at + len("callsite("), aliases, depth + 1)
        at = _expect(text, at, "at")
        caller, at = _location(text, at, aliases, depth + 1)
        return CallSite(callee, caller), _expect(text, at, ")")
    if text.startswith("fused", at):
        return _fused(text, at + len("fused"), aliases, depth)
    if found := _ALIAS.match(text, at):
        if found[0] not in aliases:
            raise InputError(f"unknown location {found[0][:40]}", text=text, start=at, end=found.end())
        return _location(aliases[found[0]], 0, aliases, depth + 1)[0], found.end()
    string = _STRING.match(text, at)
    if string is None:
        expected = "a quoted file or name, callsite(...), fused[...] or unknown"
        raise InputError("not a location", text=text, start=at, expected=expected)
    return _file_or_name(text, string, aliases, depth)


def _file_or_name(
    text: str, string: re.Match[str], aliases: Mapping[str, str], depth: int
) -> tuple[Location, int]:
    name, at = unescape(string[1]), string.end()
    if position := _POSITION.match(text, at):
        line, column, end_line, end_column = position.groups()
        last = None if end_column is None else int(end_line or line)
        end = None if end_column is None else int(end_column)
        return FileLine(name, int(line), int(column), last, end), position.end()
    if text.startswith("(", at):
        child, at = _location(text, at + 1, aliases, depth + 1)
        return Named(name, child), _expect(text, at, ")")
    return Named(name, Unknown()), at


def _fused(text: str, at: int, aliases: Mapping[str, str], depth: int) -> tuple[Location, int]:
    metadata = ""
    if text.startswith("<", at):
        end = text.find(">[", at)
        if end < 0:
            raise InputError("the metadata of a fused location never ends", text=text, start=at)
        metadata, at = text[at + 1 : end], end + 1
    at = _expect(text, at, "[")
    found: list[Location] = []
    while True:
        one, at = _location(text, at, aliases, depth + 1)
        found.append(one)
        at = _skip(text, at)
        if not text.startswith(",", at):
            return Fused(tuple(found), metadata), _expect(text, at, "]")
        at += 1


def _expect(text: str, at: int, token: str) -> int:
    at = _skip(text, at)
    if not text.startswith(token, at):
        raise InputError("unexpected text in the location", text=text, start=at, expected=f"'{token}'")
    return at + len(token)
