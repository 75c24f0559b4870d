"""Several errors in one paste: each is read alone as well, so that none hides another."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from layoutcheck.catalogue import Answer
    from layoutcheck.sources.diagnostics import Diagnostic

    Found = list[Diagnostic | Answer]

_LONGEST, _MOST_BLOCKS, _MOST_NAMED = 12_000, 6, 3
_BLANK = re.compile(r"\n[ \t]*\n(?=\S|[ \t]+(?:File \"|error))")
# How the part of an error begins that a blank line sets apart from its head.
_GOES_ON = re.compile(
    r"[ \t]*(?:During handling|The above exception|[^\w\s\"'/(\[=-]|note:|suggestion:|-->|=+\s*$|-+\s*$|\^"
    r"|Exception Origin|DSL Call Stack|what\(\):|Compile with|For debugging)"
)
# How a line begins by which a tool reports: one of another kind than those before it begins another error.
_KINDS = (
    ("Python", re.compile(r"Traceback |  File \"|(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception): ")),
    ("ptxas", re.compile(r"(?:ptxas|nvcc|nvlink)\b.{0,200}?(?:error|fatal)")),
    ("compute-sanitizer", re.compile(r"={5,} +\w")),
    ("C++", re.compile(r"\S+\.(?:cuh?|hpp|h|inl|cpp|cc)(?:\([0-9]+\)|:[0-9]+:[0-9]+) ?: (?:fatal )?error\b")),
)
# which are general, and errors
_RAISED = "dsl.raised", "dsl.asserted", "elsewhere.python", "elsewhere.library-raises"


def blocks(text: str) -> list[str]:
    """The parts of a short paste that blank lines set apart, with what goes on behind one; else the text."""
    if len(text) > _LONGEST:
        return [text]
    parts: list[str] = []
    for part in (one for every in _BLANK.split(text) for one in _by_kind(every)):
        if parts and (_GOES_ON.match(part) or parts[-1].rstrip().endswith(":")):
            parts[-1] += f"\n\n{part}"
        elif part.strip():
            parts.append(part)
    return parts if len(parts) <= _MOST_BLOCKS else [text]


def _by_kind(part: str) -> list[str]:
    """The lines of a part, apart where a line is of another kind of tool than those before it."""
    groups, last = "", ""
    for line in part.splitlines(keepends=True):
        kind = next((name for name, begins in _KINDS if begins.match(line)), last)
        groups += f"\0{line}" if last and kind != last else line
        last = kind
    return groups.split("\0")


def read(text: str, found: Found, alone: Callable[[str], Found]) -> Found:
    """What is found in the whole text, CuTe's errors first, with those that only one of its parts tells.

    `alone` reads one part. What another layer answers is named in a sentence of the first answer.
    """
    from layoutcheck.catalogue import folding, symptoms
    from layoutcheck.catalogue.entry import ELSEWHERE
    from layoutcheck.sources.diagnostics import Diagnostic

    parts = blocks(text)
    if len(parts) < 2 or symptoms.is_prose(folding.fold(text)):
        return found
    read = [alone(part) for part in parts if folding.WRONG.search(part)]
    told = {_name(one) for every in read for one in every}
    if found and _name(found[0]) not in told:
        return found  # an error that several parts tell together
    by_name = {_name(one): one for one in found}
    for one in (every[0] for every in read if every and _is_error(every[0])):
        by_name.setdefault(_name(one), one)
    if len(by_name) == len({_name(one) for one in found}):
        return found
    every = [*found, *(one for one in by_name.values() if one not in found)]
    ours = [one for one in every if _level(one) != ELSEWHERE] or every[:1]
    beside = [one for one in every if one not in ours and not isinstance(one, Diagnostic)][:_MOST_NAMED]
    named = tuple(f"beside it the text has another error: {one.title}: {one.remedy}" for one in beside)
    first, *rest = ours
    return [first if isinstance(first, Diagnostic) else replace(first, facts=(*first.facts, *named)), *rest]


def _name(one: Diagnostic | Answer) -> str:
    from layoutcheck.sources.diagnostics import Diagnostic

    return "".join(one.message.split()) if isinstance(one, Diagnostic) else one.entry.name


def _level(one: Diagnostic | Answer) -> str:
    from layoutcheck.sources.diagnostics import Diagnostic

    return "rejected" if isinstance(one, Diagnostic) else one.entry.level


def _is_error(one: Diagnostic | Answer) -> bool:
    """Whether it is an error of its own: known by its words, and no symptom, note or part of a traceback."""
    from layoutcheck.catalogue.entry import CLEAN
    from layoutcheck.sources.diagnostics import Diagnostic

    if isinstance(one, Diagnostic):
        return True
    known = not one.entry.general and one.entry.level != CLEAN
    return known or one.entry.name in _RAISED
