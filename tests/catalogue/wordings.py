"""Other wordings of a pasted text: as people retype, quote, log and wrap what a program prints."""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Callable

# A word of prose in lower case, and no part of a name, a path or an option.
_HYPHEN = re.compile(r"(?<![\w./:-])([A-Za-z]{2,})-(?=[a-z]{2,}(?![\w./]))")
_ARTICLE = re.compile(r"(?<![\w'\"`.-])(?:[Tt]he|[Aa]n?) (?=[A-Za-z'\"`])")
_ADDRESS, _LINE = (
    re.compile(r"\b0x[0-9a-f]{6,16}\b"),
    re.compile(r"(?<=\.py\", line )[0-9]+|(?<=\.cu:)[0-9]+"),
)


def _lines(before: str) -> Callable[[str], str]:
    return lambda text: "\n".join(f"{before}{line}" for line in text.splitlines())


def _typographic(text: str) -> str:
    return re.sub(r"(?<![\w'])'(?=\w)", "\u2018", re.sub(r'(?<!\w)"(?=[\w/<!])', "\u201c", text)).translate(
        str.maketrans("'\"", "\u2019\u201d")
    )


def _wrapped(text: str) -> str:
    """As a terminal of 80 columns wraps it, at any letter."""
    return "\n".join(
        line[at : at + 80] for line in text.split("\n") for at in range(0, max(len(line), 1), 80)
    )


def _filled(text: str) -> str:
    """As mail wraps it, between words."""
    return "\n".join(
        part
        for line in text.split("\n")
        for part in textwrap.wrap(line, 72, break_long_words=False, break_on_hyphens=False) or [""]
    )


def _in_sentence(text: str) -> str:
    """The message of one line within a person's sentence; a longer text as it is."""
    return (
        f"With the new kernel I now get {text.strip().rstrip('.')} and I do not see why."
        if "\n" not in text
        else text
    )


def _in_code(text: str) -> str:
    return (
        f"We see `{text.strip()}` since today."
        if "\n" not in text and "`" not in text
        else f"```\n{text}\n```"
    )


WAYS: dict[str, Callable[[str], str]] = {
    "lower case": str.lower,
    "without hyphens": lambda text: _HYPHEN.sub(r"\1 ", text),
    "without articles": lambda text: _ARTICLE.sub("", text),
    "without quotes": lambda text: re.sub(r"(?<![\w/])['`](?=[\w!.])|(?<=[\w>).])['`](?!\w)", "", text),
    "without double quotes": lambda text: text.replace('"', ""),
    "typographic quotes": _typographic,
    "quotes of another kind": lambda text: (
        text.replace("`", "'") if "'" not in text else text.replace("'", "`")
    ),
    "in a sentence": _in_sentence,
    "as code of Markdown": _in_code,
    "wrapped at 80 columns": _wrapped,
    "wrapped between words": _filled,
    "quoted": _lines("> "),
    "of a rank": _lines("[rank0]: "),
    "of pytest": _lines("E   "),
    "of a log": _lines("2026-05-04T10:11:12.345Z "),
    "coloured": lambda text: "\n".join(f"\x1b[1;31m{line}\x1b[0m" for line in text.splitlines()),
    "of a page": html.escape,
    "in other places": lambda text: _LINE.sub("4711", _ADDRESS.sub("0x7f2a4c0012f0", text)),
}
