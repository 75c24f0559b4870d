"""The rules of a package, and the page of one: docs/rules/ keeps it, and `layoutcheck rule` prints it."""

from __future__ import annotations

import importlib
import pkgutil
import re
import shlex
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any


@cache
def rule_files(folders: Sequence[str]) -> tuple[str, ...]:
    """The names of the modules of these folders that are rules, `lcNNN_name`, in the order of their codes."""
    return tuple(sorted(one.name for one in pkgutil.iter_modules(folders) if one.name.startswith("lc")))


@cache
def rules_in(package: str) -> dict[str, Any]:
    """The rules of a package by their codes, in that order: each of its modules `lcNNN_name` has one."""
    names = rule_files(tuple(importlib.import_module(package).__path__))
    found = [importlib.import_module(f"{package}.{name}").rule for name in names]
    return {rule.code: rule for rule in found}


_ROOT = Path(__file__).parent
_PAGES = _ROOT / "pages", _ROOT.parent / "docs" / "rules"  # of a wheel, of a checkout
_SHOWN = re.compile(r"^## (?:What no byte shows|Example)$", re.MULTILINE)  # what follows a page's explanation


@cache
def all_codes() -> tuple[str, ...]:
    """The codes of all rules, in their order: each has a page."""
    return tuple(sorted(page.stem.upper() for page in _folder().glob("lc*.md")))


@cache
def page_file(code: str) -> str:
    """The page of a rule as docs/rules keeps it."""
    return (_folder() / f"{code.lower()}.md").read_text(encoding="utf-8")


def _folder() -> Path:
    return next(one for one in _PAGES if one.is_dir())


@dataclass(frozen=True, slots=True)
class Page:
    """A rule's code, severity and words: of its module's docstring, or else of its file in docs/rules.

    The file begins with these fields. It has the sections `## What it means`, `## Why` (with the source of
    each fact), `## How to fix it`, `## How to silence it`, and `## Example`: what the rule flags, and a twin
    that it leaves alone. The tests run both.
    """

    code: str
    name: str
    severity: str
    summary: str

    @property
    def doc(self) -> str:
        """The explanation, without heading and example."""
        text = self.page()
        return _SHOWN.split(text[text.index("## What it means") :])[0].strip()

    def page(self) -> str:
        """The rule's page, in Markdown."""
        return page_file(self.code)


def heading(line: str | None, severity: str) -> tuple[str, str, str, str]:
    """The fields of a `Page`, by a line `CODE name: summary`."""
    label, _, summary = (line or "").strip().partition(": ")
    code, _, name = label.partition(" ")
    return code, name, severity, summary


def by_page(code: str) -> Page:
    """A rule as its page has it, whether or not it has a module of its own."""
    head, summary, severity, _ = page_file(code).split("\n\n", 3)
    told = " ".join(summary.split())
    told = told if told[1].isupper() else f"{told[0].lower()}{told[1:]}"  # not of TMA
    line = f"{head.removeprefix('# ')}: {told}"
    return Page(*heading(line, severity.split("**")[1]))


def wrapped(text: str, width: int) -> str:
    """A page in lines of `width` columns; what stands in a fence is only broken where a shell command may be.

    A word that is longer than that keeps its line.
    """
    out: list[str] = []
    paragraph: list[str] = []

    def flush() -> None:
        if paragraph:
            out.extend(_lines(" ".join(paragraph), width, "  " if paragraph[0].startswith("- ") else ""))
            paragraph.clear()

    fenced = False
    for line in text.split("\n"):
        if line.startswith("```"):
            flush()
            fenced = not fenced
            out.append(line)
        elif fenced:
            out += _command(line, width) if line.startswith("$ ") else [line]
        elif not line or line.startswith(("#", "|", "    ")):
            flush()
            out.append(line)
        else:
            if line.startswith("- "):
                flush()
            paragraph.append(line.strip())
    flush()
    return "\n".join(out)


def _lines(text: str, width: int, indent: str) -> list[str]:
    return textwrap.wrap(
        text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _command(line: str, width: int) -> list[str]:
    """A command in lines that end in a backslash, broken between its words."""
    if len(line) <= width:
        return [line]
    words = [shlex.quote(word) for word in shlex.split(line.removeprefix("$ "))]
    lines = ["$"]
    for word in words:
        if len(lines[-1]) + len(word) + 3 > width and lines[-1].strip() != "$":
            lines[-1] += " \\"
            lines.append("   ")
        lines[-1] += f" {word}"
    return lines
