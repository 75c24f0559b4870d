"""One error that users of CuTe meet, as data: how it is recognised, why it is raised, and what repairs it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from layoutcheck.catalogue import rows
from layoutcheck.catalogue.literals import Words
from layoutcheck.catalogue.rows import SENTENCES, Row

ELSEWHERE = "elsewhere"  # the level of an error that another tool answers
UNKNOWN = "unknown"  # the level of a text that tells no error, of which it is said what rules it
CLEAN = "clean"  # the level of a text in which a tool reports nothing wrong
TRACE = SENTENCES["TRACE"]
_LEVELS = ("rejected", "wrong", "slow", CLEAN, UNKNOWN, ELSEWHERE)
_ISSUE = re.compile(r"([\w.-]+/[\w.-]+)#([0-9]+)")


@dataclass(frozen=True, eq=False)
class Known:
    """An error of the catalogue.

    - `name`: stable, unique, printed in the report and the catalogue's page
    - `words`: a pattern, searched in the pasted text, in which every run of white space is one space; empty for an entry that code finds by other means
    - `title`: one line; `{group}` stands for a named group of the pattern
    - `cause`: why the error is raised; `remedy`: what to change or to run
    - `level`: "rejected" (it does not compile or launch), "wrong" (it runs and fails), "slow", "clean" (nothing is wrong), "unknown" (the text tells no error), or "elsewhere"
    - `rule`: the code of the rule that finds the same fault before the compile, if there is one
    - `general`: whether it answers only where no other entry does
    - `defined`: groups of the pattern, one of which the installed DSL must define; "" where it is not asked
    - `instead_of`: names of entries that it answers better where both are recognised
    - `fill`: how its sentences are filled beyond the pattern's groups, one of `filling.WAYS`; "" by what they name
    - `examples`: texts as they are printed, each with the public report or the source that prints it
    - `numbers`: those of CUDA's errors that it answers
    """

    name: str
    words: Words
    title: str
    cause: str
    remedy: str
    level: str = "rejected"
    rule: str | None = None
    general: bool = False
    defined: str = ""
    instead_of: tuple[str, ...] = ()
    fill: str = ""
    examples: tuple[tuple[str, str], ...] = ()
    numbers: tuple[int, ...] = ()


def known(row: Row) -> Known:
    """The entry of a row: `[name] level; general; rule LC101; fill step; defined group; instead of name name`.

    Fields: `pattern`, `title`, `cause`, `remedy`, an `example` for each with its source behind an arrow, and `codes`, numbers and
    names of CUDA's errors, whose words the pattern then has.
    """
    traits = row.traits.split("; ") if row.traits else []
    given = {key: value for key, _, value in (trait.partition(" ") for trait in traits)}
    words, (codes, _, names) = row.field("pattern"), row.field("codes").partition(" | ")
    numbers = tuple(map(int, codes.split()))
    words = rows.any_of(names.split(), words, numbers) if numbers else words
    return Known(
        row.name,
        Words(words),
        *(row.field(name) for name in ("title", "cause", "remedy")),
        level=next((one for one in _LEVELS if one in given), "rejected"),
        rule=given.get("rule"),
        general="general" in given,
        defined=given.get("defined", ""),
        instead_of=tuple(given.get("instead", "").split()[1:]),
        fill=given.get("fill", ""),
        examples=tuple(map(_example, row.fields.get("example", []))),
        numbers=numbers,
    )


def _example(value: str) -> tuple[str, str]:
    """A printed text, whose lines are joined by an escape, and where it is from: a report, owner/name#number, or what prints it."""
    text, _, source = value.rpartition("  <-  ")
    issue = _ISSUE.fullmatch(source)
    return text.replace("\\n", "\n"), f"https://github.com/{issue[1]}/issues/{issue[2]}" if issue else source
