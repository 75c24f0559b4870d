"""Colour for terminals, in as few words as the reports need."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Container, Sequence
from typing import NamedTuple

WIDTH = 80

_CODES = {
    "bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34",
    "magenta": "35", "cyan": "36",
}  # fmt: skip

VERDICT_COLOUR = {
    "legal": "green",
    "clean": "green",
    "slow": "yellow",
    "wrong": "red",
    "rejected": "red",
    "unknown": "magenta",
}


_PIECES = re.compile(r"[^,:/.<-]*[,:/.<-]+|[^,:/.<-]+")


class _Wrapper(textwrap.TextWrapper):
    """Breaks words that no line holds, at their punctuation."""

    def _split(self, text: str) -> list[str]:
        room = self.width - max(len(self.initial_indent), len(self.subsequent_indent))
        words = super()._split(text)
        return [piece for word in words for piece in (_PIECES.findall(word) if len(word) > room else [word])]


def aligned(rows: Sequence[Sequence[str]], right: Container[int] = ()) -> list[str]:
    """Rows of a table as lines, each column as wide as its widest cell; those of `right` end together."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def one_line(text: str) -> str:
    """The text in one line: a file's name may hold ends of lines, and commands for GitHub behind them."""
    return text.replace("\r", "\\r").replace("\n", "\\n")


_KERNEL = 48  # characters of a kernel's name that a line of text shows


def kernel_name(name: str) -> str:
    """A kernel's name in a text: the DSL's has the types of all arguments. JSON has it whole."""
    return name if len(name) <= _KERNEL else f"{name[: _KERNEL - 3]}..."


class Style(NamedTuple):
    """How to write: in `colour`, in `width` columns, in `ascii` alone; `everything`, or one screen.

    With `python` options have the names that they have there.
    """

    colour: bool = False
    width: int = WIDTH
    ascii: bool = False
    everything: bool = False
    python: bool = False

    def __call__(self, text: str, *names: str) -> str:
        """`text` in the named colours; as it is where there is no colour."""
        if not self.colour or not text:
            return text
        codes = ";".join(_CODES[name] for name in names)
        return f"\x1b[{codes}m{text}\x1b[0m"

    def on(self, text: str, ground: int | None) -> str:
        """`text` in black on a colour of 24 bits; dim without one."""
        if ground is None or not self.colour:
            return self(text, "dim")
        red, green, blue = ground.to_bytes(3, "big")
        return f"\x1b[30;48;2;{red};{green};{blue}m{text}\x1b[0m"

    def verdict(self, verdict: str, called: str = "") -> str:
        """A verdict, or what it is `called`, in its colour."""
        return self(called or verdict, "bold", VERDICT_COLOUR[verdict])

    def wrap(self, text: str, indent: str = "", first: str | None = None) -> list[str]:
        """`text` in lines that fit the width, each after `indent` (the first after `first`).

        A word that is longer than a line, such as a printed type, goes on in the next line. Where
        the indent takes more than half of the width, `first` has a line of its own.
        """
        head: list[str] = []
        if first and len(first) > self.width // 2:
            head, indent, first = [first.rstrip()], "    ", None
        return head + _Wrapper(
            self.width,
            initial_indent=indent if first is None else first,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        ).wrap(text)

    def behind(self, head: str, text: str) -> list[str]:
        """`text` behind its head, in lines that fit the width; none for no text."""
        indent = " " * (len(head) if head.startswith(" ") else 2)
        return self.wrap(text, indent, head) if text else []

    def fitted(self, text: str) -> str:
        """A text whose longer lines are broken: below the last column of a table, else two further in."""
        lines = []
        for line in text.split("\n"):
            columns = [found.end() for found in re.finditer(r"(?<=\S) {2,}(?=\S)", line)]
            indent = max((end for end in columns if end <= self.width * 3 // 5),
                         default=len(line) - len(line.lstrip()) + 2)  # fmt: skip
            lines += self.wrap(line, " " * indent, "") if len(line) > self.width else [line]
        return "\n".join(lines)
