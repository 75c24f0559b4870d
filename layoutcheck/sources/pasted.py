"""Making pasted terminal output readable: colours, line prefixes and wrapped lines undone.

Wrapping cannot be undone with certainty, so `readings` yields several versions of a text, the most faithful
first; whoever looks for something in them keeps the version in which most of it is found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from layoutcheck.errors import InputError

MAX_PASTE = 1 << 26  # characters: 64 MiB, more than any log that is pasted by hand
_WINDOW_LINES = 80  # lines kept on each side of a line of interest in long pastes
_MAX_WINDOWS = 100
_LONG = 1 << 18

_ANSI = re.compile(r"\x1b(?:\[[0-9;:?]*[ -/]*[@-~]|\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)|[@-Z\\-_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u200b\ufeff]")
_INTEREST = re.compile(r"cute\.copy|cute_nvgpu|cute\.memref|erification failed")

# What terminals, test runners and CI systems put before a line; tried again until none fits.
_PREFIXES = (
    re.compile(r"[│┃║▏]\s?"),  # tmux and rich borders
    re.compile(
        r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?\s?"
    ),  # CI time stamps
    re.compile(r"\[(?:default|rank)?\d+\]:?\s?"),  # torchrun ranks
    re.compile(r"E\s{2,}(?=\S)|E\s+$"),  # pytest
    re.compile(r"##\[error\]|::error::"),  # GitHub, Azure
    re.compile(r"[\w.-]{1,40}\s*\|\s(?!\s*\^)"),  # docker compose
)
_SUFFIX = re.compile(r"\s*[│┃║]\s*$")
_FRESH = re.compile(
    r"\s*(?:error\b|note:|suggestion:|Traceback|File \"|During handling|Caused exception|-->|=====|\d+ \||\|)"
    r"|\s*[\w.]+(?:Error|Exception)\b|\s*$"
)


def readings(text: str) -> Iterator[str]:
    """The text without colours and prefixes: as it stands, then with hard-wrapped lines joined."""
    if len(text) > MAX_PASTE:
        raise InputError(f"{len(text)} characters are too many", expected="the part around the error")
    lines = [line.rstrip("\r") for line in _interesting(text).split("\n")]
    widths = [len(_ANSI.sub("", line)) for line in lines]
    cleaned = [_strip(line) for line in lines]
    yield "\n".join(cleaned)
    widest = max(widths)
    yield _joined(cleaned, [width >= widest - 2 for width in widths])
    yield _joined(cleaned, [True] * len(cleaned))


def _interesting(text: str) -> str:
    """A long paste cut down to the neighbourhood of what can matter; a short one as it is."""
    if len(text) <= _LONG:
        return text
    lines = text.split("\n")
    keep: set[int] = set()
    windows = 0
    for number, line in enumerate(lines):
        if number not in keep and _INTEREST.search(line):
            keep.update(range(max(0, number - _WINDOW_LINES), min(len(lines), number + _WINDOW_LINES)))
            windows += 1
            if windows == _MAX_WINDOWS:
                break
    return "\n".join(lines[number][: _LONG // 4] for number in sorted(keep))


def _strip(line: str) -> str:
    line = _CONTROL.sub("", _ANSI.sub("", line))
    while True:
        for prefix in _PREFIXES:
            found = prefix.match(line)
            if found and found.end():
                line = line[found.end() :]
                break
        else:
            return _SUFFIX.sub("", line)


def _joined(lines: list[str], full: list[bool]) -> str:
    """The lines, each full one run together with the next unless that begins a message of its own."""
    out: list[str] = []
    for number, line in enumerate(lines):
        if number and full[number - 1] and not _FRESH.match(line):
            out[-1] += line
        else:
            out.append(line)
    return "\n".join(out)
