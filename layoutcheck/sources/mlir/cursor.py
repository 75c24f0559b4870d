"""A place in a module's text, and the pieces without structure of their own: types, attributes, locations."""

from __future__ import annotations

import re

from layoutcheck.brackets import closing, split
from layoutcheck.errors import InputError
from layoutcheck.sources.mlir.scan import closing_parenthesis

_SPACE = re.compile(r"(?:[ \t\r\n]+|//[^\n]*)*")
_TYPE_PART = re.compile(r"[<(\[{,)\n}]| loc\(")  # a bracket of a type, or what ends it
_KEY = re.compile(r'([\w$.-]+|"[^"\\]*(?:\\.[^"\\]*)*")\s*(?:=\s*)?')


class Cursor:
    """`at` is the place in `text`. What reads moves it on, and raises InputError with the place."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def error(self, message: str, expected: str | None = None, start: int | None = None) -> InputError:
        """The error to raise, about `start` or this place."""
        return InputError(
            message, text=self.text, start=self.at if start is None else start, expected=expected
        )

    def skip(self) -> None:
        """Move past white space and comments."""
        match = _SPACE.match(self.text, self.at)
        assert match is not None
        self.at = match.end()

    def accept(self, token: str) -> bool:
        """Move past a token, if it is next."""
        if not self.text.startswith(token, self.at):
            self.skip()
            if not self.text.startswith(token, self.at):
                return False
        self.at += len(token)
        return True

    def expect(self, token: str) -> None:
        """Move past a token that has to be next."""
        if not self.accept(token):
            raise self.error("unexpected text", f"'{token}'")

    def dictionary(self) -> dict[str, str]:
        """The `{...}` at hand, as raw texts by name."""
        end = closing(self.text, self.at)
        body = self.text[self.at + 1 : end - 1]
        found: dict[str, str] = {}
        for entry in self.split(body, self.at + 1):
            key = _KEY.match(entry)
            if key is None:
                raise self.error(f"'{entry[:40]}' is not an attribute", "name = value")
            found[key[1].strip('"')] = entry[key.end() :]
        self.at = end
        return found

    def split(self, body: str, start: int) -> list[str]:
        """Text that begins at `start`, split at its own commas."""
        try:
            return split(body)
        except InputError as error:
            raise error.within(self.text, start) from None

    def signature(self) -> tuple[list[str], list[str]]:
        """`(types) -> (types)`, the second without parentheses where it is one type."""
        self.skip()
        if not self.text.startswith("(", self.at):
            raise self.error("not an operation's type", "'(types) -> (types)'")
        operands = self.type_list()
        self.expect("->")
        self.skip()
        if self.text.startswith("(", self.at):
            return operands, self.type_list()
        return operands, [self.type()]

    def type_list(self) -> list[str]:
        """`(types)`."""
        start = self.at
        self.at = closing(self.text, start)
        return self.split(self.text[start + 1 : self.at - 1], start + 1)

    def type(self) -> str:
        """A type up to the end of the line or what may follow it."""
        text, start = self.text, self.at
        at = start
        while (match := _TYPE_PART.search(text, at)) is not None:
            at = match.start()
            if text[at] not in "<([{":
                break
            at = closing(text, at)
        else:
            at = len(text)
        self.at = at
        found = text[start:at].strip()
        if not found:
            raise self.error("no type", "a type such as 'i32'", start=start)
        return found

    def location(self) -> str:
        """The text inside a `loc(...)`, "" where there is none."""
        self.skip()
        if not self.text.startswith("loc(", self.at):
            return ""
        start = self.at + 4
        self.at = closing_parenthesis(self.text, self.at + 3)
        return self.text[start : self.at - 1]
