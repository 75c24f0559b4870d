"""Where a command's text goes: standard output or a file, in the style that fits it; complaints to stderr."""

from __future__ import annotations

import contextlib
import os
import sys
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from layoutcheck.errors import InputError, option_of
from layoutcheck.whole import (
    MARK,
    WRITABLE,
    Ours,
    is_report,
    is_stream,
    told_by_its_beginning,
    whole,
    why_unwritable,
)

if TYPE_CHECKING:
    from layoutcheck.reports.style import Style

_NARROWEST, _WIDEST = 40, 100  # columns: a layout needs some, and longer lines are hard to read


class Sink:
    """Standard output (None or `-`) or a file, which keeps an earlier report until a new one is whole.

    `style` fits it. Raises InputError.
    """

    def __init__(self, output: Path | None, everything: bool = False) -> None:
        self._path = file_of(output)
        self.style = style_of(sys.stdout, plain=self._path is not None)._replace(everything=everything)
        must_be_writable(output)

    def put(self, *texts: str) -> None:
        """Write the whole report, which these texts are together."""
        self.put_each(texts)

    def put_each(self, texts: Iterable[str]) -> None:
        """Write the whole report: each of its texts as it comes to standard output, all of them to a file."""
        if self._path is None:
            for text in texts:
                sys.stdout.write(writable(text))
            return
        head = b""
        with whole(self._path) as file:
            for text in texts:
                file.write(raw := writable(text).encode("utf-8"))
                head = head or raw
            if not (is_stream(self._path) or told_by_its_beginning(head)):
                file.write(MARK.encode())


def file_of(output: Path | None) -> Path | None:
    """The file that an option names; None for standard output, which `-` names."""
    return None if output == Path("-") else output


def must_be_files(**files: Path | None) -> None:
    """Raises InputError for standard output as the file of an option: the report goes there."""
    for name, file in files.items():
        if file is not None and file_of(file) is None:
            this = option_of(name)
            raise InputError(f"{this} -: the report goes to standard output", expected=f"{this} FILE")


def must_be_writable(*files: Path | None, ours: Ours = is_report) -> None:
    """Raises InputError for a file that cannot be written, before work whose report would be lost.

    `ours` says whether a file that is there is an earlier one of ours, which may be replaced.
    """
    for file in filter(None, map(file_of, files)):
        why = why_unwritable(file, ours)
        if why:
            raise InputError(f"cannot write {str(file)[:200]}: {why}", expected=WRITABLE)


def must_be_others(reads: Sequence[str | Path | None], *files: Path | None) -> None:
    """Raises InputError for a file to write that is a regular one which the command reads."""
    for file in filter(None, map(file_of, files)):
        for other in reads:
            same = False
            with contextlib.suppress(OSError, ValueError):  # it is none: its reader says so
                same = other is not None and file.is_file() and file.samefile(other)
            if same:
                raise InputError(f"'{str(file)[:200]}' is read and written", expected="two files")


def writable(text: str) -> str:
    """The text with each byte of a file's name that is not UTF-8 as an escape, which JSON reads as well."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def style_of(stream: TextIO, plain: bool = False) -> Style:
    """Colour and the terminal's width on a terminal; to a file neither."""
    from layoutcheck.reports.style import WIDTH, Style

    terminal = not plain and stream.isatty()
    colour = not plain and in_colour(stream)
    width = WIDTH
    if terminal:  # of a terminal that does not know its width, 0 columns
        width = min(_WIDEST, max(_NARROWEST, os.get_terminal_size(stream.fileno()).columns or WIDTH))
    return Style(
        colour, width, ascii=not plain and (stream.encoding or "ascii").lower().replace("-", "") != "utf8"
    )


def in_colour(stream: TextIO) -> bool:
    """Never with NO_COLOR set, else with FORCE_COLOR, else on a terminal (no-color.org, force-color.org)."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (stream.isatty() and os.environ.get("TERM") != "dumb")


def _beside_caret(place: list[str], width: int) -> list[str]:
    """A line of the input and the caret below it, cut to the width with `...`."""
    if len(place) != 2 or max(map(len, place)) <= width or "^" not in place[1]:
        return place
    at = place[1].index("^")
    start = max(0, min(at - width // 2, len(place[0]) - width + 5))
    shown = place[0][start : start + width - 8]
    lead, tail = "..." * (start > 0), "..." * (start + width - 8 < len(place[0]))
    marked = place[1][start : start + len(shown)]
    return [f"{lead}{shown}{tail}", " " * len(lead) + marked]


def complain(message: str) -> None:
    """Print an error, wrapped and coloured where a person reads it."""
    head, *place = message.split("\n")
    if sys.stderr.isatty():  # a terminal would break the line within a word
        width = max(40, os.get_terminal_size(sys.stderr.fileno()).columns or 80)
        first, *more = textwrap.wrap(f"error: {head}", width, subsequent_indent="  ", break_on_hyphens=False)
        message = "\n".join([first.removeprefix("error: "), *more, *_beside_caret(place, width)])
    text = f"{chr(27)}[1;31merror{chr(27)}[0m: {message}" if in_colour(sys.stderr) else f"error: {message}"
    encoding = sys.stderr.encoding or "ascii"
    try:
        sys.stderr.write(text.encode(encoding, "replace").decode(encoding) + "\n")
        sys.stderr.flush()
    except OSError:  # of a full disk, or a pipe without a reader: the status still says it
        drop(sys.stderr)


def drop(stream: TextIO) -> None:
    """What the stream still holds goes nowhere: the flush at exit would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
