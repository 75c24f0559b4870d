"""Root causes: the statement behind several copies that fail, from the sources, without running anything.

A statement is to blame for a copy if a fix of the copy edits it: the layout, the allocation or the promise of
an operand, the block of the launch. A failing copy for which no statement is to blame suffers from the one
that its operands come from.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from layoutcheck.check import Report
from layoutcheck.errors import InputError
from layoutcheck.patching.edits import edits_of_change
from layoutcheck.patching.program import Program, Site
from layoutcheck.sources.traced import Distinct, Frame

_BAD = ("rejected", "wrong")
_BLAMED = ("src layout", "dst layout", "src alignment", "dst alignment", "src swizzle", "dst swizzle",
           "threads launched")  # fmt: skip
_Place: TypeAlias = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Cause:
    """A statement (its line, and the text of that) and the copies that suffer from it, by their numbers."""

    where: Frame
    text: str
    copies: tuple[int, ...]


def causes(reports: Sequence[tuple[Distinct, Report | None]]) -> tuple[Cause, ...]:
    """The statements behind two failing copies or more, those behind most first; no copy is in two."""
    bad = {n: (one, r) for n, (one, r) in enumerate(reports) if r is not None and r.verdict in _BAD}
    if len(bad) < 2:
        return ()
    program = Program(dict(texts_of(one for one, _ in bad.values())))
    try:
        return tuple(_grouped(program, bad))
    except InputError:  # a file that is not Python: a notebook's cell, text with magic
        return ()


def _grouped(program: Program, bad: Mapping[int, tuple[Distinct, Report]]) -> Iterator[Cause]:
    blamed: dict[int, list[_Place]] = {}
    used: dict[int, set[_Place]] = {}
    own = {n: {frame.file for frame in (one.first.where, *one.first.stack)} for n, (one, _) in bad.items()}
    others_own = set().union(*own.values())
    for n, (one, report) in bad.items():
        site = program.copy_at(one.first.where.file, one.first.where.line)
        # A function of the same name in a file that is another copy's is not the one that was called.
        places = [] if site is None else _blamed(program, report, site)
        blamed[n] = list(dict.fromkeys(at for at in places if at[0] in own[n] or at[0] not in others_own))
        places = [] if site is None else _used(program, site)
        used[n] = {at for at in places if at[0] in own[n] or at[0] not in others_own}
    left = set(bad)
    while True:
        groups = {
            place: tuple(n for n in sorted(left) if place in (blamed[n] or used[n]))
            for n in sorted(left)
            for place in blamed[n]
        }
        best = max(groups, key=lambda place: len(groups[place]), default=None)
        if best is None or len(groups[best]) < 2:
            return
        text = program.sources[best[0]].text.split("\n")[best[1] - 1].strip()
        yield Cause(Frame(*best), text, groups[best])
        left -= set(groups[best])


def texts_of(copies: Iterable[Distinct]) -> Iterator[tuple[str, str]]:
    """The files of the copies and their callers, as far as they can be read."""
    for path in {frame.file for one in copies for frame in (one.first.where, *one.first.stack)}:
        with contextlib.suppress(OSError, ValueError):
            yield path, Path(path).read_bytes().decode("utf-8")


def _blamed(program: Program, report: Report, site: Site) -> Iterator[_Place]:
    """The lines that a fix of the copy edits and that are not the copy's own business."""
    for fix in report.fixes:
        for change in fix.changes if len(fix.copies) == 1 else ():
            if change.argument in _BLAMED:
                for edits in edits_of_change(program, report.copy, fix, site, change.argument):
                    for edit in edits:
                        yield edit.path, program.sources[edit.path].line_at(edit.start)
                    break


def _used(program: Program, site: Site) -> Iterator[_Place]:
    """The lines of the calls that the copy's operands come from."""
    for place in program.reached_by(site, "src", "dst"):
        for line in range(place.node.lineno, (place.node.end_lineno or place.node.lineno) + 1):
            yield place.path, line


def others(found: Sequence[Cause]) -> Mapping[int, Cause]:
    """The copies that a cause's first stands for, by their numbers."""
    return {n: cause for cause in found for n in cause.copies[1:]}
