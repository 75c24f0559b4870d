"""The rules of a package, and the page of one: as `layoutcheck rule` prints it, and docs/rules/ keeps it."""

from __future__ import annotations

import importlib
import pkgutil
import shlex
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple


@cache
def rule_files(folders: Sequence[str]) -> tuple[str, ...]:
    """The names of the modules of these folders that are rules, `lcNNN_name`, in the order of their codes."""
    return tuple(sorted(one.name for one in pkgutil.iter_modules(folders) if one.name.startswith("lc")))


@cache
def rules_in(package: str) -> dict[str, Any]:
    """The rules of a package by their codes, in that order: each of its modules `lcNNN_name` has one."""
    names = rule_files(tuple(importlib.import_module(package).__path__))
    found = [importlib.import_module(f"{package}.{name}").RULE for name in names]
    return {rule.code: rule for rule in found}


_SILENCED = "## How to silence it"


class Heading(NamedTuple):
    """What a rule's documentation begins with, `CODE name: summary`, and the sections after it."""

    code: str
    name: str
    summary: str
    doc: str


def heading(module_doc: str | None, when: str = "", traced: bool = True) -> Heading:
    """The parts of a rule's documentation, its module's docstring, and how its findings are silenced.

    `when` says when that is meant, if the documentation does not. Of a rule that is not `traced` only `lint`
    tells. A section that names a setting says it all.
    """
    first, _, body = (module_doc or "").strip().partition("\n")
    label, _, summary = first.partition(": ")
    code, _, name = label.partition(" ")
    doc, _, own = body.strip().partition(_SILENCED)
    if "[tool.layoutcheck]" in own:
        return Heading(code, name, summary, body.strip())
    how = f"""For `lint` and `ci`: `# layoutcheck: ignore[{code}] reason` at the line that the finding names,
or `ignore = ["{code}"]` in `[tool.layoutcheck]`."""
    if traced:
        how += f"""
In a test that compiles it on purpose: `@pytest.mark.layoutcheck_allow("{code}", reason="...")`.
`explain`, `check` and `trace` leave no finding out."""
    said = "\n\n".join(filter(None, (own.strip() or when, how)))
    return Heading(code, name, summary, f"{doc.strip()}\n\n{_SILENCED}\n\n{said}")


def page(code: str, name: str, severity: str, summary: str, doc: str, flagged: str, clean: str) -> str:
    """Markdown; `doc` has the rule's sections, `flagged` and `clean` are command lines."""
    blocks = (f"```console\n$ {line}\n```" for line in (flagged, clean))
    return _page(code, name, severity, summary, doc, *blocks)


def _page(code: str, name: str, severity: str, summary: str, doc: str, *blocks: str) -> str:
    """Markdown of a rule; the blocks are what it flags and what it does not, or none."""
    text = f"# {code} {name}\n\n{summary[0].upper()}{summary[1:]}\n\nSeverity: **{severity}**\n\n{doc}\n"
    if not blocks:
        return text
    flagged, clean = blocks
    return f"{text}\n## Example\n\nFlagged:\n\n{flagged}\n\nClean:\n\n{clean}\n"


class Example(NamedTuple):
    """Two small files: one that a rule flags, one that it leaves alone."""

    flagged: str
    clean: str


@dataclass(frozen=True, slots=True)
class PageRule:
    """A rule about a program: a code with its page, whose example is source."""

    code: str
    name: str
    severity: str
    summary: str
    doc: str
    example: Example | None

    def page(self) -> str:
        """The rule's page, in Markdown."""
        blocks = (f"```python\n{part.strip(chr(10))}\n```" for part in self.example or ())
        return _page(self.code, self.name, self.severity, self.summary, self.doc, *blocks)


def page_rule(module_doc: str | None, severity: str, flagged: str, clean: str) -> PageRule:
    """The rule whose code, name, summary and documentation are in its module's docstring."""
    code, name, summary, doc = heading(module_doc)
    return PageRule(code, name, severity, summary, doc, Example(flagged, clean))


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
