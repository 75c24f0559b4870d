"""The offending vector, drawn byte by byte: what the layouts ask for, and what one instruction moves.

      src  asked     +0  0011223344556677
           moved     +0  0011223344556677
      dst  asked     +0  00..............
                   +128  11..............
                         6 more, 128 B apart
           moved     +0  0011223344556677

Every value of the vector has a digit, repeated for each of its bytes; every row is as many bytes of memory as
the instruction moves. The drawing is the dictionary that `analysis.drawing` makes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from layoutcheck.reports.style import Style

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_MOST_ROWS = 3


def differs(drawing: dict[str, Any]) -> bool:
    """Whether the instruction moves on some side anything but what the layouts ask."""
    return any(drawing[side]["asked"] != drawing[side]["used"] for side in ("src", "dst") if side in drawing)


def draw(drawing: dict[str, Any], style: Style, verb: str = "moves") -> list[str]:
    """The drawing as lines of text; none for an empty one. `verb`: "would move" for what is never reached."""
    if not drawing:
        return []
    count, size, width = drawing["elements"], drawing["element_bytes"], drawing["width_bytes"]
    what = f"one instruction {verb} {width} B, {count} value{'s' * (count != 1)} of {size} B, byte by byte:"
    lines = [style(line, "bold") for line in style.wrap(what, "    ", "  ")]
    for side in ("src", "dst"):
        lines += _side(side, drawing[side], count, size, min(width, count * size), style)
    return lines


def _side(name: str, side: dict[str, Any], count: int, size: int, span: int, style: Style) -> list[str]:
    """The rows of one side: its values where the layout has them, then where the instruction has them."""
    lines: list[str] = []
    right = side["asked"] == side["used"]
    for kind, colour in (("asked", "cyan"), ("used", "green" if right else "red")):
        for number, (start, cells) in enumerate(_rows(side[kind], count, size, span)):
            label = name if kind == "asked" and number == 0 else ""
            word = {"asked": "asked", "used": "moved"}[kind] if number == 0 else ""
            at = "" if start is None else f"{start:+}"
            head = f"    {label:3}  {word:5} {at:>7}  "
            if start is None and len(head) + len(cells) > style.width:
                head = " " * 8
            lines.append(f"{head}{cells if start is None else style(cells, colour)}")
    return lines


def windows(offsets: Iterable[int], span: int) -> list[int]:
    """Where windows of `span` units begin that together hold all the offsets."""
    starts: list[int] = []
    for at in sorted(offsets):
        if not starts or at >= starts[-1] + span:
            starts.append(at)
    return starts


def _rows(offsets: Sequence[int | None], count: int, size: int, span: int) -> list[tuple[int | None, str]]:
    """Windows of `span` bytes that hold the values, each a row of digits; what is left over in words."""
    cells: dict[int, str] = {}
    for value, offset in enumerate(offsets):
        if offset is not None:
            cells.update((offset + byte, _DIGITS[value % len(_DIGITS)]) for byte in range(size))
    starts = windows(cells, span)
    shown = starts if len(starts) <= _MOST_ROWS + 1 else starts[:_MOST_ROWS]
    rows: list[tuple[int | None, str]] = [
        (start, "".join(cells.get(start + byte, ".") for byte in range(span))) for start in shown
    ]
    if len(shown) < len(starts):
        gaps = {after - before for before, after in pairwise(starts)}
        apart = f", {gaps.pop()} B apart" if len(gaps) == 1 else ""
        rows.append((None, f"{len(starts) - len(shown)} more{apart}"))
    unknown = sum(offset is None for offset in offsets)
    if unknown:
        rows.append((None, f"{unknown} where the run-time strides put them"))
    if len(offsets) < count:
        rows.append((None, f"{count - len(offsets)} more than the view has"))
    return rows
